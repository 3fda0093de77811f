"""Commands on tables: check one, try a metric of one's own."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables.align import read_ids
from scoring.tables.check import TableReport, check_table, read_reordered
from scoring.tables.columns import schema_like
from scoring.tables.own_metric import MetricRefused, OwnMetric
from scoring.tables.reading.files import read_table
from scoring.tables.schema import SchemaDocument, TableSchema
from scoring.tables.splitting import read_usage, usage_column


def check_file(path: Path, *, sample: Path | None, schema: Path | None) -> TableReport:
    """A report on a table of predictions, given the sample submission, a schema, or both.

    Raises `ScoringInputError` with what is wrong.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "p.csv"
    ...     _ = path.write_text("id,price\\n1,2.5\\n2,3.5\\n")
    ...     check_file(path, sample=path, schema=None).rows
    2
    """
    if sample is None and schema is None:
        raise ScoringInputError("missing_input", "the sample", "it is missing", "give --sample, --schema or both")
    shown = None if sample is None else _sample(sample)
    table_schema = _schema(schema, shown)
    ids = None if shown is None else read_ids(shown, table_schema.id_column)
    return check_table(path, table_schema, ids)


def find_fault(path: str, file_name: str, schema: SchemaDocument, sample: tuple[str, str] | None) -> dict[str, str]:
    """Code and message of a table's fault, empty for a valid one; for a process that speaks JSON.

    `file_name` is its owner's name for it, `sample` the path and the name of the sample submission.

    >>> find_fault("missing.csv", "missing.csv", {"id_column": "id", "columns": [{"name": "price"}]}, None)["code"]
    'no_file'
    """
    try:
        table_schema = TableSchema.from_json(schema)
        ids = None if sample is None else read_ids(_sample(Path(sample[0]), sample[1]), table_schema.id_column)
        check_table(Path(path), table_schema, ids, filename=file_name)
    except ScoringInputError as error:
        return {"code": error.code, "message": str(error)}
    return {}


def find_sample_fault(
    path: str, file_name: str, schema: SchemaDocument, solution: tuple[str, str] | None
) -> dict[str, str]:
    """Like `find_fault`, for an organizer's sample submission, whose ids are those of the solution.

    >>> find_sample_fault("missing.csv", "missing.csv", {"id_column": "id", "columns": [{"name": "price"}]}, None)["code"]
    'no_file'
    """
    try:
        table_schema = TableSchema.from_json(schema)
        check_table(Path(path), table_schema, filename=file_name)
        if solution is not None:
            ids = read_ids(read_table(Path(solution[0]), filename=solution[1]), table_schema.id_column)
            check_table(Path(path), table_schema, ids, filename=file_name)
    except ScoringInputError as error:
        return {"code": error.code, "message": str(error).replace("the sample submission", "the solution")}
    return {}


def _sample(path: Path, filename: str | None = None) -> pl.DataFrame:
    try:
        return read_table(path, filename=filename)
    except ScoringInputError as error:
        raise ScoringInputError(
            "bad_reference", "the sample submission", str(error).rstrip("."), "ask the organizers for a right one"
        ) from error


def _schema(path: Path | None, sample: pl.DataFrame | None) -> TableSchema:
    if path is None:
        assert sample is not None  # asked above
        return schema_like(sample, sample.columns[0])
    try:
        return TableSchema.from_json(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        if isinstance(error, ScoringInputError):
            raise
        raise ScoringInputError("bad_schema", path.name, f"it cannot be read ({error})", "give a JSON file") from error


def try_metric(
    metric: Path,
    solution: Path,
    sample: Path,
    *,
    id_column: str | None = None,
    parameters: Mapping[str, object] | None = None,
) -> dict[str, float]:
    """Scores of the sample by an organizer's metric file, for each part, and the seconds it took.

    Raises `ScoringInputError`; what the team would read has the code ``metric_refused``.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric, table = Path(folder) / "metric.py", Path(folder) / "p.csv"
    ...     _ = metric.write_text("def score(solution, submission, row_id_column_name):\\n    return 0.5\\n")
    ...     _ = table.write_text("id,price\\n1,2.5\\n")
    ...     try_metric(metric, table, table)["score"]
    0.5
    """
    own, truth, shown = OwnMetric(metric), read_table(solution), read_table(sample)
    id_name = id_column or shown.columns[0]
    ids = read_ids(truth, id_name)
    predictions = read_reordered(sample, schema_like(shown, id_name), ids)
    started, scores = time.perf_counter(), {}
    for part, chosen in _parts(truth).items():
        rows = truth.filter(chosen).drop(usage_column(truth) or [])
        try:
            scores[f"score{part}"] = own.score(rows, predictions.filter(chosen), id_name, parameters)
        except MetricRefused as refusal:
            raise ScoringInputError(
                "metric_refused", "score", f"it tells the team: {refusal}", "fix the sample or the metric"
            ) from refusal
    return {**scores, "seconds": round(time.perf_counter() - started, 3)}


def _parts(solution: pl.DataFrame) -> dict[str, pl.Series]:
    name = usage_column(solution)
    if name is None:
        return {"": pl.repeat(True, solution.height, eager=True)}
    usage = read_usage(solution, name)
    return {f"_{part.lower()}": usage == part for part in ("Public", "Private") if (usage == part).any()}
