"""The reference folder of a table competition: the solution, and ``metric.json`` with the rule.

solution.csv (or .parquet)    ids, targets, Usage, and what the metric wants: weights, groups
metric.json                   {"format": 1, "id_column": "id", "targets": ["price"], "usage_column": "Usage",
                               "metrics": [{"name": "rmse", "key": "rmse", "parameters": {}}],
                               "schema": {"id_column": "id", "columns": [{"name": "price"}]}}
metric.py                     a metric of one's own, where a metric is called by that name
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Final

import polars as pl
from polars import selectors

from scoring import metrics
from scoring.errors import ScoringInputError
from scoring.reference import (
    FORMAT,
    OWN_METRIC,
    TABLE_DESCRIPTION,
    bad_description,
    read_description,
    write_description,
)
from scoring.slices import MAX_SLICINGS
from scoring.tables.align import bad_reference, read_ids
from scoring.tables.columns import require_column, schema_for, schema_like
from scoring.tables.reading.file_types import is_table_name
from scoring.tables.reading.files import read_table, write_table
from scoring.tables.schema import TableSchema
from scoring.tables.splitting import USAGE, USAGES, read_usage

SOLUTION: Final = "solution"


@dataclass(frozen=True)
class ChosenMetric:
    """A metric with its parameters, and the key of its score.

    With `per_group` the score is the mean of the groups' scores.
    """

    name: str
    key: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict)
    per_group: bool = False

    def __post_init__(self) -> None:
        if not self.is_own:
            metrics.metric(self.name).settings(self.parameters)
        key = self.key or ("score" if self.is_own else self.name)
        object.__setattr__(self, "key", key)

    @property
    def is_own(self) -> bool:
        """True where it is the organizer's own file."""
        return self.name == OWN_METRIC

    @property
    def is_over_groups(self) -> bool:
        """True where the score is that of groups of rows, such as a mean of theirs."""
        return self.per_group or (not self.is_own and metrics.metric(self.name).needs_group)


