"""A metric: the values that it compares, its parameters, and the facts about its score.

Each is defined once, where its formula stands.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringInputError
from scoring.metrics.formulas import FORMULAS

Floats: TypeAlias = NDArray[np.float64]
Direction = Literal["max", "min"]
Group = Literal[
    "binary",
    "multi-class",
    "multi-label",
    "regression",
    "counts",
    "quantiles and distributions",
    "ranking and retrieval",
    "time series",
    "spatial",
    "segmentation",
    "detection",
    "text",
    "survival",
    "clustering",
]
Kind = Literal["number", "positive", "binary", "class", "text", "probability"]
Naming = Literal["same", "per class", "per level", "per member", "named"]
ParameterType = Literal["number", "integer", "numbers", "choice"]
Parameters: TypeAlias = Mapping[str, Any]
"""Values of a metric's parameters, as somebody wrote them."""
Value: TypeAlias = float | str | tuple[float, ...]
Settings: TypeAlias = dict[str, Any]
"""All parameters of a metric with their values (`Value`), ready to be passed on as keywords."""
Formula = TypeVar("Formula", bound=Callable[..., Any])

SKLEARN: Final = "scikit-learn: sklearn.metrics."
LARGEST: Final = float(np.finfo(np.float64).max)
MIN_POSITIVE: Final = float(np.finfo(np.float64).tiny)
_HUGE: Final = 1e100  # no metric of numbers between its inverse and this overflows


@dataclass(frozen=True)
class Rows:
    """The aligned rows of one part.

    `truth` and `prediction` have the shape (rows,), or (rows, columns) where the metric takes several columns. Classes
    are codes from 0 to `classes` - 1, text is an array of Python's strings. `group` holds codes from 0.
    """

    truth: NDArray[Any]
    prediction: NDArray[Any]
    weight: Floats | None = None
    group: NDArray[np.int64] | None = None
    classes: int = 0

    def counted(self) -> "Rows":
        """The rows that count, without those of weight 0.

        >>> Rows(np.array([1, 2]), np.array([1, 2]), np.array([0.0, 0.5])).counted().truth.tolist()
        [2]
        """
        return self if self.weight is None else self.take(self.weight > 0)

    def mean(self, values: Any) -> float:
        """The mean of one value a row, weighted where the rows have weights."""
        return float(np.average(np.asarray(values, dtype=np.float64), weights=self.weight, axis=0))

    def take(self, chosen: NDArray[Any]) -> "Rows":
        """The chosen rows: a mask or places."""
        weight = None if self.weight is None else self.weight[chosen]
        group = None if self.group is None else self.group[chosen]
        return Rows(self.truth[chosen], self.prediction[chosen], weight, group, self.classes)

    def by_group(self) -> list["Rows"]:
        """The rows of each group, in the order of the groups' codes.

        >>> rows = Rows(np.array([1, 2, 3]), np.array([1, 2, 3]), group=np.array([4, 0, 4]))
        >>> [part.truth.tolist() for part in rows.by_group()]
        [[2], [1, 3]]
        """
        assert self.group is not None  # asked by callers
        order = np.argsort(self.group, kind="stable")
        starts = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        return [self.take(places) for places in np.split(order, starts[1:])]


@dataclass(frozen=True)
class Parameter:
    """A setting of a metric: its type, its default and what it may be."""

    name: str
    type: ParameterType
    default: Value
    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def read(self, value: object) -> Value:
        """The value as the metric takes it. Raises `ScoringInputError` (``bad_parameter``)."""
        if self.type == "choice":
            self._require(value in self.choices, value, f"use one of {', '.join(self.choices)}")
            return str(value)
        if self.type == "numbers":
            is_list = isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0
            self._require(is_list, value, "give a list of numbers")
            return tuple(self._read_number(item) for item in value)  # type: ignore[attr-defined]  # just checked
        return self._read_number(value)

    def _read_number(self, value: object) -> float:
        kinds = (int,) if self.type == "integer" else (int, float)
        is_number = isinstance(value, kinds) and not isinstance(value, bool) and abs(value) <= LARGEST
        self._require(is_number, value, f"give {'a whole' if self.type == 'integer' else 'a'} number")
        low, high = self.minimum, self.maximum
        bounds = " ".join(["" if low is None else f"from {low:g}", "" if high is None else f"to {high:g}"]).strip()
        is_inside = (low is None or value >= low) and (high is None or value <= high)  # type: ignore[operator]  # a number
        self._require(is_inside, value, f"give a number {bounds}")
        return value  # type: ignore[return-value]  # a number

    def _require(self, is_right: bool, value: object, right: str) -> None:
        if not is_right:
            raise ScoringInputError("bad_parameter", self.name, f"it is {value!r}", right)


