"""How far a submission is, in the words and numbers of a page."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce

from competitions.compute.models import WORKER_SILENT_AFTER_S, ComputeWorker
from competitions.submissions.models import Run, Submission
from competitions.submissions.outlook import outlook_of
from competitions.submissions.states import HELD, REASONS, Reason, State


@dataclass(frozen=True)
class Progress:
    """`sentence` says what happens; the gauge runs from 0 to `limit_s` while the budget is being used."""

    sentence: str
    position: int | None = None  # in the queue, 1 is next
    contact: str = ""  # who runs the workers it waits for
    worker_seen_at: datetime | None = None
    is_silent: bool = False  # it waits, and no worker of its queue has been heard of lately
    earliest_s: float | None = None  # until it starts, nine times of ten
    latest_s: float | None = None
    elapsed_s: float | None = None
    limit_s: int | None = None
    projected_s: float | None = None  # of the whole run, by what the program says of its progress
    cpu_share: float | None = None
    memory_share: float | None = None
    blame: str = ""
    advice: str = ""

    @property
    def share(self) -> float | None:
        """Part of the budget used, 0 to 1."""
        if self.elapsed_s is None or not self.limit_s:
            return None
        return min(self.elapsed_s / self.limit_s, 1.0)

    @property
    def remaining_s(self) -> float | None:
        return max(self.limit_s - self.elapsed_s, 0.0) if self.limit_s and self.elapsed_s is not None else None


def runs_with_places() -> QuerySet[Run]:
    """Runs with their task and queue and, for those that wait, `place` and `worker_seen_at`; one query for any number.

    The place is one more than the runs that the queue hands out before; fair share may still change the order.
    """
    earlier = Q(priority__gt=OuterRef("priority")) | Q(
        priority=OuterRef("priority"), queued_at__lt=OuterRef("queued_at")
    )
    ahead = Run.objects.filter(earlier, queue=OuterRef("queue"), state=State.QUEUED).order_by()
    count = ahead.values("queue").annotate(count=Count("pk")).values("count")
    workers = ComputeWorker.objects.filter(queue=OuterRef("queue"), quarantined_at=None).order_by("-last_seen_at")
    return Run.objects.select_related("task", "queue").annotate(
        place=Case(When(state=State.QUEUED, then=Coalesce(Subquery(count), 0) + 1)),
        worker_seen_at=Case(When(state=State.QUEUED, then=Subquery(workers.values("last_seen_at")[:1]))),
    )


def progress_of(submission: Submission, *, now: datetime, run: Run | None = None) -> Progress:
    """The state of one run, or of the run that decides the submission's status; runs come from `runs_with_places`."""
    runs = list(submission.runs.all())
    chosen = run or next((one for one in runs if one.state == submission.status), runs[0] if runs else None)
    if chosen is None:
        return Progress(sentence="Nothing to run")
    if chosen.state == State.CHECKING:
        return Progress(sentence="The file is being checked; then it is queued")
    if chosen.state == State.QUEUED:
        return _queued(chosen, now)
    if chosen.state in HELD:
        return _held(chosen, submission, now)
    return _ended(chosen)


def with_outlook(progress: Progress, runs: list[Run], *, now: datetime) -> Progress:
    """The progress of something that waits, with its place in the order of fair turns and when it may start."""
    waiting = [run for run in runs if run.state == State.QUEUED and not run.cancel_requested_at]
    if progress.position is None or not waiting:
        return progress
    outlook = outlook_of(waiting[0], now=now)
    sentence = progress.sentence.replace(f"place {progress.position}", f"place {outlook.place}", 1)
    return replace(
        progress, sentence=sentence, position=outlook.place, earliest_s=outlook.earliest_s, latest_s=outlook.latest_s
    )


def _queued(run: Run, now: datetime) -> Progress:
    if run.cancel_requested_at:
        return Progress(sentence="Being cancelled")
    place: int = run.place  # type: ignore[attr-defined]  # an annotation
    seen_at: datetime | None = run.worker_seen_at  # type: ignore[attr-defined]
    sentence = f"Waiting at place {place} of the queue"
    if run.queue.is_paused:
        sentence = f"Waiting at place {place}; the organizers have paused the queue"
    elif run.not_before > now and run.attempt > 1:
        sentence = f"Waiting for attempt {run.attempt}, after a fault on our side"
    return Progress(
        sentence=sentence, position=place, contact=run.queue.contact, worker_seen_at=seen_at,
        is_silent=seen_at is None or (now - seen_at).total_seconds() > WORKER_SILENT_AFTER_S,
    )  # fmt: skip


def _held(run: Run, submission: Submission, now: datetime) -> Progress:
    if run.cancel_requested_at:
        return Progress(sentence="Being cancelled")
    if run.state == State.INGESTING and run.started_at:
        limit_s = submission.phase.time_limit_s
        elapsed = max((now - run.started_at).total_seconds(), 0.0)
        cpu_share, memory_share = _shares(run, submission)
        return Progress(
            sentence="Your program runs", elapsed_s=min(elapsed, float(limit_s)), limit_s=limit_s,
            projected_s=_projected(run, elapsed), cpu_share=cpu_share, memory_share=memory_share,
        )  # fmt: skip
    if run.state == State.SCORING:
        return Progress(sentence="The scoring program runs")
    return Progress(sentence="A compute worker prepares the run; this is not charged to your budget")


def _projected(run: Run, elapsed_s: float) -> float | None:
    """Seconds that the whole run takes if it goes on as its `progress.json` says; shown, never acted on."""
    said = run.meters.get("progress")
    fraction = said.get("fraction") if isinstance(said, dict) else None
    return elapsed_s / fraction if isinstance(fraction, float | int) and 0.01 <= fraction <= 1 else None


def _shares(run: Run, submission: Submission) -> tuple[float | None, float | None]:
    """Parts of the granted processor time and memory that are in use, 0 to 1; a host may grant fewer cores than the phase."""
    meters, phase = run.meters, submission.phase
    wall, cpu, memory = (meters.get(name) for name in ("wall_s", "cpu_s", "memory_bytes"))
    cpu_share = min(cpu / (wall * phase.cpus), 1.0) if wall and cpu is not None and phase.cpus else None
    return cpu_share, min(memory / phase.memory_bytes, 1.0) if memory is not None and phase.memory_bytes else None


def _ended(run: Run) -> Progress:
    meters: dict[str, Any] = run.meters
    elapsed = meters.get("wall_s")
    if run.state == State.FAILED:
        info = REASONS[Reason(run.reason)]
        sentence = (
            f"Failed, {Reason(run.reason).label}: {run.detail}" if run.detail else f"Failed: {Reason(run.reason).label}"
        )
        return Progress(sentence=sentence, elapsed_s=elapsed, blame=info.blame.label, advice=info.advice)
    return Progress(sentence="", elapsed_s=elapsed)  # the status word says it all
