"""Values as bundles write them: instants, one line of text, words in any case, names of images."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from files.bundles.dates import read_instant
from files.text import has_control_characters, is_number, on_one_line
from workers.protocol.images import parse_image


def one_line(value: Any) -> Any:
    """A text without its line breaks: YAML's blocks end with one, and folded ones may hold some."""
    return on_one_line(value).strip() if isinstance(value, str) and has_control_characters(value) else value


def lower(value: Any) -> Any:
    """A word in lower case; anything else as it is."""
    return value.strip().lower() if isinstance(value, str) else value


def _instant(value: Any) -> Any:
    return value if isinstance(value, datetime) else read_instant(str(value))


def _optional_instant(value: Any) -> Any:
    return None if value is None or str(value).strip().lower() in ("", "null", "none") else _instant(value)


def _index(value: Any) -> Any:
    """A whole number, also in quotes: bundles write `index: "1"` and `tasks: [1]`."""
    return int(value) if isinstance(value, str) and is_number(value.strip()) else value


def _indexes(value: Any) -> Any:
    """A list, one number alone, or numbers with commas."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _image(value: str) -> str:
    if value := value.strip():
        parse_image(value)
    return value


Line = Annotated[str, BeforeValidator(one_line)]
Instant = Annotated[datetime, BeforeValidator(_instant)]
OptionalInstant = Annotated[datetime | None, BeforeValidator(_optional_instant)]
Index = Annotated[int | float | str, BeforeValidator(_index)]
Indexes = Annotated[list[int] | None, BeforeValidator(_indexes)]
Image = Annotated[str, Field(max_length=200), AfterValidator(_image)]
