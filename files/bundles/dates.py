"""Dates as bundles write them: many forms, read with their time and offset."""

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

from dateutil import parser

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
        raise ValueError(f"{text[:80]!r} is no date; {_RIGHT}") from error
    if len(readings) != 1:
        raise ValueError(f"{text[:80]!r} is no whole date; {_RIGHT}")
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