@dataclass(frozen=True)
class Target:
    """The true values that a metric needs: one column of a kind, several of it, or one for each role.

    Numbers may have to be `above` a bound, or to be `least` or more.
    """

    kind: Kind
    roles: tuple[str, ...] = ("target",)
    several: bool = False
    above: float | None = None
    least: float | None = None

    def low_fault(self, lowest: float | None) -> str:
        """Says why the lowest true value is too low for the metric; empty where it is not.

        >>> Target("number", above=-1.0).low_fault(-8.452)
        'This metric needs values above -1; your target has values down to -8.452.'
        """
        bound = ""
        if lowest is not None and self.above is not None and lowest <= self.above:
            bound = f"above {self.above:g}"
        if lowest is not None and self.least is not None and lowest < self.least:
            bound = f"of {self.least:g} or above"
        return f"This metric needs values {bound}; your target has values down to {lowest:g}." if bound else ""


@dataclass(frozen=True)
class Prediction:
    """The values that a team predicts, and how the names of their columns follow from the target's.

    ``same``: as the targets; ``per class``: one a class, named by it; ``per level``: one for each of the parameter
    `levels`; ``per member``: one for each of `members`; ``named``: the target's name and one of `roles`.
    """

    kind: Kind
    layout: Naming = "same"
    roles: tuple[str, ...] = ()


class Facts(TypedDict, total=False):
    """Facts about a metric; see the fields of `Metric`."""

    group: Group
    direction: Direction
    range: tuple[float | None, float | None]
    target: Target
    prediction: Prediction
    help: str
    finish: Callable[[float], float]
    parameters: tuple[Parameter, ...]
    unit: str
    perfect: float | None
    weighted: bool
    needs_group: bool
    words: str


