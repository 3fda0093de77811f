"""Calendar months in UTC, by which use is counted."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from core.refusals import RefusalKind

MONTH_INVALID = RefusalKind(
    400, "month_invalid", "{month!r} is no month. Write the year and the month, such as 2026-11."
)


@dataclass(frozen=True, order=True)
class Month:
    """A month of a year, 1 to 12."""

    year: int
    number: int

    @classmethod
    def at(cls, instant: datetime) -> "Month":
        """The month of this instant."""
        day = instant.astimezone(UTC)
        return cls(day.year, day.month)

    @classmethod
    def parse(cls, text: str) -> "Month":
        """The month that is written like 2026-11. Raises `MONTH_INVALID`."""
        match = re.fullmatch(r"([0-9]{4})-(0[1-9]|1[0-2])", text)
        if match is None or not "1970" <= match[1] < "9999":
            raise MONTH_INVALID(month=text[:60])
        return cls(int(match[1]), int(match[2]))

    @property
    def before(self) -> "Month":
        return Month(self.year - 1, 12) if self.number == 1 else Month(self.year, self.number - 1)

    @property
    def after(self) -> "Month":
        return Month(self.year + 1, 1) if self.number == 12 else Month(self.year, self.number + 1)

    @property
    def begins_at(self) -> datetime:
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def ends_at(self) -> datetime:
        """The first instant of the next month."""
        return self.after.begins_at

    @property
    def title(self) -> str:
        """As in a sentence: November 2026."""
        return f"{self.begins_at:%B} {self.year}"

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"
