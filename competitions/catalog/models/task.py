"""Tasks: what one run does."""

import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q

from competitions.catalog.models.competition import Competition
from competitions.resources.models import Resource

if TYPE_CHECKING:
    from accounts.models import User


class TaskQuerySet(models.QuerySet["Task"]):
    def usable_by(self, user: "User") -> "TaskQuerySet":
        """Those that this organizer may put into a competition: own ones, shared ones, those of competitions organized."""
        if user.is_superuser:
            return self
        if not user.is_staff:
            return self.none()
        shared = Q(is_public=True) | Q(pk__in=user.shared_tasks.values("pk"))
        return self.filter(shared | Q(pk__in=self.model.objects.readable_by(user).values("pk")))

    def readable_by(self, user: "User") -> "TaskQuerySet":
        """Those whose programs and data this organizer may have. Whoever may use a shared task does not get its labels."""
        if user.is_superuser:
            return self
        return self.filter(Q(owner=user) | Q(competition__in=Competition.objects.managed_by(user)))


class Task(models.Model):
    """What one run does: programs and data. Several phases, and competitions, may use one task."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    competition = models.ForeignKey(
        Competition, on_delete=models.CASCADE, related_name="tasks", null=True, blank=True,
        help_text="Empty: a task that stands by itself, for its owner's competitions.",
    )  # fmt: skip
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="tasks", null=True, blank=True, editable=False
    )
    is_public = models.BooleanField(
        default=False, help_text="Any organizer may use it in a competition. Its files stay with you."
    )
    shared_with = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="shared_tasks")
    name = models.CharField(max_length=256)
    description = models.TextField(blank=True)
    scoring_program = models.ForeignKey(
        Resource, on_delete=models.PROTECT, related_name="+", limit_choices_to={"kind": Resource.Kind.SCORING_PROGRAM}
    )
    reference_data = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        limit_choices_to={"kind": Resource.Kind.REFERENCE_DATA},
        help_text="Hidden labels: mounted into the scoring container alone.",
    )
    ingestion_program = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        limit_choices_to={"kind": Resource.Kind.INGESTION_PROGRAM},
        help_text="Runs a code submission. Empty: the submission's own metadata file says the command.",
    )
    input_data = models.ForeignKey(
        Resource,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        blank=True,
        limit_choices_to={"kind": Resource.Kind.INPUT_DATA},
    )
    ingestion_only_during_scoring = models.BooleanField(
        default=False,
        help_text="The ingestion program runs beside the scoring program, at the same time, in a container of its own; "
        "the two talk through /app/shared.",
    )

    objects = TaskQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def runs_beside_scoring(self) -> bool:
        """Its ingestion program and its scoring program run at the same time."""
        return self.ingestion_program_id is not None and self.ingestion_only_during_scoring
