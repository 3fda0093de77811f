"""The metrics with their formulas."""

from itertools import groupby

from files.markup.formulas import mathml
from scoring.metrics import METRICS
from scoring.metrics.metric import Metric
from scripts.docs.markdown import page

SIGNS = (
    ("y_i", "the truth of row i of n"),
    (r"\hat y_i", "the prediction"),
    ("p_i", "a predicted probability"),
    (r"\mathrm{TP},\mathrm{FP},\mathrm{FN},\mathrm{TN}", "rows that are rightly and wrongly positive and negative"),
    ("C", "the number of classes, or of columns"),
    ("G", "the number of groups"),
    ("[a=b]", "1 where it holds, else 0"),
)


def metrics_page() -> str:
    """Every metric by subject: what it is, and its formula."""
    signs = "\n".join(f"* {mathml(sign, is_block=False)}: {meaning}" for sign, meaning in SIGNS)
    return page(
        "Formulas of metrics",
        "The metrics of [table competitions](/tables.md) and of `scoring.evaluate`; [Scoring](/scoring.md) has their ranges and sources. "
        "Where rows have weights, sums and means are weighted.",
        signs,
        *(
            "\n\n".join([f"## {group.capitalize()}", *map(_section, metrics)])
            for group, metrics in groupby(sorted(METRICS.values(), key=_place), key=lambda metric: metric.group)
        ),
    )


def _place(metric: Metric) -> int:
    """Groups in the order of the catalogue, each in one piece."""
    groups = list(dict.fromkeys(other.group for other in METRICS.values()))
    return groups.index(metric.group)


def _section(metric: Metric) -> str:
    better = "lower" if metric.direction == "min" else "higher"
    return f"### {metric.title}\n\n`{metric.name}`, {better} is better. {metric.help}\n\n{mathml(metric.formula, is_block=True)}"
