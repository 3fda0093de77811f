"""The times at which a phase takes submissions."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final

from django.core.validators import MaxValueValidator
from django.db import models

from competitions.catalog.models.sections.section import Section

LAST: Final = datetime.max.replace(tzinfo=UTC)


def later(at: datetime, by: timedelta) -> datetime:
    """The instant `by` after another; people write the end of 9999 for "never", after which there is none.

    >>> later(LAST, timedelta(minutes=15)) == LAST
    True
    """
    return at + min(by, LAST - at)


class ScheduleSection(Section):
    opens_at = models.DateTimeField()
    closes_at = models.DateTimeField(null=True, blank=True, help_text="Empty: open for ever.")
    upload_grace_minutes = models.PositiveSmallIntegerField(
        "grace for uploads (minutes)",
        default=15,
        validators=[MaxValueValidator(1440)],
        help_text="An upload that began before the end counts if it is complete and submitted within these minutes after the end, and "
        "before any reveal.",
    )
    accepts_late = models.BooleanField(
        "accepts late submissions",
        default=False,
        help_text="After the end, submissions still run and are scored; they are marked as late and never ranked.",
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Dates (UTC)": ("opens_at", "closes_at", "upload_grace_minutes", "accepts_late")
    }
    api: ClassVar[tuple[str, ...]] = ("opens_at", "closes_at", "upload_grace_minutes")
    bundle: ClassVar[Mapping[str, str]] = {
        "opens_at": "start",
        "closes_at": "end",
        "upload_grace_minutes": "podium.upload_grace_minutes",
        "accepts_late": "podium.accepts_late",
    }

    class Meta:
        abstract = True

    @property
    def upload_grace(self) -> timedelta:
        return timedelta(minutes=self.upload_grace_minutes)

    @property
    def grace_ends_at(self) -> datetime | None:
        """Until when a submission may still count; None: for ever."""
        return later(self.closes_at, self.upload_grace) if self.closes_at else None

    def is_settled(self, now: datetime) -> bool:
        """True once no further submission can count: the phase has closed, and the grace for uploads is over."""
        return self.grace_ends_at is not None and self.grace_ends_at <= now

    def is_open(self, at: datetime) -> bool:
        """True when a submission whose upload began at `at` is in time."""
        return self.opens_at <= at and (self.closes_at is None or at < self.closes_at)

    def takes_late(self, at: datetime) -> bool:
        """True if a submission begun at `at` is too late to be ranked but still accepted."""
        return self.accepts_late and self.closes_at is not None and self.closes_at <= at
