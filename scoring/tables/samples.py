"""An organizer's sample submission: if it fits the solution."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from scoring.errors import ScoringInputError
from scoring.tables.check import read_reordered
from scoring.tables.matching import THE_SAMPLE
from scoring.tables.schema import TableSchema

_SAME_IDS: Final = "give both files the same ids"
_FOR_ORGANIZERS: Final = {
    "missing_ids": f"the solution has more rows than the sample: {_SAME_IDS}",
    "unknown_ids": f"the solution has no such rows: {_SAME_IDS}",
}


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
        raise ScoringInputError(
            error.code, ", ".join(filter(None, (THE_SAMPLE, error.where))), error.what, right
        ) from error
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
