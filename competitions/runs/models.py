"""Runs: a submission on a task, held by a compute worker under a lease, with its records."""

import uuid
from datetime import UTC, datetime
from typing import Final

from django.db import models
from django.db.models import Q

from competitions.catalog.models import Competition, Phase, Proposal, Task
from competitions.compute.models import ComputeWorker, Queue
from competitions.disclosure.outputs import LogStream
from competitions.resources.models import StoredFile
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL, HELD, Reason, State
from competitions.teams.models import Team
from core.fields import OneLineField
from workers.protocol.plan import Needs

FILLING_PRIORITY: Final = -(2**15)  # of runs that fill a growing board: behind everything else
EARLIER_RUN: Final = 0  # as an attempt: it brought the predictions of another run
NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)  # sorts before every turn


class Run(models.Model):
    """One submission on one task. `runs.transitions` alone writes `state`; a lost worker raises `attempt`."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="runs")
    task = models.ForeignKey(Task, on_delete=models.PROTECT, related_name="runs")
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, related_name="+", help_text="For fair shares: the team whose turn it is."
    )
    queue = models.ForeignKey(Queue, on_delete=models.PROTECT, related_name="runs")
    priority = models.SmallIntegerField(default=0)
    gpus = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    attempt = models.PositiveSmallIntegerField(default=1, help_text="1 for the first try.")
    faults = models.PositiveSmallIntegerField(
        default=0, help_text="Attempts lost through the platform's fault since it was queued."
    )
    queued_at = models.DateTimeField()
    not_before = models.DateTimeField(help_text="Back-off: it is not handed out earlier.")
    lease_id = models.UUIDField(null=True, blank=True)
    claim_id = models.CharField(max_length=64, blank=True, editable=False, help_text="The claim that leased it.")
    lease_expires_at = models.DateTimeField(null=True, blank=True)  # set exactly while a worker holds the run
    worker = models.ForeignKey(ComputeWorker, on_delete=models.SET_NULL, null=True, blank=True, related_name="runs")
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True, help_text="When the current stage's container started.")
    finished_at = models.DateTimeField(null=True, blank=True)
    plan = models.JSONField(default=dict, editable=False, help_text="Its stages, as planned when it was queued.")
    needs = models.CharField(
        max_length=10,
        choices=[(need.value, need.value) for need in Needs],
        default=Needs.SCORING,
        editable=False,
        help_text="What comes next in its plan: it decides which workers may take it.",
    )
    reason = models.CharField(max_length=20, choices=Reason, blank=True)
    code = models.CharField(max_length=60, blank=True)
    detail = models.CharField(max_length=1000, blank=True)
    fills_board = models.BooleanField(
        default=False,
        editable=False,
        help_text="An algorithm on a dataset that a team submitted: decides neither the submission's status nor its quota.",
    )
    is_smoke = models.BooleanField(
        default=False,
        editable=False,
        help_text="On the phase's public mini split, before the others: never on a board, never charged.",
    )
    ingested_attempt = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Attempt whose predictions wait for a worker that only scores."
    )
    meters = models.JSONField(default=dict, blank=True)
    scores = models.JSONField(default=dict, blank=True)
    receipt = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["queued_at", "task_id"]  # those of one submission are queued at the same moment
        constraints = [
            models.UniqueConstraint(fields=["submission", "task"], name="one_run_per_submission_and_task"),
            models.CheckConstraint(
                name="run_lease_iff_held",
                condition=(
                    Q(state__in=HELD, lease_expires_at__isnull=False, lease_id__isnull=False)
                    | (~Q(state__in=HELD) & Q(lease_expires_at__isnull=True, lease_id__isnull=True))
                ),
            ),
            models.CheckConstraint(
                name="run_reason_iff_failed",
                condition=(Q(state=State.FAILED) & ~Q(reason="")) | (~Q(state=State.FAILED) & Q(reason="")),
            ),
        ]
        indexes = [
            models.Index(
                fields=["queue", "team", "priority", "queued_at", "id"],
                condition=Q(state=State.QUEUED),
                name="run_waiting",
            ),
            models.Index(fields=["queue"], condition=Q(state=State.QUEUED, faults__gt=0), name="run_tried_again"),
            models.Index(fields=["lease_expires_at"], condition=Q(state__in=HELD), name="run_leases"),
            models.Index(fields=["team"], condition=Q(state__in=HELD), name="run_in_flight"),
            models.Index(fields=["finished_at"], condition=Q(state__in=FINAL), name="run_ended"),
        ]

    def __str__(self) -> str:
        return f"run {self.id}"

    @property
    def attempts_shown(self) -> list[int]:
        """The newest attempt, and the one that made its predictions where another worker scored them."""
        return [self.attempt] if self.ingested_attempt is None else [self.ingested_attempt, self.attempt]

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


class TeamTurn(models.Model):
    """A team's turn on a queue: when it was last served, and since when it has waited.

    One row for each priority. A claim reads whose turn it is from the index alone.
    """

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    priority = models.SmallIntegerField()
    served_at = models.DateTimeField(default=NEVER, help_text="Of any priority.")
    served_before = models.DateTimeField(
        default=NEVER, help_text="The turn before, which a run that is given back leaves as the last."
    )
    waiting_since = models.DateTimeField(null=True, blank=True, help_text="Empty while no run waits.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "queue", "priority"], name="one_turn_per_team_queue_and_priority")
        ]
        indexes = [
            models.Index(
                fields=["queue", "-priority", "served_at", "waiting_since", "team"],
                condition=Q(waiting_since__isnull=False),
                name="turn_next",
            )
        ]

    def __str__(self) -> str:
        return f"{self.team} on {self.queue}: {self.served_at}"


class RunEvent(models.Model):
    """One line of a run's history: a move between states, or to another queue."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="events")
    attempt = models.PositiveSmallIntegerField()
    source = models.CharField(max_length=10, choices=State)
    target = models.CharField(max_length=10, choices=State)
    actor = models.CharField(max_length=200)
    note = models.CharField(max_length=1000, blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.source} → {self.target} (attempt {self.attempt})"


