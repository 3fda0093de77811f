"""The progress of a submission, in the words and numbers of a page."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from competitions.compute.launchers import expected_nodes
from competitions.runs.models import Run
from competitions.runs.queue.positions import QueuePosition, queue_wait
from competitions.runs.queue.smoke import time_limit_s
from competitions.runs.records.budget import budget_use
from competitions.submissions.models import Submission
from competitions.submissions.states import HELD, REASONS, Blame, Kind, Reason, State


@dataclass(frozen=True)
class Progress:
    """`sentence` says what happens; the gauge runs from 0 to `limit_s` while the budget is being used."""

    sentence: str
    position: int | None = None  # in the queue, 1 is next
    contact: str = ""  # who runs the workers it waits for
    worker_seen_at: datetime | None = None
    is_silent: bool = False  # it waits, and no worker of its queue has been heard of lately
    starts_node: bool = False  # it waits, and a cluster has been asked for a node
    node_at: datetime | None = None  # when the cluster expects that node
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
    def percent(self) -> int | None:
        """The same for a ring of 100 parts."""
        return None if self.share is None else round(100 * self.share)

    @property
    def projected_percent(self) -> int | None:
        """The end of the ring if the run goes on at this pace."""
        return round(min(100 * self.projected_s / self.limit_s, 100)) if self.projected_s and self.limit_s else None

    @property
    def remaining_s(self) -> float | None:
        return max(self.limit_s - self.elapsed_s, 0.0) if self.limit_s and self.elapsed_s is not None else None


def submission_progress(
    submission: Submission, positions: Mapping[UUID, QueuePosition], *, now: datetime, run: Run | None = None
) -> Progress:
    """The progress of a run, or of the one that decides the status; `positions`: of waiting runs."""
    runs = sorted(submission.runs.all(), key=lambda each: each.is_smoke)
    chosen = run or next((each for each in runs if each.state == submission.status), runs[0] if runs else None)
    if chosen is None:
        return Progress(sentence="Nothing to run")
    if chosen.state == State.CHECKING:
        return Progress(sentence="The file is being checked; then it is queued")
    if chosen.state == State.UNSTARTED:
        return Progress(sentence="It is waiting for the organizers to start it; there is nothing for you to do")
    if chosen.state == State.QUEUED:
        return _queued(chosen, positions.get(chosen.pk), now)
    if chosen.state in HELD:
        return _held(chosen, submission, now)
    return _ended(chosen, submission)


def without_advice(progress: Progress) -> Progress:
    """The progress for those who organize: the advice is for the team."""
    is_the_teams = progress.blame == Blame.PARTICIPANT.label
    return replace(progress, blame="the team's submission" if is_the_teams else progress.blame, advice="")


def with_expected_start(progress: Progress, runs: list[Run], *, now: datetime) -> Progress:
    """The progress of something that waits, with when it may start, or with the node that is started."""
    waiting = [run for run in runs if run.state == State.QUEUED and not run.cancel_requested_at]
    if progress.position and waiting:
        queue = waiting[0].queue
        node = None if queue.is_paused else expected_nodes([queue], now=now).get(queue.pk)
        if node is not None:
            return replace(progress, starts_node=True, node_at=node.starts_at)
    start = queue_wait(waiting[0].queue, progress.position, now=now) if progress.position and waiting else None
    return progress if start is None else replace(progress, earliest_s=start[0], latest_s=start[1])


def _queued(run: Run, position: QueuePosition | None, now: datetime) -> Progress:
    if run.cancel_requested_at:
        return Progress(sentence="Being cancelled")
    if position is None:  # a worker took it a moment ago
        return Progress(sentence="Waiting in the queue")
    if position.goes_on_at is not None:
        return Progress(sentence=_without_gpu_hours(position.goes_on_at), contact=run.queue.contact)
    sentence = "First in the queue" if position.place == 1 else f"Waiting at place {position.place} of the queue"
    if run.queue.is_paused:
        sentence = f"Waiting at place {position.place}; the organizers have paused the queue"
    elif run.not_before > now and run.attempt > 1:
        sentence = f"Waiting for attempt {run.attempt}, after an error on our side"
    return Progress(
        sentence=sentence,
        position=position.place,
        contact=run.queue.contact,
        worker_seen_at=position.worker_seen_at,
        is_silent=position.is_silent(now),
    )


def _without_gpu_hours(goes_on_at: datetime) -> str:
    return (
        "Waiting: the competition has used up its GPU hours for this month. It keeps its place, and starts from "
        f"{goes_on_at:%-d %B} (UTC), or as soon as more are given; there is nothing for you to do"
    )


def _held(run: Run, submission: Submission, now: datetime) -> Progress:
    if run.cancel_requested_at:
        return Progress(sentence="Being cancelled")
    if (use := budget_use(run, submission.phase, now=now)) is not None:
        cpu_share, memory_share = _shares(run, submission)
        return Progress(
            sentence=f"Your program runs{' on the public mini split' if run.is_smoke else ''}",
            elapsed_s=use.elapsed_s,
            limit_s=use.limit_s,
            projected_s=use.projected_s,
            cpu_share=cpu_share,
            memory_share=memory_share,
        )
    if run.state == State.SCORING:
        return Progress(sentence="The scoring program runs")
    return Progress(sentence="A compute worker is preparing the run; this is not charged to your budget")


def _shares(run: Run, submission: Submission) -> tuple[float | None, float | None]:
    """Used parts of processor time and memory, 0 to 1; a host may grant fewer cores than the phase."""
    meters, phase = run.meters, submission.phase
    wall, cpu, memory = (meters.get(name) for name in ("wall_s", "cpu_s", "memory_bytes"))
    cpu_share = min(cpu / (wall * phase.cpus), 1.0) if wall and cpu is not None and phase.cpus else None
    return cpu_share, min(memory / phase.memory_bytes, 1.0) if memory is not None and phase.memory_bytes else None


def _ended(run: Run, submission: Submission) -> Progress:
    elapsed: float | None = run.meters.get("wall_s")
    if run.state == State.FAILED:
        info = REASONS[Reason(run.reason)]
        is_free = run.is_smoke and not submission.is_smoke and not submission.is_charged
        label = Reason(run.reason).label
        label = label[0].upper() + label[1:]
        # "The program failed: it ended with exit code 1." rather than the same subject twice.
        subject, detail = label.removesuffix("failed"), run.detail
        if subject != label and detail.startswith(subject):
            detail = f"it {detail.removeprefix(subject)}"
        return Progress(
            sentence=f"{label}: {detail}" if detail else label,
            elapsed_s=elapsed,
            limit_s=_budget_s(run, submission),
            blame=info.blame.label,
            advice=f"{info.advice} It cost no quota." if is_free and info.charged else info.advice,
        )
    return Progress(sentence="", elapsed_s=elapsed, limit_s=_budget_s(run, submission))  # the status word says it all


def _budget_s(run: Run, submission: Submission) -> int | None:
    """The seconds that a team's program may take; files that are only scored have no budget."""
    return time_limit_s(run, submission.phase) if submission.kind == Kind.CODE else None
