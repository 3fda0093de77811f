"""A new solution beside the one in force: what differs, and the reference data with it."""

import shutil
import tempfile
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Final

import polars as pl

from competitions.organize.answers import SolutionFacts
from scoring.errors import ScoringInputError
from scoring.metrics import metric as metric_named
from scoring.reference import OWN_METRIC, TABLE_DESCRIPTION
from scoring.tables import table_reference
from scoring.tables.align import read_ids
from scoring.tables.columns import schema_for
from scoring.tables.reading.file_types import join_values
from scoring.tables.reading.files import SHOWN, open_table, read_source, require_rows
from scoring.tables.recognise import require_plain_numbers
from scoring.tables.scores import score_table
from scoring.tables.splitting import USAGE, read_usage, usage_column
from scoring.uploads import Refused

THE_FILE: Final = "the new solution"
Reference = table_reference.TableReference


def compare_solution(
    reference: str, path: str, file_name: str, sample: list[str] | None, target: str
) -> dict[str, SolutionFacts]:
    """Compare a new solution with that of the zip `reference`, and write one with the new to `target`.

    Raises `ScoringInputError` where teams' tables could not be scored with it.
    """
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "reference"
        with zipfile.ZipFile(reference) as archive:
            unpack_tables(archive, folder)
            rule, before = table_reference.read(folder)
            given = _read(Path(path), file_name, before, rule)
            after = _place_beside(rule, before, given)
            fresh = replace(rule, usage_column=USAGE if USAGE in after.columns else None)
            _require_same_parts(
                table_reference.solution_parts(rule, before), table_reference.solution_parts(fresh, after)
            )
            _require_same_schema(rule, after)
            moved = _count_moved(_parts(rule, before), _parts(fresh, after))
            facts = _differences(rule, before, after, moved=moved, left_out=before.height - given.height)
            for path_before in folder.glob(f"{table_reference.SOLUTION}.*"):
                path_before.unlink()
            metric_file = folder / OWN_METRIC
            own = metric_file.read_bytes() if metric_file.exists() else None
            table_reference.write(folder, after, fresh, metric_file=own)
            _try_on_sample(fresh, folder, sample)
            _pack(archive, folder, Path(target))
    return {"facts": facts}


def _is_table_part(name: str) -> bool:
    return name in (TABLE_DESCRIPTION, OWN_METRIC) or name.startswith(f"{table_reference.SOLUTION}.")


def unpack_tables(archive: zipfile.ZipFile, folder: Path) -> None:
    """Unpack the solution, its description and the metric's file; the names have no path."""
    folder.mkdir()
    names = [name for name in archive.namelist() if _is_table_part(name) and "/" not in name and "\\" not in name]
    if TABLE_DESCRIPTION not in names:
        what = f"they hold no {TABLE_DESCRIPTION}, so nothing says what is scored"
        raise ScoringInputError("bad_reference", "the reference data", what, "upload new reference data as a zip")
    for name in names:
        with archive.open(name) as packed, (folder / name).open("wb") as file:
            shutil.copyfileobj(packed, file)


def _read(path: Path, file_name: str, before: pl.DataFrame, rule: Reference) -> pl.DataFrame:
    """The new table, its ids in the type of the present ones."""
    is_text = before[rule.id_column].dtype == pl.String
    with open_table(path, filename=file_name) as source:
        table = read_source(source, types={rule.id_column: pl.String()} if is_text else None)
        require_rows(table)
        require_plain_numbers(table, source)
        _require_columns(rule, before, table)
        ids = read_ids(table, rule.id_column, source.place)
    return table.with_columns(ids.cast(pl.String) if is_text else ids)


def _compared(rule: Reference, before: pl.DataFrame) -> list[str]:
    """The columns that scores may depend on: all of them where the metric is a file."""
    if any(metric.is_own for metric in rule.metrics):
        return [name for name in before.columns if name not in (rule.id_column, rule.usage_column)]
    return list(dict.fromkeys([*rule.targets, *filter(None, (rule.weight, rule.group)), *rule.slices]))


def _require_columns(rule: Reference, before: pl.DataFrame, table: pl.DataFrame) -> None:
    absent = [ascii(name) for name in (rule.id_column, *_compared(rule, before)) if name not in table.columns]
    if absent:
        there = f"it has {join_values([ascii(name) for name in table.columns], show=8)}"
        raise ScoringInputError("missing_column", THE_FILE, f"{join_values(absent)} is missing", there)


def _place_beside(rule: Reference, before: pl.DataFrame, given: pl.DataFrame) -> pl.DataFrame:
    """The new rows in the order of the present ones; rows that are left out stay, and count no more."""
    identity = rule.id_column
    if given[identity].dtype != before[identity].dtype:
        what = f"its ids are of another kind, such as {given[identity][0]!a} beside {before[identity][0]!a}"
        raise ScoringInputError("unknown_ids", THE_FILE, what, "give it the ids of the present solution")
    is_new = ~given[identity].is_in(before[identity].implode())
    if is_new.any():
        what = f"the present solution does not have {_ids(given[identity].filter(is_new))}"
        right = "leave them out: the tables that teams sent have no such rows"
        raise ScoringInputError("unknown_ids", THE_FILE, what, right)
    usage = _usage(rule, before, given)
    named = usage_column(given)
    plain = given.drop(named) if named is not None else given
    table = before.select(identity).join(plain.with_columns(usage), on=identity, how="left", maintain_order="left")
    is_left_out = ~before[identity].is_in(given[identity].implode())
    if is_left_out.any():
        table = _with_old_rows(table, before, is_left_out, _compared(rule, before))
    return table if rule.usage_column is not None or (table[USAGE] != "Public").any() else table.drop(USAGE)


