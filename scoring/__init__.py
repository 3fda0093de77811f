"""Metrics and official evaluators of graph and biomedical benchmarks, on numpy and scikit-learn alone.

    import scoring
    scoring.names()                        # the datasets
    scoring.describe("lsc-pcqm4mv2")       # task, metrics, inputs, sizes, source
    scoring.evaluate("lsc-pcqm4mv2", {"y_true": labels, "y_pred": predictions})

Files of predictions: `scoring.formats.submissions`. Command line: ``python -m scoring --help``.
"""

from scoring.benchmarks.accuracy import accuracy, paper_accuracy
from scoring.benchmarks.curves import average_precision, pooled_roc_auc, roc_auc
from scoring.benchmarks.differences import mean_absolute_error, root_mean_squared_error
from scoring.benchmarks.links import hits_at_k, mean_reciprocal_rank, ranks
from scoring.benchmarks.subtokens import f1_subtokens
from scoring.benchmarks.topk import candidate_mean_reciprocal_rank, hits_at_10, top10_mean_reciprocal_rank
from scoring.errors import CODES, ScoringInputError
from scoring.evaluation import describe, evaluate, metric_names, names, per_sample

__all__ = [
    "CODES",
    "ScoringInputError",
    "accuracy",
    "average_precision",
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
