"""Scores to compare with: those of the best constant and of a perfect prediction."""

import tempfile
from pathlib import Path

import polars as pl

from competitions.organize.answers import ScoreOnScale
from scoring.metrics import metric as metric_named
from scoring.tables import table_reference
from scoring.tables.baselines import constant_baseline
from scoring.tables.reading.files import read_table
from scoring.tables.scores import score_table
from scoring.uploads import Refused


def score_scale(target: str, training: list[str] | None) -> dict[str, list[ScoreOnScale]]:
    """Score the best constant on the reference data that were written, for each metric and part.

    A metric of the organizer's own has neither: its code runs in a container alone. Raises `ScoringInputError`.
    """
    folder = Path(target) / "reference_data"
    reference, solution = table_reference.read(folder)
    if reference.metrics[0].is_own:
        return {"scale": []}
    with tempfile.TemporaryDirectory() as parent:
        sent, output = Path(parent) / "sent", Path(parent) / "output"
        sent.mkdir()
        output.mkdir()
        _constant(reference, solution, training).write_csv(sent / "constant.csv")
        try:
            scores = score_table(folder, sent, output).scores
        except Refused:
            scores = {}  # such as a correlation, which a constant does not have
    parts = table_reference.solution_parts(reference, solution)
    keys = [(metric, f"{metric.key}_{part}" if part else metric.key) for part in parts for metric in reference.metrics]
    return {
        "scale": [
            {"key": key, "constant": scores.get(key), "perfect": metric_named(metric.name).perfect}
            for metric, key in keys
        ]
    }


def _constant(
    reference: table_reference.TableReference, solution: pl.DataFrame, training: list[str] | None
) -> pl.DataFrame:
    """The constant that suits the first metric, under the names of columns that teams use."""
    first = reference.metrics[0]
    table = constant_baseline(
        solution,
        metric_named(first.name),
        id_column=reference.id_column,
        targets=reference.targets,
        parameters=first.parameters,
        train=read_table(Path(training[0]), filename=training[1]) if training else None,
    )
    plain = [name for name in table.columns if name != reference.id_column]
    return table.rename(dict(zip(plain, (column.name for column in reference.schema.columns), strict=True)))