def _usage(rule: Reference, before: pl.DataFrame, given: pl.DataFrame) -> pl.Series:
    """The part of each new row: as the file says, else as it is now."""
    if (named := usage_column(given)) is not None:
        return read_usage(given, named).alias(USAGE)
    if rule.usage_column is None:
        return pl.Series(USAGE, ["Public"]).new_from_index(0, given.height)
    now = before.select(rule.id_column, read_usage(before, rule.usage_column).alias(USAGE))
    return given.select(rule.id_column).join(now, on=rule.id_column, how="left", maintain_order="left")[USAGE]


def _with_old_rows(
    table: pl.DataFrame, before: pl.DataFrame, is_left_out: pl.Series, compared: Sequence[str]
) -> pl.DataFrame:
    """The table with the present values in rows that the new file leaves out, marked as Ignored."""
    for name in compared:
        old = before[name].cast(table[name].dtype, strict=False)
        table = table.with_columns(table[name].zip_with(~is_left_out, old).alias(name))
    ignored = pl.Series(["Ignored"]).new_from_index(0, table.height)
    return table.with_columns(table[USAGE].zip_with(~is_left_out, ignored).alias(USAGE))


def _require_same_parts(present: Collection[str], coming: Collection[str]) -> None:
    """Refuse a solution with other parts, whose scores the boards do not have."""
    if set(present) == set(coming):
        return
    now, then = (", ".join(sorted(name or "one part" for name in parts)) for parts in (present, coming))
    what = f"its parts are {then}, and the boards show {now}"
    raise ScoringInputError(
        "unknown_class", THE_FILE, what, "mark its rows as the present solution does, or leave out Usage"
    )


def _require_same_schema(rule: Reference, after: pl.DataFrame) -> None:
    """Refuse a solution with which teams would have to send other tables, such as one with other classes."""
    first = rule.metrics[0]
    if first.is_own:
        return
    fresh = schema_for(
        after, metric_named(first.name), id_column=rule.id_column, targets=rule.targets, parameters=first.parameters
    )
    named = [replace(column, name=now.name) for column, now in zip(fresh.columns, rule.schema.columns, strict=False)]
    if len(fresh.columns) != len(rule.schema.columns) or tuple(named) != rule.schema.columns:
        what = f"the classes of {join_values([ascii(name) for name in rule.targets])} are others than before"
        raise ScoringInputError("unknown_class", THE_FILE, what, "keep to the classes that teams' tables know")


def _differences(
    rule: Reference, before: pl.DataFrame, after: pl.DataFrame, *, moved: int, left_out: int
) -> SolutionFacts:
    """Count what differs. Raises `ScoringInputError` where nothing does."""
    counts = dict[str, int]()
    differs = pl.Series([False]).new_from_index(0, before.height)
    for name in _compared(rule, before):
        is_other = _is_other(before[name], after[name])
        counts[name] = int(is_other.sum())
        differs |= is_other
    if not (differs.any() or moved or left_out):
        what = "it says the same as the present one in every row"
        raise ScoringInputError("bad_parameter", THE_FILE, what, "there is nothing to change")
    return {
        "rows": before.height,
        "differ": int(differs.sum()),
        "ids": [str(value)[:60] for value in before[rule.id_column].filter(differs).head(SHOWN)],
        "columns": {name: count for name, count in counts.items() if count},
        "moved": moved,
        "left_out": left_out,
    }


def _is_other(old: pl.Series, new: pl.Series) -> pl.Series:
    kind = pl.Float64 if old.dtype.is_numeric() and new.dtype.is_numeric() else pl.String
    return old.cast(kind).ne_missing(new.cast(kind))


def _parts(rule: Reference, table: pl.DataFrame) -> pl.Series:
    """The part of each row; all are public where no column says it."""
    if rule.usage_column is not None:
        return read_usage(table, rule.usage_column)
    return pl.Series(["Public"]).new_from_index(0, table.height)


def _count_moved(before: pl.Series, after: pl.Series) -> int:
    """Count rows of another part than before; those that count no more are counted as left out."""
    return int((before.ne_missing(after) & (after != "Ignored")).sum())


def _ids(ids: pl.Series) -> str:
    count = "the id" if len(ids) == 1 else f"{len(ids):,} ids:"
    return f"{count} {join_values([ascii(value) for value in ids.head(SHOWN)], total=len(ids))}"


def _try_on_sample(rule: Reference, folder: Path, sample: list[str] | None) -> None:
    """Score the sample, so that targets of another kind are found; no code of an organizer is run."""
    if sample is None or any(metric.is_own for metric in rule.metrics):
        return
    with tempfile.TemporaryDirectory() as parent:
        sent, output = Path(parent) / "sent", Path(parent) / "output"
        sent.mkdir()
        output.mkdir()
        shutil.copyfile(sample[0], sent / PurePath(sample[1]).name)
        try:
            score_table(folder, sent, output)
        except Refused:
            return  # a constant need not have a score


def _pack(archive: zipfile.ZipFile, folder: Path, target: Path) -> None:
    """A zip with the new tables, and all else as it was."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(folder.iterdir()):
            packed.write(path, path.name)
        for item in archive.infolist():
            if not item.is_dir() and not _is_table_part(item.filename):
                with archive.open(item) as old, packed.open(item.filename, "w", force_zip64=True) as copy:
                    shutil.copyfileobj(old, copy)
