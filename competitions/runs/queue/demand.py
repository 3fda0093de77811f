"""The time and memory that runs need at most: for what fits a worker's job, and for launchers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final

from django.conf import settings
from django.db.models import BigIntegerField, Case, CharField, Count, F, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Greatest, Least

from competitions.compute.models import ClusterJob, Launcher, Queue
from competitions.runs.accounting.gpu_hours import within_gpu_hours
from competitions.runs.models import Attempt, Run
from competitions.submissions.states import HELD, State
from workers.protocol.hosts import Isolation
from workers.protocol.launching import MAX_JOBS, Depth, QueueDepth, ResourceClass
from workers.protocol.plan import Needs
from workers.protocol.smoke import SMOKE_WALL_S

LOOKED_BACK: Final = 10  # jobs
PHASE: Final = "submission__phase__"
BESIDE_SCORING: Final = Q(task__ingestion_program__isnull=False, task__ingestion_only_during_scoring=True)
# Queue, GPUs, isolation, memory and seconds.
ClassKey = tuple[int, int, str, int, int]
TWO_PROGRAMS: Final = Q(task__ingestion_program__isnull=False) & Q(**{f"{PHASE}as_on_codabench": True})


@dataclass(frozen=True)
class Room:
    """Room for one run in a worker's job; None: without a bound."""

    seconds: float | None = None
    memory_bytes: float | None = None


UNBOUNDED: Final = Room()


def fitting_in(runs: QuerySet[Run], room: Room) -> QuerySet[Run]:
    """The runs that end in time and find enough memory, whatever their programs do."""
    if room.seconds is not None:
        runs = runs.alias(at_most_s=needed_seconds()).filter(at_most_s__lte=int(room.seconds))
    if room.memory_bytes is not None:
        runs = runs.alias(at_most_bytes=needed_memory()).filter(at_most_bytes__lte=int(room.memory_bytes))
    return runs


def needed_seconds() -> Combinable:
    """The seconds that a run needs: limits of the stages left, and the time to build its environment."""
    program, scoring, limit_s = _limit("time_limit_s"), _limit("scoring_time_limit_s"), _whole(Value(SMOKE_WALL_S))
    first = _case(When(needs=Needs.SCORING, then=_whole(Value(0))), default=program)
    last = _case(When(BESIDE_SCORING, then=Greatest(program, scoring)), default=scoring)
    stages = _case(When(is_smoke=True, then=Least(first, limit_s) + Least(last, limit_s)), default=first + last)
    has_build = Q(submission__requirements__isnull=False) & ~Q(needs=Needs.SCORING)
    return stages + _case(When(has_build, then=_whole(F("queue__environment_time_limit_s"))), default=_whole(Value(0)))


def needed_memory() -> Combinable:
    """The most memory that containers of a run may use at the same time."""
    program, scoring = _limit("memory_bytes"), _limit("scoring_memory_bytes")
    first = _case(When(TWO_PROGRAMS, then=program + program), default=program)
    return _case(
        When(needs=Needs.SCORING, then=scoring),
        When(BESIDE_SCORING, then=program + scoring),
        default=Greatest(first, scoring),
    )


def needed_isolation() -> Combinable:
    """The isolation of a run: gVisor for code of phases that ask for it; scoring alone runs anywhere."""
    is_sandboxed = Q(**{f"{PHASE}isolation": Isolation.SANDBOXED}) & ~Q(needs=Needs.SCORING)
    standard, sandboxed = Value(Isolation.STANDARD.value), Value(Isolation.SANDBOXED.value)
    return Case(When(is_sandboxed, then=sandboxed), default=standard, output_field=CharField())


def _limit(setting: str) -> Cast:
    return _whole(F(f"{PHASE}{setting}"))


def _whole(value: Combinable) -> Cast:
    """A number of 64 bits: sums of limits may be too large for the columns that these come from."""
    return Cast(value, BigIntegerField())


def _case(*whens: When, default: Combinable) -> Case:
    return Case(*whens, default=default, output_field=BigIntegerField())


def launcher_depth(launcher: Launcher, *, now: datetime) -> Depth:
    """The depth of each of a launcher's queues."""
    return Depth(queues=queue_depths(launcher.queues.all(), now=now))


