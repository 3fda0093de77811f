"""The scoring program of table competitions: reads the reference folder and one uploaded table, and scores each part."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from scoring.errors import CODES, ScoringInputError
from scoring.program import Refused, is_upload, run
from scoring.tables import metrics
from scoring.tables.align import rows_of
from scoring.tables.check import read_in_order
from scoring.tables.formats import is_table_name
from scoring.tables.metrics.base import Floats, Rows, mean_over_groups
from scoring.tables.own_metric import MetricRefused, OwnMetric
from scoring.tables.reference import OWN_METRIC, ChosenMetric, TableReference, columns_of_targets, parts_of, read

_PREDICTIONS: Final = ("prediction", "y_pred")  # what metrics call the team's values
_USUAL_NAMES: Final = ("submission", "predictions")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry of the scoring program: ``score_table.py INPUT OUTPUT``, where INPUT holds ``ref`` and ``res``. The exit code.

    >>> main([])  # how to call it goes to standard error
    1
    """
    return run(score_table, sys.argv[1:] if argv is None else argv)


def score_table(ref: Path, res: Path, output: Path) -> dict[str, float]:
    """Scores of the table in `res`: one for each metric, and where there are two parts one for each, ``rmse_public`` and so on.

    The table is checked before the targets are looked at. Raises `Refused`, or `ScoringInputError` where the reference
    folder or the metric is at fault.

    >>> import tempfile
    >>> from scoring.tables.reference import reference_for, write
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
    path = _uploaded(res)
    try:
        predictions = read_in_order(path, reference.schema, ids)
    except ScoringInputError as error:
        raise Refused(error.code, str(error)) from error
    own = OwnMetric(ref / OWN_METRIC) if any(metric.is_own for metric in reference.metrics) else None
    scores: dict[str, float] = {}
    for part, chosen in parts_of(reference, solution).items():
        rows = _Part(reference, own, solution, _chosen(solution, chosen), _chosen(predictions, chosen))
        suffix = f"_{part}" if part else ""
        scores |= {f"{key}{suffix}": value for key, value in rows.scores()}
        if reference.per_sample:
            _write_losses(output / f"per_sample{suffix}.npz", rows.losses())
    return scores


def _chosen(table: pl.DataFrame, chosen: pl.Series) -> pl.DataFrame:
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
            try:
                yield chosen.key, self._score(chosen)
            except MetricRefused as refusal:
                raise Refused("metric_refused", str(refusal)) from refusal
            except ScoringInputError as error:
                if error.where in _PREDICTIONS:  # the labels are in play now: no detail
                    raise Refused(error.code, f"The predictions cannot be scored: {CODES[error.code]}.") from error
                raise

    def _score(self, chosen: ChosenMetric) -> float:
        if self.own is not None and chosen.is_own:
            shown = columns_of_targets(self.reference, self.solution)
            return self.own.score(shown, self.predictions, self.reference.id_column, chosen.parameters)
        metric, rows = metrics.metric(chosen.name), self._rows(chosen)
        return (
            mean_over_groups(metric, rows, chosen.parameters)
            if chosen.per_group
            else metric.score(rows, chosen.parameters)
        )

    def _rows(self, chosen: ChosenMetric) -> Rows:
        known = self.reference
        return rows_of(
            metrics.metric(chosen.name), self.solution, self.predictions, targets=known.targets, schema=known.schema,
            weight=known.weight, group=known.group, whole=self.whole,
        )  # fmt: skip

    def losses(self) -> Iterator[tuple[str, Floats]]:
        """One value a row for each metric that is a mean over rows, or a function of one: that one's are called ``KEY_loss``."""
        for chosen in self.reference.metrics:
            metric = None if chosen.is_own else metrics.metric(chosen.name)
            values = None if metric is None else metric.losses(self._rows(chosen), chosen.parameters)
            if metric is not None and values is not None:
                yield chosen.key if metric.is_mean_over_rows else f"{chosen.key}_loss", values


def _uploaded(res: Path) -> Path:
    """The one table that was sent in; of several that code wrote, the one called submission or predictions."""
    files = [path for path in sorted(res.rglob("*")) if is_upload(path, res)]
    tables = [path for path in files if is_table_name(path.name) or path.suffix.lower() == ".zip"]
    usual = [path for path in tables if path.name.partition(".")[0].lower() in _USUAL_NAMES]
    for some in (tables, usual):
        if len(some) == 1:
            return some[0]
    shown = ", ".join(ascii(path.name[:60]) for path in files[:5]) or "nothing"
    code = "extra_member" if tables else "no_file"
    raise Refused(code, f"{len(tables)} tables were found among the files ({shown}); give one, such as submission.csv.")


def _write_losses(path: Path, losses: Iterable[tuple[str, Floats]]) -> None:
    arrays: dict[str, Any] = {key: values.astype(np.float32) for key, values in losses}
    if arrays:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **arrays)
