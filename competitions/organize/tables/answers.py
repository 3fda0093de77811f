"""Requests about tables of drafts and competitions, answered as JSON can hold it."""

import itertools
import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from competitions.organize.answers import ScoreOnScale, Solution
from competitions.organize.tables.comparing import compare_solution
from competitions.organize.tables.writing import write_files
from files.text import is_storable
from scoring.errors import ScoringInputError
from scoring.metrics import metric as metric_named
from scoring.tables import table_reference
from scoring.tables.baselines import constant_baseline
from scoring.tables.reading.files import open_table, read_source, read_table, require_rows
from scoring.tables.recognise import preview_table, require_plain_numbers
from scoring.tables.scores import score_table
from scoring.tables.splitting import read_instants
from scoring.uploads import Refused
from workers.protocol.texts import printable

BARS: Final = 12
MAX_SHAPES: Final = 60
SHARES: Final = 100


def recognise_table(path: str, file_name: str) -> dict[str, Solution]:
    """Recognise the table and the distribution of its columns. Raises `ScoringInputError`."""
    with open_table(Path(path), filename=file_name) as source:
        table = read_source(source)
        require_rows(table)
        require_plain_numbers(table, source)
        preview = preview_table(table, source)
    shapes = {column.name: _bars(table[column.name]) for column in preview.columns[:MAX_SHAPES]}
    instants = {column.name: _quantiles(table[column.name]) for column in preview.columns[:MAX_SHAPES]}
    dated = {name: quantiles for name, quantiles in instants.items() if quantiles}
    return {"preview": _storable(preview.as_json() | {"shapes": shapes, "instants": dated})}


def _quantiles(column: pl.Series) -> list[str]:
    """For a column of dates, times between which equal shares of the rows lie; else empty."""
    instants = read_instants(column)
    if instants is None or instants.n_unique() < 2:
        return []
    ordered = instants.sort()
    places = [round(share * (len(ordered) - 1) / SHARES) for share in range(SHARES + 1)]
    return [ordered[place].isoformat() for place in places]


def _storable(value: Any) -> Any:
    """The same with texts that a database takes."""
    if isinstance(value, str):
        return value if is_storable(value) else printable(value)
    if isinstance(value, dict):
        return {name: _storable(held) for name, held in value.items()}
    return [_storable(held) for held in value] if isinstance(value, (list, tuple)) else value


def _bars(column: Any) -> list[tuple[str, int]]:
    """Counts of each value, the most frequent first; of many numbers, counts in equal ranges."""
    values = column.drop_nulls()
    if values.dtype.is_numeric() and values.n_unique() > BARS:
        return _ranges(values.to_numpy().astype(np.float64))
    frequencies = values.value_counts(sort=True).head(BARS).rows()
    return [(str(value)[:60], int(count)) for value, count in frequencies]


def _ranges(numbers: NDArray[np.float64]) -> list[tuple[str, int]]:
    """Counts of the finite numbers in equal ranges; empty if they are too close or too far apart."""
    try:
        with np.errstate(all="ignore"):
            finite = numbers[np.isfinite(numbers)]
            low, high = float(finite.min()), float(finite.max())
            counts, edges = np.histogram(finite, bins=_round_edges(low, high) or BARS)
    except ValueError:
        return []
    return [
        (f"{low:.4g} to {high:.4g}", int(count)) for count, low, high in zip(counts, edges, edges[1:], strict=False)
    ]


def _round_edges(low: float, high: float) -> list[float]:
    """At most `BARS` equal ranges between round numbers; empty where floats are too coarse for that.

    >>> _round_edges(0.13, 3.9)[:3], len(_round_edges(0.13, 3.9))
    ([0.0, 0.5, 1.0], 9)
    """
    spread = (high - low) / BARS
    if not math.isfinite(spread) or spread <= 0:
        return []
    power = 10.0 ** math.floor(math.log10(spread))
    steps = (step for factor in (1, 2, 2.5, 5, 10, 20) if (step := factor * power) >= spread)
    for step in steps:
        first, last = math.floor(low / step), math.ceil(high / step)
        if 0 < last - first <= BARS:
            edges = [
                round(number * step, 12) if abs(step) > 1e-9 else number * step for number in range(first, last + 1)
            ]
            return edges if all(a < b for a, b in itertools.pairwise(edges)) else []
    return []


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


WORK: Final[Mapping[str, Callable[..., Mapping[str, object]]]] = {
    "recognise": recognise_table,
    "write": write_files,
    "compare": compare_solution,
    "scale": score_scale,
}


def answer(do: str, **given: Any) -> dict[str, object]:
    """The answer, or the fault of a file."""
    try:
        return {"fault": "", **WORK[do](**given)}
    except ScoringInputError as error:
        return {"fault": str(error)}
