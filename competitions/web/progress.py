"""How far a submission is, in the words and numbers of a page."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from competitions.submissions.models import Run, Submission
from competitions.submissions.states import HELD, REASONS, Reason, State


@dataclass(frozen=True)
class Progress:
    """`sentence` says what happens; the gauge runs from 0 to `limit_s` while the budget is being used."""

    sentence: str
    position: int | None = None  # in the queue, 1 is next
    elapsed_s: float | None = None
    limit_s: int | None = None
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


def progress_of(submission: Submission, *, now: datetime, run: Run | None = None) -> Progress:
    """The state of one run, or of the run that decides the submission's status."""
    runs = list(submission.runs.all())
    chosen = run or next((one for one in runs if one.state == submission.status), runs[0] if runs else None)
    if chosen is None:
        return Progress(sentence="Nothing to run")
    if chosen.state == State.QUEUED:
        return _queued(chosen, now)
    if chosen.state in HELD:
        return _held(chosen, submission, now)
    return _ended(chosen)


def queue_position(run: Run) -> int:
    """Runs of the same queue that are handed out before this one, plus one; fair share may still change the order."""
    waiting = Run.objects.filter(queue=run.queue_id, state=State.QUEUED)
    ahead = waiting.filter(priority__gt=run.priority) | waiting.filter(
        priority=run.priority, queued_at__lt=run.queued_at
    )
    return ahead.count() + 1


def _queued(run: Run, now: datetime) -> Progress:
    if run.cancel_requested_at:
        return Progress(sentence="Being cancelled")
    position = queue_position(run)
    if run.queue.is_paused:
        return Progress(
            sentence=f"Waiting at place {position}; the organizers have paused the queue", position=position
        )
    if run.not_before > now:
        return Progress(sentence=f"Waiting for attempt {run.attempt}, after a fault on our side", position=position)
    return Progress(sentence=f"Waiting at place {position} of the queue", position=position)


def _held(run: Run, submission: Submission, now: datetime) -> Progress:
    if run.cancel_requested_at:
        return Progress(sentence="Being cancelled")
    if run.state == State.INGESTING and run.started_at:
        limit_s = submission.phase.time_limit_s
        elapsed = max((now - run.started_at).total_seconds(), 0.0)
        return Progress(sentence="Your program runs", elapsed_s=min(elapsed, float(limit_s)), limit_s=limit_s)
    if run.state == State.SCORING:
        return Progress(sentence="The scoring program runs")
    return Progress(sentence="A compute worker prepares the run; this is not charged to your budget")


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
