"""Descriptions of the tables that participants get."""

from collections.abc import Mapping
from typing import ClassVar, Final

from django.core.exceptions import ValidationError

from competitions.catalog.models.sections.section import Section
from core.fields import SHORT_TEXT, LongTextField

MOST_COLUMNS: Final = 200


def read_descriptions(text: str) -> dict[str, str]:
    """The meaning of each column, from lines such as `price: in euros`; names without one are left out.

    >>> read_descriptions("id:\\nprice: in euros, with tax: yes")
    {'price': 'in euros, with tax: yes'}
    """
    parts = (line.partition(":") for line in text.splitlines())
    return {name.strip(): meaning.strip() for name, _, meaning in parts if name.strip() and meaning.strip()}


def validate_descriptions(text: str) -> None:
    """Refuse lines without a name and a colon, a name twice, and more lines than a page shows."""
    lines = [line for line in text.splitlines() if line.strip()]
    names = [line.partition(":")[0].strip() for line in lines]
    wrong = next((line for line, name in zip(lines, names, strict=True) if ":" not in line or not name), None)
    if wrong is not None:
        raise ValidationError(f"Write a column's name, a colon and what it means on each line; “{wrong[:60]}” is none.")
    twice = next((name for name in names if names.count(name) > 1), None) if len(names) <= MOST_COLUMNS else None
    if twice is not None:
        raise ValidationError(f"The column “{twice[:60]}” is described twice.")
    if len(names) > MOST_COLUMNS:
        raise ValidationError(f"Describe {MOST_COLUMNS} columns at most; these are {len(names)}.")


class DataSection(Section):
    column_descriptions = LongTextField(
        "columns",
        max_length=SHORT_TEXT,
        blank=True,
        default="",
        db_default="",
        validators=[validate_descriptions],
        help_text=(
            "What the columns of the tables mean, for the Data page. One per line: name, colon and meaning, such as "
            "price: in euros, without tax."
        ),
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {"Data": ("column_descriptions",)}
    api: ClassVar[tuple[str, ...]] = ("column_descriptions",)
    bundle: ClassVar[Mapping[str, str]] = {"column_descriptions": "podium.column_descriptions"}

    class Meta:
        abstract = True

    @property
    def described_columns(self) -> dict[str, str]:
        """The meaning of each column that is described."""
        return read_descriptions(self.column_descriptions)
