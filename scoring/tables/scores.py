"""Scores of one uploaded table, one for each metric and part."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from scoring import metrics
from scoring.errors import ScoringInputError
from scoring.metrics.metric import Floats, Metric, Rows, mean_over_groups, no_value
from scoring.reference import OWN_METRIC
from scoring.replicates import Resampling, Sample
from scoring.slices import Scored, Slicing
from scoring.statistics import SampledScore
from scoring.tables.align import bad_reference, metric_rows
from scoring.tables.check import read_reordered
from scoring.tables.own_metric import MetricRefused, OwnMetric
from scoring.tables.reading.file_types import is_table_name
from scoring.tables.table_reference import ChosenMetric, TableReference, read, solution_parts, without_usage
from scoring.uploads import Refused, refusing, uploaded_files, write_samples

_USUAL_NAMES: Final = ("submission", "predictions")


def score_table(ref: Path, res: Path, output: Path) -> Scored:
    """Scores of the table in `res`: one for each metric and part, ``rmse_public`` and so on.

    The table is checked before the targets are looked at. Raises `Refused`, or `ScoringInputError` where the reference
    folder or the metric is at fault.

    >>> import tempfile
    >>> from scoring.tables.table_reference import reference_for, write
    >>> solution = pl.DataFrame({"id": [1, 2], "price": [2.0, 3.0]})
    >>> known = reference_for(solution, [ChosenMetric("mae")], id_column="id", targets=["price"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ref, res, output = (Path(folder) / name for name in ("ref", "res", "output"))
    ...     _ = write(ref, solution, known)
    ...     res.mkdir()
    ...     _ = (res / "p.csv").write_text("id,price\\n2,3\\n1,3\\n")
    ...     score_table(ref, res, output).scores
    {'mae': 0.5}
    """
    reference, solution = read(ref)
    ids = solution[reference.id_column]
    path = _find_table(res)
    try:
        predictions = read_reordered(path, reference.schema, ids)
    except ScoringInputError as error:
        raise Refused(error.code, str(error)) from error
    own = OwnMetric(ref / OWN_METRIC) if any(metric.is_own for metric in reference.metrics) else None
    scores: dict[str, float] = {}
    sampled: dict[str, Sample] = {}
    slicings: dict[str, dict[str, Slicing]] = {}
    unsliced: list[str] = []
    for part, chosen in solution_parts(reference, solution).items():
        rows = _Part(reference, own, solution, _filter(solution, chosen), _filter(predictions, chosen))
        suffix = f"_{part}" if part else ""
        scores |= {f"{key}{suffix}": value for key, value in rows.scores()}
        sampled |= {f"{metric.key}{suffix}": partial(rows.resampled, metric) for metric in reference.metrics}
        for chosen_metric in reference.metrics if reference.slices else ():
            key = f"{chosen_metric.key}{suffix}"
            slicings[key], faults = rows.slicings(chosen_metric)
            unsliced += [f"No slices of {key} by {name}: {fault}." for name, fault in faults.items()]
        if reference.per_sample:
            write_samples(output / f"per_sample{suffix}.npz", dict(rows.losses()))
    return Scored(scores, sampled, slicings=slicings, unsliced=unsliced)


def sampled_table_score(ref: Path, res: Path, key: str) -> SampledScore:
    """Like `scoring.row_scores.sampled_score`, for a table; rows in the order of their ids.

    >>> import tempfile
    >>> from scoring.tables.table_reference import reference_for, write
    >>> solution = pl.DataFrame({"id": [2, 1], "price": [2.0, 3.0]})
    >>> known = reference_for(solution, [ChosenMetric("mae")], id_column="id", targets=["price"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ref, res = (Path(folder) / name for name in ("ref", "res"))
    ...     _ = write(ref, solution, known)
    ...     res.mkdir()
    ...     _ = (res / "p.csv").write_text("id,price\\n2,3\\n1,3\\n")
    ...     sampled_table_score(ref, res, "mae").losses
    array([0., 1.])
    """
    reference, unsorted = read(ref)
    solution = unsorted.sort(reference.id_column)
    predictions = read_reordered(_find_table(res), reference.schema, solution[reference.id_column])
    for part, chosen in solution_parts(reference, solution).items():
        rows = _Part(reference, None, solution, _filter(solution, chosen), _filter(predictions, chosen))
        for metric in reference.metrics:
            if key == (f"{metric.key}_{part}" if part else metric.key):
                return rows.sampled(metric)
    raise ScoringInputError("unknown_name", "key", f"there is no score {key!r}", "use the key of a metric and part")


def _filter(table: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
    """The chosen rows, without a copy where that is all of them."""
    return table if chosen.all() else table.filter(chosen)


@dataclass(frozen=True)
class _Part:
    """The rows of one part; `whole` is the solution with all parts."""

    reference: TableReference
    own: OwnMetric | None
    whole: pl.DataFrame
    solution: pl.DataFrame
    predictions: pl.DataFrame

    def scores(self) -> Iterator[tuple[str, float]]:
        for chosen in self.reference.metrics:
            with refusing():
                try:
                    yield chosen.key, self._score(chosen)
                except MetricRefused as refusal:
                    raise Refused("metric_refused", str(refusal)) from refusal

    def _score(self, chosen: ChosenMetric) -> float:
        if self.own is not None and chosen.is_own:
            shown = without_usage(self.reference, self.solution)
            return self.own.score(shown, self.predictions, self.reference.id_column, chosen.parameters)
        return _score(metrics.metric(chosen.name), self._rows(chosen), chosen)

    def _rows(self, chosen: ChosenMetric) -> Rows:
        known = self.reference
        return metric_rows(
            metrics.metric(chosen.name),
            self.solution,
            self.predictions,
            targets=known.targets,
            schema=known.schema,
            weight=known.weight,
            group=known.group,
            whole=self.whole,
        )

    def sampled(self, chosen: ChosenMetric) -> SampledScore:
        """The score by a metric as a function of the rows. Raises `ScoringInputError` for one that is none."""
        if chosen.is_own or chosen.is_over_groups:
            what = "it is one's own, or one over groups"
            raise ScoringInputError("not_decomposable", chosen.key, what, "use a metric over single rows")
        metric, rows = metrics.metric(chosen.name), self._rows(chosen)
        return SampledScore(
            metric.score(rows, chosen.parameters),
            self.solution.height,
            metric.losses(rows, chosen.parameters) if rows.weight is None else None,
            lambda places: metric.score(rows.take(places), chosen.parameters),
            metric.finish,
        )

    def resampled(self, chosen: ChosenMetric) -> tuple[SampledScore, Resampling]:
        """The score as a function of what is resampled: rows, or groups where the metric is over these."""
        if chosen.is_own:
            return self._own_sampled(chosen), self._resampling()
        if not chosen.is_over_groups:
            return self.sampled(chosen), self._resampling()
        metric, rows = metrics.metric(chosen.name), self._rows(chosen)
        groups = rows.by_group()
        sampled = SampledScore(
            self._score(chosen), len(groups), None, partial(_score_of_groups, metric, groups, chosen)
        )
        return sampled, Resampling(f"{self._name()}/{self.reference.group}", len(groups))

    def slicings(self, chosen: ChosenMetric) -> tuple[dict[str, Slicing], dict[str, str]]:
        """The slicings of what is resampled for the metric, and why others are none, by name.

        The items of a metric over groups are the groups.
        """
        groups = self._rows(chosen).group if chosen.is_over_groups else None
        slicings, faults = {}, {}
        for name in self.reference.slices:
            slicing = Slicing.of(_labels(self.solution, name))
            try:
                slicings[name] = slicing if groups is None else slicing.of_groups(groups)
            except ScoringInputError as error:
                faults[name] = f"{error.what}; the metric is over groups, so {error.right}"
        return slicings, faults

    def _own_sampled(self, chosen: ChosenMetric) -> SampledScore:
        own, shown = self.own, without_usage(self.reference, self.solution)
        assert own is not None  # a metric of one's own was chosen
        id_column = self.reference.id_column

        def score(places: NDArray[np.int64]) -> float:
            try:
                return own.score(shown[places], self.predictions[places], id_column, chosen.parameters)
            except MetricRefused as error:
                raise no_value(f"{chosen.key} refuses a resample", "let it take any rows") from error

        return SampledScore(self._score(chosen), self.solution.height, None, score)

    def _resampling(self) -> Resampling:
        known = self.reference
        groups, strata = (_codes(self.solution, name) for name in (known.resample_by, known.strata))
        return Resampling(self._name(), self.solution.height, groups, strata)

    def _name(self) -> str:
        """A name that two parts share only where they have the same rows in the same order."""
        ids = self.solution[self.reference.id_column].cast(pl.String)
        return hashlib.sha256("\n".join(ids.to_list()).encode()).hexdigest()

    def losses(self) -> Iterator[tuple[str, Floats]]:
        """One value a row for each metric that is a mean over rows, or a function of one.

        The latter's are called ``KEY_loss``.
        """
        for chosen in self.reference.metrics:
            metric = None if chosen.is_own else metrics.metric(chosen.name)
            values = None if metric is None else metric.losses(self._rows(chosen), chosen.parameters)
            if metric is not None and values is not None:
                yield chosen.key if metric.is_mean_over_rows else f"{chosen.key}_loss", values


def _score(metric: Metric, rows: Rows, chosen: ChosenMetric) -> float:
    return (mean_over_groups if chosen.per_group else Metric.score)(metric, rows, chosen.parameters)


def _score_of_groups(metric: Metric, groups: list[Rows], chosen: ChosenMetric, places: NDArray[np.int64]) -> float:
    """The score of these groups, each a group of its own as often as it is named."""
    drawn = [groups[place] for place in places.tolist()]
    if not drawn:
        raise no_value("no group was drawn", "add groups")
    group = np.repeat(np.arange(len(drawn)), [len(rows.truth) for rows in drawn])
    weights = [rows.weight for rows in drawn if rows.weight is not None]
    rows = Rows(
        np.concatenate([rows.truth for rows in drawn]),
        np.concatenate([rows.prediction for rows in drawn]),
        np.concatenate(weights) if weights else None,
        group,
        drawn[0].classes,
    )
    return _score(metric, rows, chosen)


def _codes(solution: pl.DataFrame, name: str | None) -> NDArray[np.int64] | None:
    """A code from 0 for each value of a column; None without a column."""
    if name is None:
        return None
    if name not in solution.columns:
        raise bad_reference(name, "there is no such column")
    return solution[name].rank("dense").to_numpy().astype(np.int64) - 1


def _labels(solution: pl.DataFrame, name: str) -> NDArray[Any]:
    """The labels of a column: integers as they are, anything else as text."""
    column = solution[name]
    if column.dtype.is_integer() and not column.null_count():
        return column.to_numpy()
    return np.array(column.cast(pl.String).fill_null("").to_list(), dtype=np.str_)


def _find_table(res: Path) -> Path:
    """The one table that was sent in; of several that code wrote, submission or predictions."""
    files = uploaded_files(res)
    tables = [path for path in files if is_table_name(path.name) or path.suffix.lower() == ".zip"]
    usual = [path for path in tables if path.name.partition(".")[0].lower() in _USUAL_NAMES]
    for some in (tables, usual):
        if len(some) == 1:
            return some[0]
    shown = ", ".join(ascii(path.name[:60]) for path in files[:5]) or "nothing"
    code = "extra_member" if tables else "no_file"
    raise Refused(code, f"{len(tables)} tables were found among the files ({shown}); give one, such as submission.csv.")
