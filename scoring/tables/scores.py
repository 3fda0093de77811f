"""Scores of one uploaded table, one for each metric and part."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from scoring import metrics
from scoring.errors import ScoringInputError
from scoring.metrics.metric import Floats, Rows, mean_over_groups
from scoring.statistics import SampledScore
from scoring.tables.align import metric_rows
from scoring.tables.check import read_reordered
from scoring.tables.file_types import is_table_name
from scoring.tables.own_metric import MetricRefused, OwnMetric
from scoring.tables.table_reference import OWN_METRIC, ChosenMetric, TableReference, read, solution_parts, without_usage
from scoring.uploads import Refused, refusing, uploaded_files, write_samples

_USUAL_NAMES: Final = ("submission", "predictions")


def score_table(ref: Path, res: Path, output: Path) -> dict[str, float]:
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
    ...     score_table(ref, res, output)
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
    for part, chosen in solution_parts(reference, solution).items():
        rows = _Part(reference, own, solution, _filter(solution, chosen), _filter(predictions, chosen))
        suffix = f"_{part}" if part else ""
        scores |= {f"{key}{suffix}": value for key, value in rows.scores()}
        if reference.per_sample:
            write_samples(output / f"per_sample{suffix}.npz", dict(rows.losses()))
    return scores


def sampled_table_score(ref: Path, res: Path, key: str) -> SampledScore:
    """As `scoring.row_scores.sampled_score`, of a table; rows in the order of their ids.

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
        metric, rows = metrics.metric(chosen.name), self._rows(chosen)
        return (
            mean_over_groups(metric, rows, chosen.parameters)
            if chosen.per_group
            else metric.score(rows, chosen.parameters)
        )

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
        if chosen.is_own or chosen.per_group or metrics.metric(chosen.name).needs_group:
            what = "it is one's own, or one over groups"
            raise ScoringInputError("not_decomposable", chosen.key, what, "use a metric over single rows")
        metric, rows = metrics.metric(chosen.name), self._rows(chosen)
        is_plain_mean = metric.is_mean_over_rows and rows.weight is None
        return SampledScore(
            metric.score(rows, chosen.parameters),
            self.solution.height,
            metric.losses(rows, chosen.parameters) if is_plain_mean else None,
            lambda places: metric.score(rows.take(places), chosen.parameters),
        )

    def losses(self) -> Iterator[tuple[str, Floats]]:
        """One value a row for each metric that is a mean over rows, or a function of one.

        The latter's are called ``KEY_loss``.
        """
        for chosen in self.reference.metrics:
            metric = None if chosen.is_own else metrics.metric(chosen.name)
            values = None if metric is None else metric.losses(self._rows(chosen), chosen.parameters)
            if metric is not None and values is not None:
                yield chosen.key if metric.is_mean_over_rows else f"{chosen.key}_loss", values


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
