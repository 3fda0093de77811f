"""Submissions, checks of their files, histories of fact sheets, and datasets that joined a board."""

from collections.abc import Sequence

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import DeclaresAgent
from competitions.catalog.models import Phase, Solution, Task
from competitions.environments.models import EnvironmentFile
from competitions.resources.models import StoredFile
from competitions.submissions.states import FINAL, ORGANIZERS_OWN, Kind, Reason, State
from competitions.teams.models import Team
from core.background.rows import AskedRow, asker_key
from core.fields import OneLineField


class Program(models.TextChoices):
    """The way in which a zip says that it is run, in the `metadata.yaml` or `metadata` at its top level."""

    NONE = "", "no metadata file"
    METADATA = "metadata", "a metadata file without a command"
    COMMAND = "command", "a command"


class Submission(DeclaresAgent):
    """A team's entry to a phase. Immutable but for its status, which follows its runs."""

    phase = models.ForeignKey(Phase, on_delete=models.PROTECT, related_name="submissions")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="submissions")
    submitted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")
    file_name = OneLineField(max_length=255)
    description = models.CharField(max_length=500, blank=True)
    tag_text = models.CharField(
        max_length=320,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The team's own tags, each between blanks, so that one is found in it.",
    )
    commit = OneLineField(max_length=64, blank=True, default="", db_default="", help_text="The commit of its code.")
    link = OneLineField(max_length=300, blank=True, default="", db_default="", help_text="Its code or a paper.")
    received_at = models.DateTimeField(
        help_text="The time that counts: when the upload began, at most the phase's grace period before it was submitted."
    )
    created_at = models.DateTimeField(help_text="When the submission was accepted.")
    checked_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When its file passed the check."
    )
    status = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    reason = models.CharField(max_length=20, choices=Reason, blank=True)
    is_charged = models.BooleanField(default=True, help_text="Counts towards the team's quota.")
    finished_at = models.DateTimeField(null=True, blank=True)
    disqualified_at = models.DateTimeField(null=True, blank=True)
    disqualified_reason = models.CharField(max_length=500, blank=True)
    reinstated_at = models.DateTimeField(null=True, blank=True)
    reinstated_reason = models.CharField(max_length=500, blank=True, default="", db_default="")
    idempotency_key = OneLineField(max_length=100, blank=True)
    program = models.CharField(max_length=10, choices=Program, default=Program.NONE, blank=True, editable=False)
    weights = models.ForeignKey(
        EnvironmentFile, on_delete=models.PROTECT, null=True, blank=True, related_name="weights_of", editable=False
    )
    image = models.ForeignKey(
        EnvironmentFile, on_delete=models.PROTECT, null=True, blank=True, related_name="image_of", editable=False
    )
    image_reference = OneLineField(
        max_length=500, blank=True, editable=False, help_text="An image by digest in a registry."
    )
    requirements = models.ForeignKey(
        StoredFile,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        editable=False,
        help_text="The requirements.txt that its environment is built from.",
    )
    migrated_from = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="migrated_to",
        editable=False,
        help_text="The submission of the previous phase that this one continues.",
    )
    rerun_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="reruns", editable=False
    )
    solution = models.ForeignKey(
        Solution,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="submissions",
        editable=False,
        help_text="The organizers' solution that this is a run of.",
    )
    is_task_rerun = models.BooleanField(
        default=False, editable=False, help_text="Run on a task that an organizer chose; never on a board."
    )
    is_late = models.BooleanField(default=False, help_text="Received after the end: scored, never ranked.")
    is_verification = models.BooleanField(
        default=False, editable=False, help_text="A winner's code, run by the organizers; never on a board."
    )
    is_check = models.BooleanField(
        default=False,
        editable=False,
        help_text="A winner's code on input that no team has seen; only the organizers see its logs and files.",
    )
    is_smoke = models.BooleanField(
        default=False,
        editable=False,
        help_text="Run only on the phase's public mini split: costs no quota and is never on a board.",
    )
    seed = models.PositiveSmallIntegerField(
        default=0,
        editable=False,
        help_text="The value that its program reads as PODIUM_SEED; repeated verifications count up.",
    )
    verified_at = models.DateTimeField(null=True, blank=True, editable=False)
    verified_s = models.FloatField(
        null=True, blank=True, editable=False, help_text="Measured time of the verification run."
    )
    fact_sheet = models.JSONField(default=dict, blank=True, help_text="Answers by key, as they are now.")

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["team", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="idempotency_key_once_per_team",
            ),
            models.UniqueConstraint(
                fields=["phase", "migrated_from"],
                condition=Q(migrated_from__isnull=False),
                name="migrated_once_into_a_phase",
            ),
            models.CheckConstraint(
                name="submission_reason_iff_failed",
                condition=(Q(status=State.FAILED) & ~Q(reason="")) | (~Q(status=State.FAILED) & Q(reason="")),
            ),
            models.CheckConstraint(
                name="submission_check_is_a_verification", condition=Q(is_check=False) | Q(is_verification=True)
            ),
        ]
        indexes = [
            models.Index(
                fields=["team", "phase", "received_at"], condition=Q(is_charged=True), name="submission_quota"
            ),
            models.Index(fields=["team", "-id"], name="submission_of_team"),
            models.Index(fields=["phase", "-id"], name="submission_of_phase"),
            models.Index(fields=["created_at"], name="submission_created"),
            models.Index(
                fields=["finished_at"], condition=Q(reason__in=ORGANIZERS_OWN), name="submission_organizers_own"
            ),
            models.Index(
                fields=["finished_at"], condition=Q(reason=Reason.INFRASTRUCTURE), name="submission_platforms_own"
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.file_name}"

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self.tag_text.split())

    def annotate(self, tags: Sequence[str], *, commit: str, link: str) -> None:
        """Set what its team says of it, checked by `annotations.py`; it is not saved."""
        self.tag_text = f" {' '.join(tags)} " if tags else ""
        self.commit, self.link = commit, link

    @property
    def may_rank(self) -> bool:
        """May stand on a board as a row; on a board that grows, a dataset is a column."""
        is_column = self.kind == Kind.DATASET and self.phase.grows
        off_boards = self.is_task_rerun or self.is_late or self.is_verification or self.is_smoke or is_column
        return self.disqualified_at is None and not off_boards


