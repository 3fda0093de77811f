"""Metrics that fit the columns of a solution, and the names of what a team predicts for a metric."""

from collections.abc import Callable, Sequence
from typing import Final

from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.metrics.metric import Kind, Metric, Settings
from scoring.tables.previews import MAX_CLASSES, ColumnPreview, Pattern, TablePreview
from scoring.tables.reading.file_types import join_values
from scoring.tables.schema import Value, name_on_one_line

_LIKELY: Final[dict[str, tuple[str, ...]]] = {
    "binary": ("binary", "multi-class"),
    "class": ("multi-class",),
    "count": ("counts", "regression"),
    "number": ("regression",),
}
_LIKELY_OF_TEXTS: Final[dict[Pattern, tuple[str, ...]]] = {
    "run lengths": ("segmentation",),
    "boxes": ("detection",),
    "": ("text", "ranking and retrieval"),
}


def metrics_for(preview: TablePreview, targets: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics that these target columns allow, the likeliest first.

    Raises `ScoringInputError` (``missing_column``) for a target that the table does not have.

    >>> price = ColumnPreview("price", "number", "number", distinct=3, missing=0, minimum=2.5, maximum=7.5)
    >>> preview = TablePreview("csv", 3, (price,), (), None, ("price",), None)
    >>> [metric.name for metric in metrics_for(preview, ["price"])][:2]
    ['rmse', 'mae']
    """
    known = {column.name for column in preview.columns}
    absent = [name for name in targets if name not in known]
    if absent or not targets:
        what, right = f"{join_values(absent) or 'no column'} is named", f"choose from {join_values(sorted(known))}"
        raise ScoringInputError("missing_column", "targets", what, right)
    columns = [preview.column(name) for name in targets]
    likely = _likely_groups(columns)
    fitting = [metric for metric in METRICS.values() if _fits(metric, columns)]
    return tuple(
        sorted(fitting, key=lambda metric: likely.index(metric.group) if metric.group in likely else len(likely))
    )


def _likely_groups(columns: Sequence[ColumnPreview]) -> tuple[str, ...]:
    if len(columns) > 1:
        named_places = columns[0].name.lower().startswith("lat")
        numbers = ("spatial", "regression") if named_places else ("regression", "time series")
        return ("survival", "multi-label") if columns[-1].kind == "binary" else numbers
    if columns[0].type != "text" or columns[0].kind in ("binary", "class"):
        return _LIKELY.get(columns[0].kind, ("regression",))
    return _LIKELY_OF_TEXTS[columns[0].pattern]


def _fits(metric: Metric, columns: Sequence[ColumnPreview]) -> bool:
    target = metric.target
    if target.several:
        return len(columns) > 1 and all(_is_kind(target.kind, column) for column in columns)
    if len(columns) != len(target.roles):
        return False
    return all(
        _is_kind(target.kind, column) and _plays(role, column) and not target.low_fault(column.minimum)
        for role, column in zip(target.roles, columns, strict=True)
    )


def _is_kind(kind: Kind, column: ColumnPreview) -> bool:
    rules: dict[str, Callable[[], bool]] = {
        "number": lambda: column.type != "text",
        "binary": lambda: column.kind == "binary",
        "class": lambda: 1 < column.distinct <= MAX_CLASSES and column.type != "number",
        "text": lambda: column.type == "text",
    }
    return rules[kind]()


def _plays(role: str, column: ColumnPreview) -> bool:
    """True where the column's values can be what the role says."""
    low, high = column.minimum, column.maximum
    if low is None or high is None:
        return role == "target"
    limits = {
        "latitude": (-90.0, 90.0),
        "longitude": (-180.0, 360.0),
        "event": (0.0, 1.0),
        "time": (0.0, None),
        "scale": (0.0, None),
    }
    lowest, highest = limits.get(role, (None, None))
    return (lowest is None or low >= lowest) and (highest is None or high <= highest)


def prediction_names(
    metric: Metric, targets: Sequence[str], settings: Settings, classes: Sequence[Value]
) -> tuple[str, ...]:
    """The columns that a team predicts; `classes` are those of the first target, in their order.

    Columns of classes are called as they are, behind the target's name where a class is a number. One role of the target
    itself has that target's name.

    >>> prediction_names(METRICS["class_log_loss"], ["kind"], {}, [0, 1])
    ('kind_0', 'kind_1')
    """
    first = targets[0]
    layout = metric.prediction.layout
    if layout == "per class":
        return tuple(
            f"{first}_{value}" if isinstance(value, int) else name_on_one_line(str(value)) for value in classes
        )
    if layout == "per level":
        return tuple(f"{first}_q{level:g}" for level in settings["levels"])
    if layout == "per member":
        return tuple(f"{first}_{member}" for member in range(1, settings["members"] + 1))
    if layout == "named":
        of_roles = dict(zip(metric.target.roles, targets, strict=True))
        return tuple(of_roles.get(role, f"{first}_{role}") for role in metric.prediction.roles)
    return tuple(targets)
