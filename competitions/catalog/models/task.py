"""Tasks: what one run does; and files of organizers that are submitted to see tasks work."""

import uuid
from collections.abc import Mapping
from typing import ClassVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from accounts.models import User
from competitions.catalog.models.competition import Competition
from competitions.resources.models import Resource, resource_field
from core.fields import SHORT_TEXT, LongTextField, OneLineField


class TaskQuerySet(models.QuerySet["Task"]):
    def usable_by(self, user: User) -> "TaskQuerySet":
        """Tasks that this organizer may use: own, shared, and of competitions that they organize."""
        if user.is_superuser:
            return self
        if not user.is_staff:
            return self.none()
        shared = Q(is_public=True) | Q(pk__in=user.shared_tasks.values("pk"))
        return self.filter(shared | Q(pk__in=self.model.objects.readable_by(user).values("pk")))

    def readable_by(self, user: User) -> "TaskQuerySet":
        """Tasks whose programs and data this organizer may read; sharing a task does not share its labels.

        Whoever made a task of a competition stops reading it with organizing that: others may have changed its labels since.
        """
        if user.is_superuser:
            return self
        own = Q(owner=user, competition=None)
        return self.filter(own | Q(competition__in=Competition.objects.managed_by(user)))


class Check(models.TextChoices):
    """Ways in which the input of a check differs from that of the task that it checks."""

    PERMUTED = "permuted", "rows permuted"
    PERTURBED = "perturbed", "input perturbed"
    HELD_OUT = "held_out", "held-out part"


