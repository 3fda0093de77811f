"""Phases: a time span with tasks, quotas, budget and boards; and who saw their sealed scores."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Final

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q

from accounts.models import User
from competitions.catalog.models.competition import Competition
from competitions.catalog.models.sections.data import DataSection
from competitions.catalog.models.sections.extra_tasks import GrowthSection, SmokeSection
from competitions.catalog.models.sections.intake import IntakeSection, QuotaSection, ScheduleSection
from competitions.catalog.models.sections.runs import (
    BudgetSection,
    EnvironmentSection,
    IsolationSection,
    OutputsSection,
)
from competitions.catalog.models.sections.section import Section
from competitions.catalog.models.task import Task
from competitions.resources.models import Resource, resource_field
from core.fields import SHORT_TEXT, LongTextField, OneLineField
from workers.protocol.images import image_contents

if TYPE_CHECKING:
    from competitions.catalog.models.board import Leaderboard


SECTIONS: Final[tuple[type[Section], ...]] = (
    ScheduleSection,
    QuotaSection,
    IntakeSection,
    DataSection,
    SmokeSection,
    BudgetSection,
    EnvironmentSection,
    IsolationSection,
    GrowthSection,
    OutputsSection,
)


class PhaseQuerySet(models.QuerySet["Phase"]):
    def visible_to(self, user: User | AnonymousUser) -> "PhaseQuerySet":
        return self.filter(competition__in=Competition.objects.visible_to(user))


class Phase(
    ScheduleSection,
    IntakeSection,
    DataSection,
    GrowthSection,
    SmokeSection,
    QuotaSection,
    BudgetSection,
    EnvironmentSection,
    IsolationSection,
    OutputsSection,
):
    """A time span with tasks, quotas, budget and boards; `sections/` has its settings by subject."""

    class Visibility(models.TextChoices):
        PUBLIC = "public", "Public: scores appear at once"
        SEALED = "sealed", "Sealed: scores are hidden until the reveal"

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="phases")
    slug = models.SlugField(max_length=60)
    name = OneLineField(max_length=256)
    description = LongTextField(max_length=SHORT_TEXT, blank=True, help_text="Markdown.")
    index = models.PositiveSmallIntegerField(default=0)
    tasks = models.ManyToManyField(Task, related_name="phases", blank=True)
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PUBLIC)
    reveal_at = models.DateTimeField(
        "reveal planned for",
        null=True,
        blank=True,
        help_text=(
            "Sealed scores become public automatically at this time, but not before the phase has closed and "
            "everything is scored."
        ),
    )
    revealed_at = models.DateTimeField(null=True, blank=True, editable=False)
    reveal_told_at = models.DateTimeField(null=True, blank=True, editable=False)

    migrated_at = models.DateTimeField(null=True, blank=True, editable=False)

    public_data = resource_field(Resource.Kind.PUBLIC_DATA)
    starting_kit = resource_field(Resource.Kind.STARTING_KIT)
    sample_submission = resource_field(
        Resource.Kind.SAMPLE_SUBMISSION,
        "A valid table of predictions. If tables are submitted, each of them must have the ids of this one.",
    )

    objects = PhaseQuerySet.as_manager()

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Name": ("name", "slug", "description", "index"),
        "Scores": ("visibility", "reveal_at"),
    } | {heading: names for section in SECTIONS for heading, names in section.form.items()}
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {
        heading: kinds for section in SECTIONS for heading, kinds in section.form_kinds.items()
    }
    bundle: ClassVar[Mapping[str, str]] = {
        "name": "name",
        "description": "description",
        "visibility": "podium.visibility",
        "reveal_at": "podium.reveal",
    } | {field: place for section in SECTIONS for field, place in section.bundle.items()}

    class Meta:
        ordering = ["index", "opens_at"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "slug"], name="phase_slug_once_per_competition"),
            models.CheckConstraint(
                name="phase_closes_after_it_opens",
                condition=Q(closes_at__isnull=True) | Q(closes_at__gt=F("opens_at")),
                violation_error_message="The phase must close after it opens.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.competition}: {self.name}"

    def clean(self) -> None:
        faults = {name: text for section in SECTIONS for name, text in section.faults(self).items()}
        if faults:
            raise ValidationError(faults)

    def tasks_for(self, kind: str) -> list[Task]:
        """The tasks of a submission of this kind: where the board grows, a dataset runs on its check alone."""
        if kind == "dataset" and self.dataset_check is not None:
            return [self.dataset_check]
        return list(self.tasks.all())

    @property
    def image_name(self) -> str:
        return self.docker_image or self.competition.image_name

    @property
    def image_contents(self) -> str:
        """A sentence on the contents of the image that programs run in; empty where they are not known."""
        return image_contents(self.image_name)

    @property
    def is_sealed(self) -> bool:
        """True while the scores of this phase must not leave the server."""
        return self.visibility == self.Visibility.SEALED and self.revealed_at is None

    @property
    def leaderboard(self) -> "Leaderboard":
        """The main board. Raises `AttributeError` where there is none, as a one-to-one relation does."""
        board = self.main_board
        if board is None:
            raise AttributeError(f"The phase “{self.name}” has no leaderboard.")
        return board

    @property
    def main_board(self) -> "Leaderboard | None":
        """The phase's main board, the first in its order; None where it has none."""
        return next(iter(self.leaderboards.all()), None)

    @property
    def keys_on_record(self) -> set[str]:
        """Keys under which scores were asked for under seal; without a query where no board has any.

        The boards say so in the rows that hold their settings: whoever reads changed settings reads this, too.
        """
        if not any(board.has_sealed_keys for board in self.leaderboards.all()):
            return set()
        return {record.key for record in self.sealed_keys.all()}

    @property
    def holds_sealed_scores(self) -> bool:
        """True while output of this phase's runs may tell a sealed score, whatever its boards are now."""
        boards = self.leaderboards.all()
        is_under_seal = self.is_sealed or any(board.is_set_sealed or board.has_sealed_keys for board in boards)
        return self.revealed_at is None and is_under_seal


class SealedUse(models.Model):
    """Somebody used the right to see sealed scores: one row for each person, phase and day (UTC)."""

    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, related_name="sealed_uses")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    uses = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-last_at"]
        constraints = [models.UniqueConstraint(fields=["phase", "user", "day"], name="sealed_use_once_a_day")]
        verbose_name = "use of the right to see sealed scores"
        verbose_name_plural = "uses of the right to see sealed scores"

    def __str__(self) -> str:
        return f"{self.user} saw sealed scores of {self.phase} on {self.day}"