class FileCheck(AskedRow):
    """The check of a submission's file, done in the background while the submission is `checking`."""

    class Status(models.TextChoices):
        WAITING = "", "waiting"
        PASSED = "passed", "passed"
        REFUSED = "refused", "refused"
        CANCELLED = "cancelled", "cancelled"
        GIVEN_UP = "given_up", "given up"

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="file_check")
    requested_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Status, default=Status.WAITING, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["asker", "id"], condition=Q(outcome=""), name="file_check_waiting"),
            models.Index(
                fields=["asker", "requested_at"],
                condition=Q(outcome__in=("refused", "cancelled")),
                name="file_check_refused",
            ),
        ]
        constraints = [
            models.CheckConstraint(
                name="file_check_finished_iff_decided",
                condition=Q(outcome="", finished_at__isnull=True) | (~Q(outcome="") & Q(finished_at__isnull=False)),
            )
        ]

    def __str__(self) -> str:
        return f"check of {self.submission}: {self.get_outcome_display()}"

    def asked_by(self) -> str:
        return asker_key("team", self.submission.team_id)


class FactSheetRevision(models.Model):
    """The answers of a fact sheet as somebody gave or changed them."""

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="fact_sheet_revisions")
    answers = models.JSONField(default=dict)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.submission}: fact sheet of {self.changed_at}"


class DatasetQuerySet(models.QuerySet["Dataset"]):
    def on_board(self, phase: Phase) -> "DatasetQuerySet":
        """The datasets that are columns of the phase's board now, oldest first; none if it does not grow."""
        if not phase.grows:
            return self.none()
        live = self.filter(submission__phase=phase, withdrawn_at=None, submission__disqualified_at=None)
        return live.select_related("submission__team").order_by("joined_at", "pk")


class Dataset(models.Model):
    """A team's dataset that passed its check: a task of its own, and a column of the board."""

    submission = models.OneToOneField(Submission, on_delete=models.PROTECT, related_name="dataset")
    task = models.OneToOneField(Task, on_delete=models.PROTECT, related_name="dataset")
    name = OneLineField(max_length=60)
    joined_at = models.DateTimeField()
    counts_from = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Since when it decides ranks: since all rows that were there had been run on it.",
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    withdrawn_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    objects = DatasetQuerySet.as_manager()

    class Meta:
        ordering = ["joined_at", "pk"]
        verbose_name = "dataset"

    def __str__(self) -> str:
        return self.name

    @property
    def is_on_board(self) -> bool:
        return self.withdrawn_at is None and self.submission.disqualified_at is None
