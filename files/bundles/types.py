"""Values as bundles write them: instants, one line of text, words in any case, names of images."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Annotated, Any, Final

from dateutil import parser
from pydantic import AfterValidator, BeforeValidator, Field

from files.text import has_control_characters, is_number, on_one_line
from workers.protocol.images import parse_image

# A text that leaves out year, month or day takes it from these, and then the two readings differ.
_TEMPLATES: Final = (datetime(2000, 1, 1), datetime(2004, 2, 2))  # noqa: DTZ001  only to tell what was left out
_RIGHT: Final = "write it as 2027-03-31 13:30:00, in UTC or with an offset such as +02:00"


def read_instant(text: str) -> datetime:
    """The instant of a text, in UTC. Without an offset it is UTC; `8-7-2027` is 7 August.

    Raises `ValueError` with a sentence that says what would be right.

    >>> read_instant("2019-12-12 13:30:00+02:00").isoformat()
    '2019-12-12T11:30:00+00:00'
    >>> read_instant("31-12-2026").isoformat()
    '2026-12-31T00:00:00+00:00'
    """
    try:
        readings = {_aware(parser.parse(text, default=default, tzinfos=_zone)) for default in _TEMPLATES}
    except _UnknownZone as error:
        raise ValueError(f"{text!r} names the time zone {error}, which is not known; {_RIGHT}") from error
    except (ValueError, OverflowError, TypeError) as error:
        raise ValueError(f"{text[:80]!r} is not a date; {_RIGHT}") from error
    if len(readings) != 1:
        raise ValueError(f"{text[:80]!r} is not a whole date; {_RIGHT}")
    return readings.pop()


class _UnknownZone(ValueError):
    """Letters behind the time that stand for no zone known here."""


def _zone(name: str | None, offset_s: int | None) -> tzinfo | None:
    if offset_s is not None:
        return timezone(timedelta(seconds=offset_s))
    if name is None or name.upper() in ("UTC", "GMT", "Z"):
        return None if name is None else UTC
    raise _UnknownZone(name)


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


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


def _file(value: Any) -> Any:
    """The path of a file or folder; an empty one names none."""
    return None if value == "" else value


def _image(value: str) -> str:
    if value := value.strip():
        parse_image(value)
    return value


Line = Annotated[str, BeforeValidator(one_line)]
Instant = Annotated[datetime, BeforeValidator(_instant)]
OptionalInstant = Annotated[datetime | None, BeforeValidator(_optional_instant)]
Index = Annotated[int | float | str, BeforeValidator(_index)]
OptionalFile = Annotated[str | None, BeforeValidator(_file)]
Indexes = Annotated[list[int] | None, BeforeValidator(_indexes)]
Image = Annotated[str, Field(max_length=200), AfterValidator(_image)]
