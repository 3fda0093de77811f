"""Metrics and official evaluators of graph and biomedical benchmarks, on numpy and scikit-learn alone.

    import scoring
    scoring.names()                        # the datasets
    scoring.describe("lsc-pcqm4mv2")       # task, metrics, inputs, sizes, source
    scoring.evaluate("lsc-pcqm4mv2", {"y_true": labels, "y_pred": predictions})

Files of predictions: `scoring.formats.submissions`. Command line: ``python -m scoring --help``.
"""

from scoring.errors import CODES, ScoringInputError
from scoring.evaluators import describe, evaluate, metric_names, names
from scoring.metrics.binary import average_precision, pooled_roc_auc, roc_auc
from scoring.metrics.classification import accuracy, balanced_accuracy, paper_accuracy
from scoring.metrics.links import hits_at_k, mean_reciprocal_rank, ranks
from scoring.metrics.regression import mean_absolute_error, root_mean_squared_error
from scoring.metrics.sequences import f1_subtokens
from scoring.metrics.topk import candidate_mean_reciprocal_rank, hits_at_10, top10_mean_reciprocal_rank
from scoring.samples import per_sample

__all__ = [
    "CODES",
    "ScoringInputError",
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "candidate_mean_reciprocal_rank",
    "describe",
    "evaluate",
    "f1_subtokens",
    "hits_at_10",
    "hits_at_k",
    "mean_absolute_error",
    "mean_reciprocal_rank",
    "metric_names",
    "names",
    "paper_accuracy",
    "per_sample",
    "pooled_roc_auc",
    "ranks",
    "roc_auc",
    "root_mean_squared_error",
    "top10_mean_reciprocal_rank",
]