def queue_depths(queues: Iterable[Queue], *, now: datetime) -> tuple[QueueDepth, ...]:
    """Runs that wait on queues, and those that workers of clusters hold, by what they need.

    A paused queue, and a competition whose GPU hours are used up, have no waiting runs for a launcher: nothing would be
    handed out.
    """
    chosen = list(queues)
    waiting = Run.objects.filter(queue__in=chosen, queue__is_paused=False, state=State.QUEUED)
    waiting = waiting.filter(faults__lt=settings.MAX_ATTEMPTS)
    for queue in chosen:
        waiting = within_gpu_hours(waiting, queue, now=now)
    held = Run.objects.filter(queue__in=chosen, state__in=HELD).exclude(worker=None).exclude(worker__job="")
    counts: dict[ClassKey, list[int]] = {}
    for place, runs in enumerate((waiting, held)):
        for key, count in _by_class(runs):
            counts.setdefault(key, [0, 0])[place] += count
    return tuple(_with_jobs(class_depth(queue, _classes(queue, counts)), queue, now) for queue in chosen)


def _with_jobs(depth: QueueDepth, queue: Queue, now: datetime) -> QueueDepth:
    """The depth with the cluster's jobs that serve the queue."""
    alive = queue.jobs.exclude(state=ClusterJob.State.ENDED).values("job")
    workers = queue.workers.filter(job__in=alive)
    held = Run.objects.filter(queue=queue, state__in=HELD, worker__in=workers)
    silent = workers.filter(last_seen_at__lt=now - timedelta(seconds=settings.LEASE_S))
    jobs = {
        "busy_jobs": tuple(sorted(set(held.values_list("worker__job", flat=True)))[:MAX_JOBS]),
        "silent_jobs": tuple(sorted(set(silent.values_list("job", flat=True)))[:MAX_JOBS]),
        "fruitless_jobs": _fruitless_jobs(queue),
    }
    return depth.model_copy(update=jobs)


def _fruitless_jobs(queue: Queue) -> int:
    """The number of newest jobs that ended by themselves and whose workers took no run."""
    ended = queue.jobs.filter(state=ClusterJob.State.ENDED, end_reason=ClusterJob.End.COMPLETED)
    newest = list(ended.order_by("-ended_at").values_list("job", flat=True)[:LOOKED_BACK])
    attempts = Attempt.objects.filter(worker__queue=queue, worker__job__in=newest)
    runs = Run.objects.filter(worker__queue=queue, worker__job__in=newest)
    useful = {*attempts.values_list("worker__job", flat=True), *runs.values_list("worker__job", flat=True)}
    return sum(1 for _ in takewhile(lambda job: job not in useful, newest))


def _by_class(runs: QuerySet[Run]) -> list[tuple[ClassKey, int]]:
    """((queue, GPUs, isolation, memory, seconds), number of runs)."""
    classes = runs.alias(
        isolation=needed_isolation(), at_most_bytes=needed_memory(), at_most_s=needed_seconds()
    ).order_by()
    rows: Iterable[Any] = classes.values_list(
        "queue", "gpus", F("isolation"), F("at_most_bytes"), F("at_most_s")
    ).annotate(runs=Count("*"))
    return [((row[0], row[1], row[2], row[3], row[4]), row[5]) for row in rows]


def _classes(queue: Queue, counts: dict[ClassKey, list[int]]) -> list[ResourceClass]:
    return [
        ResourceClass(
            gpus=1 if gpus else 0,  # a run gets one, whatever its phase says
            isolation=Isolation(isolation),
            memory_bytes=memory_bytes,
            wall_s=wall_s,
            waiting=waiting,
            held=held,
        )
        for (pk, gpus, isolation, memory_bytes, wall_s), (waiting, held) in sorted(counts.items())
        if pk == queue.pk
    ]


def class_depth(queue: Queue, classes: Sequence[ResourceClass]) -> QueueDepth:
    """The depth of a queue that has these classes, without the jobs that serve it."""
    waiting, held = sum(each.waiting for each in classes), sum(each.held for each in classes)
    return QueueDepth(
        queue=queue.name,
        is_paused=queue.is_paused,
        waiting=waiting,
        held=held,
        total=waiting + held,
        classes=tuple(classes),
    )