class Task(models.Model):
    """The programs and data of one run. Several phases, and competitions, may use one task."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    competition = models.ForeignKey(
        Competition,
        on_delete=models.CASCADE,
        related_name="tasks",
        null=True,
        blank=True,
        help_text="Leave empty for a task that any of its owner's competitions can use.",
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="tasks", null=True, blank=True, editable=False
    )
    is_public = models.BooleanField(
        default=False, help_text="Any organizer may use it in a competition. Its files stay with you."
    )
    shared_with = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="shared_tasks")
    is_public_split = models.BooleanField(
        "public split",
        default=False,
        help_text=(
            "Nothing in it is secret: if a phase runs submissions on it first, all participants may download its "
            "programs, input and labels."
        ),
    )
    name = OneLineField(max_length=256)
    description = LongTextField(max_length=SHORT_TEXT, blank=True)
    scoring_program = models.ForeignKey(
        Resource, on_delete=models.PROTECT, related_name="+", limit_choices_to={"kind": Resource.Kind.SCORING_PROGRAM}
    )
    reference_data = resource_field(
        Resource.Kind.REFERENCE_DATA, "Hidden labels; mounted only in the scoring container."
    )
    ingestion_program = resource_field(
        Resource.Kind.INGESTION_PROGRAM,
        "Runs a code submission. If empty, the command comes from the submission's own metadata file.",
    )
    input_data = resource_field(Resource.Kind.INPUT_DATA)
    ingestion_only_during_scoring = models.BooleanField(
        default=False,
        help_text=(
            "The ingestion program runs at the same time as the scoring program, in a container of its own; the two "
            "communicate through /app/shared."
        ),
    )

    checks = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        related_name="checked_by",
        null=True,
        blank=True,
        limit_choices_to={"checks": None},
        help_text=(
            "The task that this one checks. A check belongs to no phase: when winners' code is verified in this "
            "competition, it is run on the check as well."
        ),
    )
    check_kind = models.CharField(
        max_length=10,
        choices=Check,
        blank=True,
        help_text=(
            "Permuted: the same rows in a different order; rows.csv in the reference data says which row is which. "
            "Perturbed: the same rows, written differently. Held-out: rows that no team has seen."
        ),
    )
    check_tolerance = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=(
            "Largest mean difference allowed between predictions. Leave empty to use the winners' lane's. For "
            "held-out rows, how much worse the score may be is computed from the rows; this number is used only if "
            "that is not possible."
        ),
    )

    objects = TaskQuerySet.as_manager()

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Name": ("name", "description"),
        "Who may use it": ("is_public", "shared_with", "is_public_split"),
        "How it runs": ("ingestion_only_during_scoring",),
        "Check of winners' code": ("checks", "check_kind", "check_tolerance"),
    }
    bundle: ClassVar[Mapping[str, str]] = {
        "description": "description",
        "is_public": "is_public",
        "is_public_split": "podium.public_split",
        "ingestion_only_during_scoring": "ingestion_only_during_scoring",
        "check_tolerance": "podium.tolerance",
    }

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                name="task_check_kind_iff_it_checks",
                condition=(Q(checks=None) & Q(check_kind="")) | (Q(checks__isnull=False) & ~Q(check_kind="")),
                violation_error_message="A task that checks another needs a kind of check, and only such a task has one.",
            ),
            models.CheckConstraint(name="task_does_not_check_itself", condition=~Q(checks=F("pk"))),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_held_out(self) -> bool:
        """True for a check on rows that no team has seen."""
        return self.check_kind == Check.HELD_OUT

    def clean(self) -> None:
        super().clean()
        if self.pk and not self.is_public_split and self.smoke_phases.exists():
            raise ValidationError(
                {
                    "is_public_split": "Phases run submissions on it first: choose another smoke run there, then untick this."
                }
            )
        self._require_queues()
        if self.checks is None:
            return
        if self.checks.checks_id is not None:
            raise ValidationError({"checks": "Choose a task that checks no other task."})
        if self.pk and self.phases.exists():
            raise ValidationError(
                {"checks": "Take this task out of its phases first: a check is run on winners' code alone."}
            )

    def _require_queues(self) -> None:
        """Refuse a change after which an owner of a queue that runs the task may not read it."""
        named = Q(phases__tasks=self.pk) | Q(phases__smoke_task=self.pk) | Q(phases__dataset_check=self.pk)
        users = Competition.objects.filter(named).select_related("queue__owner") if self.pk else ()
        for queue in {competition.queue for competition in users}:
            if queue.owner is not None and not self.is_readable_by(queue.owner):
                raise ValidationError(
                    f"It runs on the queue {queue}, whose owner could not read it any more. Choose another queue for its "
                    "competition first."
                )

    def is_readable_by(self, user: User) -> bool:
        """True for whom `readable_by` would list it, as it is now, saved or not."""
        if user.is_superuser:
            return True
        if self.competition_id is None:
            return self.owner_id == user.pk
        return Competition.objects.managed_by(user).filter(pk=self.competition_id).exists()

    def hidden_part(self, competition: Competition) -> str:
        """A sentence on why the task is not wholly public in this competition; empty where it is.

        Its organizers say that it is; what they keep hidden in another task of the competition is not made public by that.
        """
        if not self.is_public_split:
            return (
                f"The task “{self}” is not a public split, so it may hold hidden data. Choose another, or tick “public split” at the "
                "task if teams may have all of its files."
            )
        own = [pk for pk in (self.input_data_id, self.reference_data_id) if pk is not None]
        files = Resource.objects.filter(pk__in=own).values("file")
        hidden = Q(reference_data__file__in=files)
        if not competition.make_input_data_available:
            hidden |= Q(input_data__file__in=files)
        of_competition = Q(competition=competition) | Q(phases__competition=competition)
        # What a team submitted as a dataset hides nothing of the organizers'.
        others = Task.objects.filter(of_competition, hidden, is_public_split=False, dataset=None).exclude(pk=self.pk)
        if (other := others.first()) is None:
            return ""
        return f"The task “{self}” has a file that the task “{other}” keeps hidden. Give it data of its own."

    @property
    def runs_beside_scoring(self) -> bool:
        """True if its ingestion program and its scoring program run at the same time."""
        return self.ingestion_program_id is not None and self.ingestion_only_during_scoring


class Solution(models.Model):
    """A file that the organizers submit to see their tasks work. Organizers alone read it."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="solutions")
    tasks = models.ManyToManyField(Task, related_name="solutions", help_text="What it is run on.")
    resource = models.ForeignKey(
        Resource, on_delete=models.PROTECT, related_name="+", limit_choices_to={"kind": Resource.Kind.SOLUTION}
    )
    name = OneLineField(max_length=200)
    description = LongTextField(max_length=SHORT_TEXT, blank=True)
    index = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["index", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "name"], name="solution_name_once_per_competition")
        ]

    def __str__(self) -> str:
        return self.name