class RunLog(models.Model):
    """A piece of a run's log. Pieces of one stream are numbered; a repeated number is the same piece."""

    Stream = LogStream

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="log_pieces")
    attempt = models.PositiveSmallIntegerField()
    stream = models.CharField(max_length=10, choices=Stream)
    seq = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        ordering = ["seq"]
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "stream", "seq"], name="log_piece_once")]

    def __str__(self) -> str:
        return f"{self.stream} {self.seq}"


class RunUsage(models.Model):
    """CPU, memory and GPU use of an attempt's stage over time, in at most a hundred points.

    Kept as long as logs.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="usages")
    attempt = models.PositiveSmallIntegerField()
    stage = models.CharField(
        max_length=10, choices=LogStream, help_text="Whose: it is shown to whoever may read this log."
    )
    line = models.JSONField(
        help_text="Lists of one length: at_s, cpu_cores, memory_bytes, gpu_share, gpu_memory_bytes."
    )

    class Meta:
        ordering = ["attempt", "pk"]
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "stage"], name="usage_once_per_stage")]

    def __str__(self) -> str:
        return f"usage of {self.stage}"


class RunOutput(models.Model):
    """A file that an attempt left: predictions, the scoring program's output, whole logs."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="outputs")
    attempt = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=50)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "attempt", "name"], name="output_once_per_attempt")]

    def __str__(self) -> str:
        return self.name


class Attempt(models.Model):
    """The end of an attempt. An answer that is sent twice finds itself here and gets the same reply."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts")
    attempt = models.PositiveSmallIntegerField()
    lease_id = models.UUIDField(unique=True)
    worker = models.ForeignKey(ComputeWorker, on_delete=models.SET_NULL, null=True, related_name="+")
    ended_at = models.DateTimeField()
    is_answered = models.BooleanField(help_text="By its worker; otherwise the lease ran out.")
    has_run = models.BooleanField(default=False, help_text="One of its containers had started.")
    outcome = models.CharField(max_length=10, choices=State, help_text="State the run took.")
    reason = models.CharField(max_length=20, choices=Reason, blank=True)
    detail = models.CharField(max_length=1000, blank=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"attempt {self.attempt}: {self.outcome}"


class SlotUse(models.Model):
    """A worker's slot that a run uses, or used.

    The row stays, for what it cost, when what it names is gone.
    """

    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="slot_uses")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="slot_uses")
    competition = models.ForeignKey(Competition, on_delete=models.SET_NULL, null=True, related_name="+")
    phase = models.ForeignKey(Phase, on_delete=models.SET_NULL, null=True, related_name="+")
    team = models.ForeignKey(Team, on_delete=models.SET_NULL, null=True, related_name="+")
    job = OneLineField(max_length=100, blank=True, help_text="Id of the cluster's job that the worker was.")
    gpus = models.PositiveSmallIntegerField(default=0, help_text="That the run had for itself.")
    waits_since = models.DateTimeField(help_text="When the run began to wait for this slot.")
    started_at = models.DateTimeField(help_text="When its first container there started.")
    ended_at = models.DateTimeField(null=True, blank=True, help_text="Empty: the run uses it still.")

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["run"], condition=Q(ended_at=None), name="run_uses_one_slot")]
        indexes = [
            models.Index(
                fields=["queue", "ended_at"], include=["competition", "gpus", "started_at"], name="slot_use_of_queue"
            ),
            models.Index(fields=["competition", "ended_at"], name="slot_use_of_competition"),
        ]

    def __str__(self) -> str:
        return f"{self.run} on {self.queue} from {self.started_at}"


class GpuHours(models.Model):
    """The GPU hours a month that a queue gives one competition, in place of the queue's number for each."""

    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="gpu_hours")
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="gpu_hours")
    hours = models.PositiveIntegerField()

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["queue", "competition"], name="gpu_hours_once")]

    def __str__(self) -> str:
        return f"{self.competition} on {self.queue}: {self.hours} hours"


class ScoringErrorNotice(models.Model):
    """The last message to a phase's organizers about submissions on which their scoring program failed."""

    phase = models.OneToOneField(Phase, on_delete=models.CASCADE, related_name="+")
    sent_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.phase}: sent at {self.sent_at}"


class Rescoring(models.Model):
    """A submission that is scored again for a proposal: by a copy of it, which the organizers alone see."""

    proposal = models.ForeignKey(Proposal, on_delete=models.CASCADE, related_name="rescorings")
    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="rescorings")
    copy = models.OneToOneField(
        Submission, on_delete=models.CASCADE, related_name="rescores", help_text="Its runs have the proposed files."
    )
    taken_at = models.DateTimeField(null=True, help_text="When the submission took the copy's scores over.")
    former = models.JSONField(
        default=list, help_text="What was taken over: each run with its attempt, scores and receipt of before."
    )

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["proposal", "submission"], name="rescored_once_per_proposal")]

    def __str__(self) -> str:
        return f"{self.submission} for {self.proposal}"
