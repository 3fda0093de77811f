"""Drafts of competitions in the guided path, new solutions, and requests to host."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Lower

from accounts.models import User
from competitions.catalog.models import Competition, Phase, Task
from competitions.resources.models import StoredFile
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.teams.models import Team
from core.background.rows import AskedRow, asker_key
from core.fields import LongTextField, OneLineField


class CompetitionDraftQuerySet(models.QuerySet["CompetitionDraft"]):
    def open_to(self, user: User) -> "CompetitionDraftQuerySet":
        """The user's own drafts, without those of competitions that they no longer organize."""
        return self.filter(Q(competition=None) | Q(competition__in=Competition.objects.managed_by(user)), owner=user)


class CompetitionDraft(AskedRow):
    """Answers for a competition; a background process builds it when the row asks for that."""

    class Start(models.TextChoices):
        TABLE = "table", "A table"
        CODE = "code", "Code"
        DATASET = "dataset", "A known dataset"
        LSC = "lsc", "OGB-LSC"

    class Build(models.TextChoices):
        NONE = "none", "not built"
        WAITING = "waiting", "being built"
        FINISHED = "finished", "built"
        FAILED = "failed", "not built: something is wrong"

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="competition_drafts")
    start = models.CharField(max_length=10, choices=Start)
    answers = models.JSONField(
        default=dict, help_text="By step: what the form of the step was sent with, as it was typed."
    )
    step = models.CharField(max_length=20, blank=True, help_text="Where the owner was last.")
    version = models.PositiveIntegerField(
        default=1, help_text="Raised by each change, so that two tabs do not overwrite each other."
    )
    build = models.CharField(max_length=10, choices=Build, default=Build.NONE)
    build_step = models.CharField(max_length=200, blank=True)
    build_faults = models.JSONField(default=list, blank=True, help_text="Sentences for the owner.")
    built_version = models.PositiveIntegerField(
        null=True, blank=True, help_text="The version that the competition was made of."
    )
    competition = models.OneToOneField(
        Competition, on_delete=models.SET_NULL, null=True, blank=True, related_name="draft"
    )
    trial = models.ForeignKey(Submission, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    score_scale = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        blank=True,
        help_text="By key of a score: what the best constant and a perfect prediction have.",
    )
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    asked_at = models.DateTimeField(null=True, blank=True, help_text="When the owner last asked for the build.")

    objects = CompetitionDraftQuerySet.as_manager()

    class Meta:
        ordering = ["-changed_at"]
        constraints = [
            models.CheckConstraint(
                name="draft_asked_when_it_is_built", condition=~Q(build="waiting") | Q(asked_at__isnull=False)
            ),
            models.CheckConstraint(
                name="draft_version_of_what_is_built", condition=~Q(build="finished") | Q(built_version__isnull=False)
            ),
        ]
        indexes = [models.Index(fields=["asker", "id"], condition=Q(build="waiting"), name="draft_waiting")]

    def __str__(self) -> str:
        return self.title

    def asked_by(self) -> str:
        return asker_key("person", self.owner_id)

    @property
    def title(self) -> str:
        """The title that the owner gave the competition, if any."""
        typed = self.answers.get("about", {}).get("title", [""])
        return str(typed[0]).strip() or f"{self.get_start_display()}, without a title yet"

    @property
    def is_published(self) -> bool:
        return self.competition is not None and self.competition.is_published

    @property
    def is_tried(self) -> bool:
        """True if a sample must be scored before publishing: always for tables, else if there is one."""
        return self.start == self.Start.TABLE or self.trial_id is not None or bool(self.build_faults)

    @property
    def is_scored(self) -> bool:
        """True if the trial was scored, or nothing has to be tried."""
        return self.trial.status == State.FINISHED if self.trial else not self.is_tried

    @property
    def gives_only_ids(self) -> bool:
        """True if teams of a table competition get no data beside the ids."""
        roles = {file.role for file in self.files.all()}
        return self.start == self.Start.TABLE and "solution" in roles and not roles & {"training", "test"}

    @property
    def is_up_to_date(self) -> bool:
        """Nothing was changed since the competition was made."""
        return self.competition is not None and self.built_version == self.version


class DraftFile(AskedRow):
    """A file of a draft. What is a table is read by a background process, which the row asks for."""

    class State(models.TextChoices):
        WAITING = "waiting", "being read"
        FINISHED = "finished", "ready"
        FAILED = "failed", "cannot be used"

    draft = models.ForeignKey(CompetitionDraft, on_delete=models.CASCADE, related_name="files")
    role = OneLineField(max_length=30)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    file_name = OneLineField(max_length=255)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    preview = models.JSONField(default=dict, blank=True, help_text="Columns and first rows, of a table.")
    fault = models.TextField(blank=True, help_text="Why it cannot be used, for the owner.")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "role"], name="draft_file_once_per_role"),
            models.CheckConstraint(
                name="draft_file_fault_iff_failed",
                condition=(Q(state="failed") & ~Q(fault="")) | (~Q(state="failed") & Q(fault="")),
            ),
        ]
        indexes = [models.Index(fields=["asker", "id"], condition=Q(state="waiting"), name="draft_file_waiting")]

    def __str__(self) -> str:
        return f"{self.file_name}: {self.get_state_display()}"

    def asked_by(self) -> str:
        return asker_key("person", self.draft.owner_id)


