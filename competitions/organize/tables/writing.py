"""Writing what a competition is made of: reference data, public data, sample and baseline."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from competitions.organize.answers import BASELINE, SAMPLE, SAMPLE_ROLE, Plan, Split
from scoring.errors import ScoringInputError
from scoring.metrics import metric as metric_named
from scoring.tables import table_reference
from scoring.tables.align import read_ids
from scoring.tables.baselines import constant_baseline, sample_submission
from scoring.tables.check import check_table
from scoring.tables.columns import require_column, schema_like
from scoring.tables.matching import THE_SAMPLE, match_columns
from scoring.tables.reading.encodings import wide_encoding, write_as_utf8
from scoring.tables.reading.file_types import join_values, table_ending
from scoring.tables.reading.files import LIMIT_BYTES, read_table
from scoring.tables.samples import require_sample, schema_with_names
from scoring.tables.schema import TableSchema
from scoring.tables.splitting import USAGE, read_usage, with_usage, with_usage_by_time

PLAIN_TEXTS: Final = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson")


def write_files(target: str, plan: Plan) -> dict[str, object]:
    """Write the files; returns the submissions' schema, parts and sample. Raises `ScoringInputError`."""
    folder = Path(target)
    solution = divide(_table(plan, "solution"), plan["split"], plan["targets"])
    chosen = [table_reference.ChosenMetric(**metric) for metric in plan["metrics"]]
    reference = table_reference.reference_for(
        solution,
        chosen,
        id_column=plan["id_column"],
        targets=plan["targets"],
        usage_column=USAGE if USAGE in solution.columns else None,
        weight=plan["weight"],
        group=plan["group"],
        slices=plan["slices"],
    )
    own = Path(plan["files"]["metric"][0]).read_bytes() if chosen[0].is_own else None
    if SAMPLE_ROLE in plan["files"]:
        reference = replace(reference, schema=_schema_of_sample(reference, plan))
        sample = _take_sample(folder, solution, reference, plan)
    else:
        sample = _make_sample(folder, solution, reference)
        if own is None:
            _baseline(solution, chosen[0], plan).write_csv(folder / BASELINE)
        else:
            shutil.copyfile(sample, folder / BASELINE)
    table_reference.write(folder / "reference_data", solution, reference, metric_file=own)
    _write_public(folder / "public_data", sample, plan)
    return {
        "schema": reference.schema.as_json(),
        "parts": list(table_reference.solution_parts(reference, solution)),
        "sample": sample.name,
    }


def _schema_of_sample(reference: table_reference.TableReference, plan: Plan) -> TableSchema:
    """The schema with the sample's columns; but for a metric file, called by what they answer."""
    sample = _table(plan, SAMPLE_ROLE)
    require_column(sample, reference.id_column)
    if reference.metrics[0].is_own:
        return schema_like(sample, reference.id_column)
    names = plan["columns"] or _columns_by_name(sample, reference.schema)
    return schema_with_names(reference.schema, names)


def _columns_by_name(sample: pl.DataFrame, schema: TableSchema) -> Mapping[str, str]:
    """The sample's columns by name; nobody was asked, so none is guessed. Raises `ScoringInputError`."""
    expected = {column.name: column.type != "text" for column in schema.columns}
    given = {name: kind.is_numeric() for name, kind in sample.schema.items() if name != schema.id_column}
    match = match_columns(expected, given)
    if match.guessed:
        what = f"no name says which column answers {join_values([ascii(name) for name in match.guessed])}"
        raise ScoringInputError("missing_column", THE_SAMPLE, what, "name its columns as the classes are called")
    return match.columns


def _take_sample(folder: Path, solution: pl.DataFrame, reference: table_reference.TableReference, plan: Plan) -> Path:
    """Copy the organizer's sample once it was seen that a team could send it in."""
    path, name = plan["files"][SAMPLE_ROLE]
    ids, columns = read_ids(solution, reference.id_column), reference.schema.columns
    targets = reference.targets if len(reference.targets) == len(columns) else reference.targets[:1]
    require_sample(Path(path), name, reference.schema, solution, ids, targets)
    return _copy_table(Path(path), name, folder / f"{SAMPLE_ROLE}{table_ending(name)}")


def _copy_table(path: Path, name: str, target: Path) -> Path:
    """Copy a table for teams; a plain text that is UTF-16 becomes UTF-8, which every program reads."""
    encoding = wide_encoding(path) if table_ending(name) in PLAIN_TEXTS else None
    if encoding is None:
        shutil.copyfile(path, target)
    else:
        write_as_utf8(path, encoding, target, LIMIT_BYTES)
    return target


def _make_sample(folder: Path, solution: pl.DataFrame, reference: table_reference.TableReference) -> Path:
    """Write a constant sample. Raises `ScoringInputError` where what teams must send in cannot be a CSV."""
    path = folder / SAMPLE
    sample_submission(solution, reference.schema).write_csv(path)
    try:
        check_table(path, reference.schema, read_ids(solution, reference.id_column))
    except ScoringInputError as error:
        what = f"the sample that is made from it is not a valid table ({error.where}: {error.what})"
        raise ScoringInputError(error.code, "the solution", what, "upload a sample submission of yours") from error
    return path


def _table(plan: Plan, role: str) -> pl.DataFrame:
    path, name = plan["files"][role]
    return read_table(Path(path), filename=name)


def divide(solution: pl.DataFrame, split: Split, targets: list[str]) -> pl.DataFrame:
    """The solution with its parts in the column `Usage`; without that column where there is one part."""
    how = split["how"]
    if how == "column":
        column = str(split["column"])
        usage = read_usage(solution, column)
        return solution.drop(column).with_columns(usage)
    plain = solution.drop(USAGE, strict=False)
    if how == "none":
        return plain
    if how == "time":
        return with_usage_by_time(plain, column=split["time"], cut=datetime.fromisoformat(split["cut"]))
    by = split["by"] or targets[0]
    named = {"stratified": {"stratify": by}, "grouped": {"group": by}}.get(how, {})
    return with_usage(plain, fraction=split["percent"] / 100, seed=split["seed"], **named)


def _baseline(solution: pl.DataFrame, chosen: table_reference.ChosenMetric, plan: Plan) -> pl.DataFrame:
    """The best constant, from the training data if there are any: it is submitted, never published."""
    training = _table(plan, "training") if "training" in plan["files"] else None
    return constant_baseline(
        solution,
        metric_named(chosen.name),
        id_column=plan["id_column"],
        targets=plan["targets"],
        parameters=chosen.parameters,
        train=training,
    )


def _write_public(folder: Path, sample: Path, plan: Plan) -> None:
    """Write the files that participants download: the sample and other public ones, by role."""
    folder.mkdir()
    shutil.copyfile(sample, folder / sample.name)
    for role in ("training", "test"):
        if role in plan["files"]:
            path, name = plan["files"][role]
            _copy_table(Path(path), name, folder / f"{role}{table_ending(name)}")
