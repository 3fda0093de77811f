"""An organizer's sample submission: which column answers which target, and if it fits the solution."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables.check import read_reordered
from scoring.tables.schema import TableSchema

THE_SAMPLE: Final = "the sample submission"
_SAME_IDS: Final = "give both files the same ids"
_FOR_ORGANIZERS: Final = {
    "missing_ids": f"the solution has more rows than the sample: {_SAME_IDS}",
    "unknown_ids": f"the solution has no such rows: {_SAME_IDS}",
}


@dataclass(frozen=True)
class ColumnMatch:
    """The sample's column for each column that is predicted; `guessed` are those that no name decided."""

    columns: Mapping[str, str]
    guessed: tuple[str, ...] = ()


def match_columns(expected: Mapping[str, bool], given: Mapping[str, bool]) -> ColumnMatch:
    """The column of a sample for each expected one: by its name, else by kind and order.

    The values say if a column holds numbers. Raises `ScoringInputError` (``wrong_shape``) unless there are as many.

    >>> match_columns({"price": True, "kind": False}, {"label": False, "Price": True}).columns
    {'price': 'Price', 'kind': 'label'}
    """
    if len(expected) != len(given):
        what = f"it has {_count(given, 'prediction column')}, and {_count(expected, 'column')} must be predicted"
        right = "choose targets and a metric that go with the sample, or upload another sample"
        raise ScoringInputError("wrong_shape", THE_SAMPLE, what, right)
    matched: dict[str, str] = {}
    for is_same in _BY_NAME:
        for name in [name for name in expected if name not in matched]:
            left = [column for column in given if column not in matched.values()]
            named = [column for column in left if is_same(_letters(name), _letters(column), name == column)]
            if len(named) == 1:
                matched[name] = named[0]
    rest = [name for name in expected if name not in matched]
    left = [column for column in given if column not in matched.values()]
    matched |= _by_kind(rest, left, expected, given)
    return ColumnMatch({name: matched[name] for name in expected}, tuple(rest) if len(rest) > 1 else ())


_BY_NAME: Final[tuple[Callable[[str, str, bool], bool], ...]] = (
    lambda name, column, is_equal: is_equal,
    lambda name, column, is_equal: name == column,
    lambda name, column, is_equal: bool(name and column) and (column.endswith(name) or name.endswith(column)),
)


def _letters(name: str) -> str:
    """The name without case and signs."""
    return "".join(character for character in name.casefold() if character.isalnum())


def _by_kind(
    rest: Sequence[str], left: Sequence[str], expected: Mapping[str, bool], given: Mapping[str, bool]
) -> dict[str, str]:
    """The columns that are left in their order, numbers for numbers as far as there are any."""
    matched: dict[str, str] = {}
    for holds_numbers in (True, False):
        names = [name for name in rest if expected[name] == holds_numbers]
        matched |= dict(zip(names, [column for column in left if given[column] == holds_numbers], strict=False))
    names = [name for name in rest if name not in matched]
    return matched | dict(zip(names, [column for column in left if column not in matched.values()], strict=True))


def _count(columns: Mapping[str, bool], what: str) -> str:
    shown = ", ".join(ascii(name)[:60] for name in list(columns)[:5])
    more = f" and {len(columns) - 5} more" if len(columns) > 5 else ""
    return f"{len(columns)} {what}{'' if len(columns) == 1 else 's'} ({shown}{more})" if columns else f"no {what}"


def schema_with_names(schema: TableSchema, names: Mapping[str, str]) -> TableSchema:
    """The schema with the columns called as the sample calls them.

    >>> from scoring.tables.schema import Column
    >>> schema_with_names(TableSchema("id", (Column("price"),)), {"price": "SalePrice"}).names
    ('id', 'SalePrice')
    """
    columns = tuple(replace(column, name=names[column.name]) for column in schema.columns)
    groups = tuple(tuple(names[name] for name in group) for group in schema.probabilities)
    return replace(schema, columns=columns, probabilities=groups)


def require_sample(
    path: Path, file_name: str, schema: TableSchema, solution: pl.DataFrame, ids: pl.Series, targets: Sequence[str]
) -> None:
    """Refuse a sample submission that teams could not send in, or that holds the answers.

    `targets` are the solution's columns that the schema's columns answer, in their order, where there is one for each.
    Raises `ScoringInputError` in words for the organizer.

    >>> import tempfile
    >>> from scoring.tables.schema import Column
    >>> solution = pl.DataFrame({"id": [1, 2], "price": [2.0, 3.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sample.csv"
    ...     _ = path.write_text("id,price\\n1,0\\n2,0\\n")
    ...     require_sample(path, "sample.csv", TableSchema("id", (Column("price"),)), solution, solution["id"], ["price"])
    """
    try:
        table = read_reordered(path, schema, ids, filename=file_name)
    except ScoringInputError as error:
        right = _FOR_ORGANIZERS.get(error.code, error.right)
        raise ScoringInputError(error.code, f"{THE_SAMPLE}, {error.where}", error.what, right) from error
    revealing = list(_columns_with_answers(table, schema, solution, targets))
    if revealing:
        what = f"its column {revealing[0]!a} holds the answers: in every row it is what the solution says"
        right = "teams download the sample, so give a constant, or leave it out and one is made"
        raise ScoringInputError("bad_reference", THE_SAMPLE, what, right)


def _columns_with_answers(
    table: pl.DataFrame, schema: TableSchema, solution: pl.DataFrame, targets: Sequence[str]
) -> Iterator[str]:
    """The columns that differ from row to row as their target does."""
    if len(targets) == len(schema.columns):
        for column, target in zip(schema.columns, targets, strict=True):
            given, truth = table[column.name], solution[target]
            kind = pl.Float64 if given.dtype.is_numeric() else pl.String
            if given.n_unique() > 1 and given.cast(kind).equals(truth.cast(kind, strict=False), check_names=False):
                yield column.name
    elif len(targets) == 1 and schema.probabilities:
        likeliest = table.select(pl.concat_list(list(schema.probabilities[0])).list.arg_max()).to_series()
        codes = solution[targets[0]].cast(pl.String).rank("dense")
        if likeliest.n_unique() > 1 and pl.DataFrame([likeliest, codes.alias("truth")]).n_unique() == codes.n_unique():
            yield schema.columns[0].name
