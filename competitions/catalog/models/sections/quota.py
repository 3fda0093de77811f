"""The quota of a team."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Final

from django.core.validators import MinValueValidator
from django.db import models

from competitions.catalog.models.sections.section import Section

# In a bundle 0 is unlimited, as on Codabench; nobody writes it here and means something else.
AT_LEAST_ONE: Final = MinValueValidator(1, "Leave it empty for unlimited. So that nobody submits, let the phase end.")


class Week(models.TextChoices):
    """The meaning of a week in a quota."""

    CALENDAR = "calendar", "from Monday 00:00 UTC"
    SLIDING = "sliding", "any seven days in a row"


@dataclass(frozen=True)
class Quota:
    """Submissions of a team; None: unlimited. Days are UTC."""

    max_submissions_per_day: int | None = None
    max_submissions_per_week: int | None = None
    quota_week: Week = Week.CALENDAR
    max_submissions: int | None = None


class QuotaSection(Section):
    max_submissions_per_day = models.PositiveIntegerField(
        null=True, blank=True, default=5, validators=[AT_LEAST_ONE], help_text="Empty: unlimited."
    )
    max_submissions_per_week = models.PositiveIntegerField(
        null=True, blank=True, validators=[AT_LEAST_ONE], help_text="Empty: unlimited."
    )
    quota_week = models.CharField("a week is", max_length=8, choices=Week, default=Week.CALENDAR)
    max_submissions = models.PositiveIntegerField(
        "max submissions in total",
        null=True,
        blank=True,
        default=100,
        validators=[AT_LEAST_ONE],
        help_text="Empty: unlimited.",
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {"Quota of a team": tuple(field.name for field in fields(Quota))}
    api: ClassVar[tuple[str, ...]] = tuple(field.name for field in fields(Quota))
    bundle: ClassVar[Mapping[str, str]] = {
        "max_submissions_per_day": "max_submissions_per_day",
        "max_submissions_per_week": "podium.max_submissions_per_week",
        "quota_week": "podium.quota_week",
        "max_submissions": "max_submissions",
    }

    class Meta:
        abstract = True

    @property
    def quota(self) -> Quota:
        return Quota(**{field.name: getattr(self, field.name) for field in fields(Quota)})