@dataclass(frozen=True)
class TableReference:
    """The rule by which a table competition is scored: the content of ``metric.json``.

    For the intervals of scores, rows are resampled by themselves, or in the groups of the column `resample_by`, whose rows
    are alike (all of one user, say); each stratum of the column `strata` keeps its share. Rows of one value in a column of
    `slices` are a slice, which gets a score of its own.
    """

    id_column: str
    targets: tuple[str, ...]
    metrics: tuple[ChosenMetric, ...]
    schema: TableSchema
    usage_column: str | None = None
    weight: str | None = None
    group: str | None = None
    per_sample: bool = False
    resample_by: str | None = None
    strata: str | None = None
    slices: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Plain values, as they stand in the file."""
        plain = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) not in (None, ())
        }
        listed = {
            "metrics": [asdict(metric) for metric in self.metrics],
            "schema": self.schema.as_json(),
            "targets": list(self.targets),
        }
        return {"format": FORMAT, **plain, **listed}

    @classmethod
    def from_json(cls, value: object) -> "TableReference":
        """Read the rule. Raises `ScoringInputError` (``bad_reference``, ``bad_schema`` and such)."""
        known = {field.name for field in fields(cls)}
        if not isinstance(value, dict) or value.get("format") != FORMAT or set(value) - known - {"format"}:
            raise _bad(f"it is not a mapping of format {FORMAT} with {', '.join(sorted(known))}")
        absent = {"id_column", "targets", "metrics", "schema"} - set(value)
        if absent:
            raise _bad(f"{', '.join(sorted(absent))} is missing")
        given = {name: value[name] for name in known & set(value)}
        given["metrics"] = tuple(_read_metric(metric) for metric in given["metrics"])
        given["schema"] = TableSchema.from_json(given["schema"])
        given["slices"] = _read_slices(given.get("slices", []))
        return cls(**{**given, "targets": tuple(given["targets"])})


def _read_metric(value: object) -> ChosenMetric:
    known = {field.name for field in fields(ChosenMetric)}
    if not isinstance(value, dict) or "name" not in value or set(value) - known:
        raise _bad(f"a metric is not a mapping with {', '.join(sorted(known))}")
    return ChosenMetric(**value)


def _read_slices(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise _bad("slices is not a list of columns")
    if len(value) > MAX_SLICINGS or len(set(value)) < len(value):
        raise _bad(f"slices names a column twice, or more than {MAX_SLICINGS}")
    return tuple(value)


def _bad(what: str) -> ScoringInputError:
    return bad_description(TABLE_DESCRIPTION, what)


def reference_for(
    solution: pl.DataFrame,
    chosen: Sequence[ChosenMetric],
    *,
    id_column: str,
    targets: Sequence[str],
    usage_column: str | None = None,
    weight: str | None = None,
    group: str | None = None,
    per_sample: bool = False,
    schema: TableSchema | None = None,
    slices: Sequence[str] = (),
) -> TableReference:
    """The rule for a solution and these metrics, once they were seen to fit.

    Parameters
    ----------
    chosen : the first metric decides which columns a team predicts; those of the others must be the same
    schema : of a team's table, for a metric of one's own; by default as the target columns
    slices : columns whose values get scores of their own

    Raises `ScoringInputError` with what does not fit.

    >>> solution = pl.DataFrame({"id": [1, 2], "price": [2.0, 3.0]})
    >>> reference_for(solution, [ChosenMetric("mae")], id_column="id", targets=["price"]).schema.names
    ('id', 'price')
    """
    read_ids(solution, id_column)
    for name in slices:
        require_column(solution, name)
    schemas = [_schema_for_metric(solution, metric, id_column, targets, schema) for metric in chosen]
    if not schemas:
        raise ScoringInputError("bad_parameter", "metrics", "there is none", "choose at least one")
    for metric, other in zip(chosen, schemas, strict=True):
        if other != schemas[0]:
            what = f"it needs other predictions than {chosen[0].name}"
            raise ScoringInputError("bad_parameter", metric.name, what, "choose metrics of one kind")
    keys = [metric.key for metric in chosen]
    if len(set(keys)) < len(keys):
        raise ScoringInputError("bad_parameter", "metrics", "two have the same key", "give each a key of its own")
    given = {"usage_column": usage_column, "weight": weight, "group": group}
    return TableReference(
        id_column, tuple(targets), tuple(chosen), schemas[0], **given, per_sample=per_sample, slices=tuple(slices)
    )


def _schema_for_metric(
    solution: pl.DataFrame, metric: ChosenMetric, id_column: str, targets: Sequence[str], given: TableSchema | None
) -> TableSchema:
    if given is not None:
        return given
    if metric.is_own:
        for name in (id_column, *targets):
            require_column(solution, name)
        truth = solution.select(id_column, *targets)
        return schema_like(truth.with_columns(selectors.numeric().fill_null(0)), id_column)  # numbers are never empty
    return schema_for(
        solution, metrics.metric(metric.name), id_column=id_column, targets=targets, parameters=metric.parameters
    )


def write(folder: Path, solution: pl.DataFrame, reference: TableReference, *, metric_file: bytes | None = None) -> Path:
    """Write the reference folder: solution as Parquet, description, own metric; returns its path.

    >>> import tempfile
    >>> solution = pl.DataFrame({"id": [1, 2], "price": [2.0, 3.0]})
    >>> known = reference_for(solution, [ChosenMetric("mae")], id_column="id", targets=["price"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(Path(folder), solution, known)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['metric.json', 'solution.parquet']
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_table(solution, folder / f"{SOLUTION}.parquet")
    if metric_file is not None:
        (folder / OWN_METRIC).write_bytes(metric_file)
    return write_description(folder / TABLE_DESCRIPTION, reference.as_json())


def read(folder: Path) -> tuple[TableReference, pl.DataFrame]:
    """The description and the solution of a reference folder, its id column as `read_ids` gives it.

    Raises `ScoringInputError` (``bad_reference`` and such): the organizer's to fix.

    >>> import tempfile
    >>> solution = pl.DataFrame({"id": [1, 2], "price": [2.0, 3.0]})
    >>> known = reference_for(solution, [ChosenMetric("mae")], id_column="id", targets=["price"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write(Path(folder), solution, known)
    ...     read(Path(folder))[0] == known
    True
    """
    reference = TableReference.from_json(read_description(folder / TABLE_DESCRIPTION))
    solution = read_table(_solution(folder))
    for name in reference.slices:
        if name not in solution.columns:
            raise bad_reference(name, "there is no such column, and slices names it")
    return reference, solution.with_columns(read_ids(solution, reference.id_column).alias(reference.id_column))


def _solution(folder: Path) -> Path:
    files = [
        path for path in sorted(folder.iterdir()) if path.name.startswith(f"{SOLUTION}.") and is_table_name(path.name)
    ]
    if len(files) != 1:
        raise ScoringInputError(
            "bad_reference", SOLUTION, f"there are {len(files)} files of that name", "give one, such as solution.csv"
        )
    return files[0]


def solution_parts(reference: TableReference, solution: pl.DataFrame) -> dict[str, pl.Series]:
    """The rows of each part: ``public`` and ``private``, or one part under the name ``""``.

    >>> sorted(solution_parts(TableReference("id", (), (), None, "Usage"), pl.DataFrame({"Usage": ["Public", "Private"]})))
    ['private', 'public']
    """
    if reference.usage_column is None:
        return {"": pl.Series([True], dtype=pl.Boolean).new_from_index(0, solution.height)}
    usage = read_usage(solution, reference.usage_column)
    parts = {name.lower(): usage == name for name in USAGES[:2] if (usage == name).any()}
    return parts if len(parts) > 1 else {"": next(iter(parts.values()))}


def without_usage(reference: TableReference, solution: pl.DataFrame) -> pl.DataFrame:
    """The solution without the column that says which part a row belongs to.

    >>> solution = pl.DataFrame({"id": [1], "price": [2.0], "Usage": ["Public"]})
    >>> without_usage(TableReference("id", ("price",), (), schema_like(solution, "id"), "Usage"), solution).columns
    ['id', 'price']
    """
    absent = [name for name in reference.targets if name not in solution.columns]
    if absent:
        raise bad_reference(absent[0], "there is no such column")
    return solution.drop(reference.usage_column or USAGE, strict=False)