@dataclass(frozen=True)
class Metric:
    """One metric, by `per_row`, whose mean is given to `finish`, or else by `function`.

    `help` is for pages: the first sentence of the formula's docstring. `perfect` is the score of the best possible answer,
    None where that depends on the data. `words` are further ones by which it is searched.
    """

    name: str
    title: str
    source: str
    help: str
    group: Group
    target: Target
    prediction: Prediction
    direction: Direction
    range: tuple[float | None, float | None]
    function: Callable[..., float] | None = None
    per_row: Callable[..., NDArray[Any]] | None = None
    finish: Callable[[float], float] | None = None
    parameters: tuple[Parameter, ...] = ()
    unit: str = ""
    perfect: float | None = None
    weighted: bool = True
    needs_group: bool = False
    words: str = field(default="", repr=False)

    @property
    def is_mean_over_rows(self) -> bool:
        """True where the score is the (weighted) mean of the values that `per_row` gives."""
        return self.per_row is not None and self.finish is None

    @property
    def formula(self) -> str:
        """The formula as LaTeX; `scoring.metrics.formulas` says what the letters are."""
        return FORMULAS[self.name]

    @property
    def takes_vectors(self) -> bool:
        """True where two arrays of one number a row are all that it needs."""
        is_one_column = len(self.target.roles) == 1 and not self.target.several and self.prediction.layout == "same"
        return is_one_column and self.prediction.kind != "text" and not self.needs_group

    def settings(self, given: Parameters) -> Settings:
        """All parameters with their values: those given, else the defaults.

        Raises `ScoringInputError` (``bad_parameter``) for a name that is not there or a value that does not fit.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        strangers = sorted(set(given) - set(known))
        if strangers:
            right = f"use {', '.join(known)}" if known else "give none"
            raise ScoringInputError("bad_parameter", strangers[0], f"{self.name} has no such parameter", right)
        return {name: parameter.read(given.get(name, parameter.default)) for name, parameter in known.items()}

    def score(self, rows: Rows, given: Parameters | None = None) -> float:
        """The score of the rows.

        Raises `ScoringInputError`: `where` is ``prediction`` where the team's values are at fault.
        """
        settings = self.settings(given or {})
        _require_usable(self, rows)
        with np.errstate(all="ignore"):  # what is not a number is refused below
            try:
                value = self._value(rows, settings)
            except OverflowError:
                value = math.inf
        return _require_finite(value, self, rows)

    def _value(self, rows: Rows, settings: Settings) -> float:
        if self.per_row is not None:
            mean = rows.mean(self.per_row(rows, **settings))
            return float(self.finish(mean)) if self.finish else mean
        assert self.function is not None  # a metric has one of the two
        return float(self.function(rows, **settings))

    def losses(self, rows: Rows, given: Parameters | None = None) -> Floats | None:
        """One value a row, of which the score is (the finish of) the mean; None where there are none."""
        if self.per_row is None:
            return None
        return np.asarray(self.per_row(rows, **self.settings(given or {})), dtype=np.float64)


CATALOGUE: Final[dict[str, Metric]] = {}
"""Every metric by its name; `scoring.metrics` fills it by importing the modules of the subjects."""


class Subject:
    """The facts that the metrics of a subject share. Its decorators enter a formula into the catalogue.

    >>> speeds = Subject(group="regression", target=Target("number"), prediction=Prediction("number"), direction="min")
    >>> speeds.facts["direction"]
    'min'
    """

    def __init__(self, **facts: Unpack[Facts]) -> None:
        self.facts = facts

    def but(self, **facts: Unpack[Facts]) -> "Subject":
        """The subject with other facts, for those of its metrics that differ alike."""
        return Subject(**(self.facts | facts))

    def whole(self, name: str, title: str, source: str, **facts: Unpack[Facts]) -> Callable[[Formula], Formula]:
        """Enter a function that gives the score of all rows."""
        return self._entering("function", name=name, title=title, source=source, **facts)

    def mean(self, name: str, title: str, source: str, **facts: Unpack[Facts]) -> Callable[[Formula], Formula]:
        """Enter a function that gives a value for each row; the score is their mean, or `finish` of it."""
        return self._entering("per_row", name=name, title=title, source=source, **facts)

    def _entering(self, place: str, **facts: Any) -> Callable[[Formula], Formula]:
        def enter(formula: Formula) -> Formula:
            sentence = inspect.cleandoc(formula.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
            known = {"range": (0.0, 1.0), "help": sentence, **self.facts, **facts, place: formula}
            metric = Metric(**known)
            if metric.name in CATALOGUE:
                raise ValueError(f"two metrics are called {metric.name}")
            CATALOGUE[metric.name] = metric
            return formula

        return enter


def _require_finite(score: float, metric: Metric, rows: Rows) -> float:
    """The score. Raises where it is not finite, for which only wild predictions are to blame."""
    if math.isfinite(score):
        return score
    if _is_extreme(rows.prediction) and not _is_extreme(rows.truth):
        right = "predict numbers of the size of the true ones"
        what = "it is so large, or so near 0, that the score is not finite"
        raise ScoringInputError("infinite", "prediction", what, right)
    right = "choose another metric or other rows"
    raise ScoringInputError("infinite", metric.name, "the score is not finite on these rows", right)


def _is_extreme(values: NDArray[Any]) -> bool:
    if not np.issubdtype(values.dtype, np.number):
        return False
    sizes = np.abs(values)
    return bool(np.any((sizes > _HUGE) | ((sizes > 0) & (sizes < 1 / _HUGE))))


def _require_usable(metric: Metric, rows: Rows) -> None:
    if not len(rows.truth):
        raise ScoringInputError("empty_input", "the solution", "a part has no rows", "give each part rows")
    if metric.needs_group and rows.group is None:
        what = f"{metric.name} needs a group column"
        raise ScoringInputError("bad_parameter", "group", what, "name one in the solution")
    if rows.weight is not None and not metric.weighted:
        right = "leave the column out or choose another metric"
        raise ScoringInputError("bad_parameter", "weight", f"{metric.name} takes no weights", right)
    if rows.weight is not None and not (np.all(rows.weight >= 0) and 0 < rows.weight.sum() < math.inf):
        right = "give numbers from 0, not all of them 0"
        raise ScoringInputError("out_of_range", "weight", "the weights are no weights", right)


def no_value(what: str, right: str) -> ScoringInputError:
    """The error of a solution on which a metric has no value.

    >>> no_value("one class is missing", "add rows").code
    'no_scorable_task'
    """
    return ScoringInputError("no_scorable_task", "the solution", what, right)


def mean_over_groups(metric: Metric, rows: Rows, given: Parameters | None = None) -> float:
    """The mean of the metric over the groups of rows, each counting once.

    Groups on which it has no value are left out.

    >>> from scoring.metrics import metric
    >>> rows = Rows(np.array([0.0, 2.0, 5.0]), np.array([1.0, 1.0, 5.0]), group=np.array([0, 0, 1]))
    >>> mean_over_groups(metric("mae"), rows)
    0.5
    """
    if rows.group is None:
        raise ScoringInputError("bad_parameter", "group", "there is no group column", "name one in the solution")
    scores = [score for part in rows.by_group() if (score := _score_or_none(metric, part, given)) is not None]
    if not scores:
        raise no_value(f"{metric.name} has no value on any group", "choose another metric or grouping")
    return _require_finite(sum(scores) / len(scores), metric, rows)


def _score_or_none(metric: Metric, rows: Rows, given: Parameters | None) -> float | None:
    try:
        return metric.score(rows, given)
    except ScoringInputError as error:
        if error.code == "no_scorable_task":
            return None
        raise
