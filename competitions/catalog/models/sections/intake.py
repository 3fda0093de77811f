"""The submissions that a phase takes: their kinds, the times, and the quota of a team."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Final

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from competitions.catalog.models.sections.section import Section
from core.fields import OneLineField


def validate_prediction_format(value: object) -> None:
    """Refuse what uploads could not be checked against: neither a table's columns nor an official file."""
    from scoring.errors import ScoringInputError
    from scoring.formats.layouts import layout
    from scoring.tables.schema import TableSchema

    if isinstance(value, dict) and set(value) == {"table"}:
        try:
            TableSchema.from_json(value["table"])
        except ScoringInputError as error:
            raise ValidationError(str(error)) from error
        return
    if not isinstance(value, dict) or set(value) - {"dataset", "split", "rows"} or {"dataset", "split"} - set(value):
        raise ValidationError('Give "dataset", "split" and, if not the official number, "rows"; or "table" alone.')
    rows = value.get("rows")
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise ValidationError(f'"rows" must be a whole number of at least 1, not {rows!r}.')
    try:
        layout(str(value["dataset"]), str(value["split"]), rows)
    except ScoringInputError as error:
        raise ValidationError(str(error)) from error


TEXT_FILES: Final = "*.csv *.tsv *.txt *.json *.jsonl"


class Agents(models.TextChoices):
    ANY = "any", "all agents"
    DECLARED = "declared", "declared agents"
    OWN_BOARD = "own_board", "declared agents, on a board of their own"
    NONE = "none", "no agents"


class IntakeSection(Section):
    accepts_predictions = models.BooleanField("accepts prediction files", default=True)
    accepts_code = models.BooleanField("accepts code", default=False)
    accepts_datasets = models.BooleanField(
        "accepts datasets",
        default=False,
        help_text="Participants submit datasets; the tasks' programs are the algorithms.",
    )
    as_on_codabench = models.BooleanField(
        "runs as on Codabench",
        default=False,
        help_text=(
            "Programs and inputs are writable copies, a submission without a metadata file is copied into the output "
            "before ingestion, and a run does not fail because of the ingestion program's exit code alone."
        ),
    )
    prediction_format = models.JSONField(
        null=True,
        blank=True,
        validators=[validate_prediction_format],
        help_text=(
            "The format that uploads are checked against before they are queued: an official file, or a table. Leave "
            "empty to accept any zip."
        ),
    )

    text_files = OneLineField(
        max_length=200,
        blank=True,
        default=TEXT_FILES,
        help_text=(
            "Prediction files that must be UTF-8 text, as patterns for their names. A file that is not is refused "
            "before it is scored. Leave empty for no check."
        ),
    )

    agents = models.CharField(
        "takes submissions from",
        max_length=10,
        choices=Agents,
        default=Agents.ANY,
        db_default=Agents.ANY,
        help_text=(
            "An agent decides by itself what to submit for a person, and counts towards that person's team and quota."
            " A declared agent has a token that names its model and harness; they are shown with its submissions. "
            "Everything that comes through /mcp is from an agent."
        ),
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "What is submitted": ("accepts_predictions", "accepts_code", "accepts_datasets", "prediction_format", "tasks"),
        "Agents, text files and Codabench": ("agents", "text_files", "as_on_codabench"),
    }
    api: ClassVar[tuple[str, ...]] = (
        "accepts_predictions",
        "accepts_code",
        "accepts_datasets",
        "prediction_format",
        "official_file_name",
        "text_files",
        "agents",
    )
    bundle: ClassVar[Mapping[str, str]] = {"prediction_format": "podium.prediction_format", "agents": "podium.agents"}

    class Meta:
        abstract = True

    @property
    def text_patterns(self) -> tuple[str, ...]:
        """Patterns of the names of prediction files that must be text."""
        return tuple(self.text_files.split())

    @property
    def official_file_name(self) -> str:
        """The name that a file of predictions must have; empty where any will do."""
        from scoring.formats.layouts import official_filename  # with numpy, which the site does not need to start

        form = self.prediction_format
        return official_filename(form["dataset"], form["split"]) if form and "table" not in form else ""

    @property
    def accepted_kinds(self) -> list[str]:
        """Kinds of submissions that the phase takes, by their names in `Submission.kind`."""
        kinds = {"prediction": self.accepts_predictions, "code": self.accepts_code, "dataset": self.accepts_datasets}
        return [kind for kind, accepted in kinds.items() if accepted]


LAST: Final = datetime.max.replace(tzinfo=UTC)


def later(at: datetime, by: timedelta) -> datetime:
    """The instant `by` after another; people write the end of 9999 for "never", after which there is none.

    >>> later(LAST, timedelta(minutes=15)) == LAST
    True
    """
    return at + min(by, LAST - at)


class ScheduleSection(Section):
    opens_at = models.DateTimeField()
    closes_at = models.DateTimeField(null=True, blank=True, help_text="Leave empty for no end.")
    upload_grace_minutes = models.PositiveSmallIntegerField(
        "upload grace period (minutes)",
        default=15,
        validators=[MaxValueValidator(1440)],
        help_text=(
            "An upload that began before the end still counts if it is complete and submitted within this many "
            "minutes after the end, and before any reveal."
        ),
    )
    accepts_late = models.BooleanField(
        "accepts late submissions",
        default=False,
        help_text="Submissions after the end are still run and scored; they are marked as late and never ranked.",
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
        """True once no further submission can count: the phase and its grace period for uploads are over."""
        return self.grace_ends_at is not None and self.grace_ends_at <= now

    def is_open(self, at: datetime) -> bool:
        """True when a submission whose upload began at `at` is in time."""
        return self.opens_at <= at and (self.closes_at is None or at < self.closes_at)

    def takes_late(self, at: datetime) -> bool:
        """True if a submission begun at `at` is too late to be ranked but still accepted."""
        return self.accepts_late and self.closes_at is not None and self.closes_at <= at


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
        null=True, blank=True, default=5, validators=[AT_LEAST_ONE], help_text="Leave empty for no limit."
    )
    max_submissions_per_week = models.PositiveIntegerField(
        null=True, blank=True, validators=[AT_LEAST_ONE], help_text="Leave empty for no limit."
    )
    quota_week = models.CharField("a week is", max_length=8, choices=Week, default=Week.CALENDAR)
    max_submissions = models.PositiveIntegerField(
        "max submissions in total",
        null=True,
        blank=True,
        default=100,
        validators=[AT_LEAST_ONE],
        help_text="Leave empty for no limit.",
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {"Quota per team": tuple(field.name for field in fields(Quota))}
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