class NewSolution(AskedRow):
    """A new solution of a task that scores tables, compared in the background and then proposed."""

    class State(models.TextChoices):
        READING = "reading", "being read"
        READY = "ready", "compared"
        FAILED = "failed", "cannot be used"

    task = models.OneToOneField(Task, on_delete=models.CASCADE, related_name="new_solution")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    file_name = OneLineField(max_length=255)
    state = models.CharField(max_length=10, choices=State, default=State.READING)
    fault = models.TextField(blank=True, help_text="Why it cannot be used, for the organizers.")
    facts = models.JSONField(default=dict, blank=True, help_text="What differs from the solution in force.")
    compared_with = models.ForeignKey(
        StoredFile, on_delete=models.PROTECT, related_name="+", help_text="The reference data in force at the upload."
    )
    reference = models.ForeignKey(
        StoredFile,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Reference data with the new solution.",
    )
    asked_at = models.DateTimeField(help_text="When it was uploaded.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="new_solution_fault_iff_failed",
                condition=(Q(state="failed") & ~Q(fault="")) | (~Q(state="failed") & Q(fault="")),
            ),
            models.CheckConstraint(
                name="new_solution_reference_once_compared",
                condition=Q(state__in=["reading", "failed"]) | Q(reference__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["asker", "id"], condition=Q(state="reading"), name="new_solution_waiting")]

    def __str__(self) -> str:
        return f"{self.file_name}: {self.get_state_display()}"

    def asked_by(self) -> str:
        return asker_key("competition", self.task.competition_id or "")


class OrganizerInvitation(models.Model):
    """Somebody is asked to organize a competition. The row goes with the answer."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="organizer_invitations")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="organizer_invitations",
        help_text="Empty for an address that nobody has confirmed.",
    )
    named_as = OneLineField(max_length=254, help_text="The name or address that was typed, and is shown to organizers.")
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    invited_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint("competition", Lower("named_as"), name="one_organizer_invitation_by_that_name")
        ]

    def __str__(self) -> str:
        return f"{self.named_as} is asked to organize {self.competition}"


class HostRequest(models.Model):
    """Somebody asks to host competitions; an administrator decides."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        GRANTED = "granted", "granted"
        DECLINED = "declined", "declined"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="host_requests")
    purpose = models.CharField(max_length=1000, help_text="What the person wants to host.")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["user"], condition=Q(state="open"), name="one_open_host_request_per_person"
            ),
            models.CheckConstraint(
                name="host_request_decided_iff_closed",
                condition=Q(state="open", decided_at=None) | (~Q(state="open") & Q(decided_at__isnull=False)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.get_state_display()}"


class CompetitionDay(models.Model):
    """Figures of one day (UTC), counted by the reconciler, so that no page sums them up."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="days")
    day = models.DateField()
    submitted = models.PositiveIntegerField(default=0)
    scored = models.PositiveIntegerField(default=0)
    failures = models.JSONField(default=dict, help_text="Number of failed submissions by reason.")
    runs = models.PositiveIntegerField(default=0, help_text="Runs that a worker took.")
    waited_s = models.FloatField(default=0, help_text="Of these runs together, from being queued to their start.")
    cpu_s = models.FloatField(default=0)
    gpu_s = models.FloatField(default=0)

    class Meta:
        ordering = ["day"]
        constraints = [models.UniqueConstraint(fields=["competition", "day"], name="competition_day_once")]

    def __str__(self) -> str:
        return f"{self.competition} on {self.day}"


class OrganizersMail(AskedRow):
    """A mail from organizers to people of their competition; a background process sends it on."""

    class Audience(models.TextChoices):
        ALL = "all", "Everybody who is registered"
        PHASE = "phase", "Teams that submitted to a phase"
        TEAMS = "teams", "Chosen teams"

    key = models.UUIDField(unique=True, editable=False, help_text="Of the form, so that it is sent once.")
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="organizers_mails")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    audience = models.CharField(max_length=10, choices=Audience)
    phase = models.ForeignKey(Phase, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    teams = models.ManyToManyField(Team, blank=True, related_name="+")
    subject = OneLineField(max_length=200)
    body = LongTextField(max_length=20_000)
    created_at = models.DateTimeField()
    sent_to = models.PositiveIntegerField(null=True, blank=True, help_text="How many people it went to, once it did.")

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                name="organizers_mail_phase_iff_it_is_for_one",
                condition=Q(audience="phase", phase__isnull=False) | (~Q(audience="phase") & Q(phase=None)),
            )
        ]
        indexes = [models.Index(fields=["asker", "id"], condition=Q(sent_to=None), name="organizers_mail_waiting")]

    def __str__(self) -> str:
        return self.subject

    def asked_by(self) -> str:
        return asker_key("competition", self.competition_id)
