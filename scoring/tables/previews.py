"""A table at a first look: its first rows, and its columns with their kinds and likely roles."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, Required, TypedDict, cast

from scoring.tables.schema import without_defaults

Recognised = Literal["integer", "number", "text"]
Kind = Literal["binary", "class", "count", "number", "text", "constant", "unique"]
Pattern = Literal["", "run lengths", "boxes"]

MAX_CLASSES: Final = 200
SHOWN_COLUMNS: Final = 50
SHOWN_CLASSES: Final = 20
SHOWN_CHARACTERS: Final = 80


@dataclass(frozen=True)
class ColumnPreview:
    """One column at a first look: `kind` as a target, `pattern` of its texts.

    `minimum` and `maximum` are None where they are not finite. `examples` and `classes` (its values, of `SHOWN_CLASSES`
    at most) are cut to `SHOWN_CHARACTERS`, and there for the first `SHOWN_COLUMNS` columns alone; so is `repeats`, which
    names the first values that are there again, where most are not, with their places.
    """

    name: str
    type: Recognised
    kind: Kind
    distinct: int
    missing: int
    examples: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    classes: tuple[str, ...] = ()
    pattern: Pattern = ""
    repeats: str = ""


class ColumnDocument(TypedDict, total=False):
    """The fields of a `ColumnPreview`, as they stand in JSON; what is as by default is left out."""

    name: Required[str]
    type: Required[Recognised]
    kind: Required[Kind]
    distinct: Required[int]
    missing: Required[int]
    examples: list[str]
    minimum: float
    maximum: float
    classes: list[str]
    pattern: Pattern
    repeats: str


class PreviewDocument(TypedDict):
    """A recognised table, as it stands in JSON."""

    format: str
    rows: int
    columns: list[ColumnDocument]
    first_rows: list[list[str]]
    id_column: str | None
    targets: list[str]
    usage_column: str | None


@dataclass(frozen=True)
class TablePreview:
    """A recognised table: columns, the first rows as text, and proposals for the roles of its columns.

    The first rows hold the first `SHOWN_COLUMNS` cells, each cut to `SHOWN_CHARACTERS`.
    """

    format: str
    rows: int
    columns: tuple[ColumnPreview, ...]
    first_rows: tuple[tuple[str, ...], ...]
    id_column: str | None
    targets: tuple[str, ...]
    usage_column: str | None

    @classmethod
    def from_json(cls, document: PreviewDocument) -> "TablePreview":
        """The preview that `as_json` wrote."""
        columns = (cast("dict[str, Any]", column) for column in document["columns"])
        return cls(
            document["format"],
            document["rows"],
            tuple(ColumnPreview(**column) for column in columns),
            tuple(map(tuple, document["first_rows"])),
            document["id_column"],
            tuple(document["targets"]),
            document["usage_column"],
        )

    def column(self, name: str) -> ColumnPreview:
        """The column of that name; KeyError for another."""
        return {column.name: column for column in self.columns}[name]

    def as_json(self) -> PreviewDocument:
        """Plain values, for a page or a row that keeps them; of a column what is as by default is left out."""
        columns = [without_defaults(column) for column in self.columns]
        return cast("PreviewDocument", asdict(self) | {"columns": columns})
