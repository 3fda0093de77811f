"""The jobs to start and to cancel, as a pure function of what waits and of the jobs that there are."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from workers.launchers.config import JobKind
from workers.protocol.launching import Problem, QueueDepth, ResourceClass

MIB: Final = 1 << 20
MOST_AT_ONCE: Final = 20  # jobs that one round submits for a kind
START_S: Final = 120  # a worker's start, before it claims


@dataclass(frozen=True)
class Size:
    """The size of a job: minutes, and memory for one run."""

    time_min: int
    memory_mib: int


@dataclass(frozen=True)
class AliveJob:
    """A job that has not ended.

    `seconds_left` is what a run may take which it begins now, or when it starts.
    """

    id: str
    number: int
    is_pending: bool
    is_busy: bool
    seconds_left: float
    memory_mib: int


@dataclass(frozen=True)
class JobPlan:
    """Jobs to submit, each with its number, and pending jobs to cancel."""

    submit: tuple[tuple[int, Size], ...] = ()
    cancel: tuple[str, ...] = ()


def size_for(kind: JobKind, wall_s: int, memory_bytes: int) -> Size:
    """The size of a job for a run that needs this much."""
    time_min = math.ceil((wall_s + 2 * kind.drain_s + START_S) / 60)
    return Size(max(time_min, kind.min_time_min), math.ceil(memory_bytes / MIB))


def why_too_large(kind: JobKind, need: ResourceClass) -> Problem | None:
    """The setting that keeps runs of a class out of a kind of jobs; None where they fit."""
    size = size_for(kind, need.wall_s, need.memory_bytes)
    if size.time_min > kind.max_time_min:
        words = f"{need.waiting} runs wait that need jobs of {size.time_min} minutes; at most {kind.max_time_min} are allowed."
        return Problem(queue=kind.queue, kind=kind.name, setting="max_time_min", detail=words)
    if size.memory_mib > kind.max_memory_mib:
        words = f"{need.waiting} runs wait that need {size.memory_mib} MiB of memory; at most {kind.max_memory_mib} are allowed."
        return Problem(queue=kind.queue, kind=kind.name, setting="max_memory_mib", detail=words)
    return None


def share_classes(
    kinds: Sequence[JobKind], depth: QueueDepth
) -> tuple[dict[str, list[ResourceClass]], tuple[Problem, ...]]:
    """The classes of a queue by the kind of jobs that serves them, and what no kind serves.

    A class goes to the first kind of its isolation with as many GPUs into which it fits, else to the first with more.
    """
    shares: dict[str, list[ResourceClass]] = {kind.name: [] for kind in kinds}
    problems = []
    for need in depth.classes:
        isolating = [kind for kind in kinds if need.isolation in kind.isolations]
        candidates = sorted((kind for kind in isolating if kind.gpus >= need.gpus), key=lambda kind: kind.gpus)
        reasons = [(kind, why_too_large(kind, need)) for kind in candidates]
        fitting = next((kind for kind, reason in reasons if reason is None), None)
        if fitting is not None:
            shares[fitting.name].append(need)
        elif need.waiting and reasons:
            problems += [reason for _, reason in reasons[-1:] if reason is not None]
        elif need.waiting and not isolating:
            words = f"{need.waiting} runs wait that need the isolation “{need.isolation}”, and no kind of jobs for the queue offers it."
            problems.append(Problem(queue=depth.queue, kind=kinds[0].name, setting="isolations", detail=words))
        elif need.waiting:
            words = f"{need.waiting} runs wait that need a GPU, and no kind of jobs for the queue has one."
            problems.append(Problem(queue=depth.queue, kind=kinds[0].name, setting="gpus", detail=words))
    return shares, tuple(problems)


def plan_jobs(kind: JobKind, needs: Iterable[ResourceClass], alive: Sequence[AliveJob]) -> JobPlan:
    """The jobs to submit and to cancel, so that each waiting run has a job that it fits into.

    Jobs that are free take waiting runs first, the smallest that will do. At most `maximum` live at a time, at least `minimum`.
    """
    free = sorted((job for job in alive if not job.is_busy), key=lambda job: (job.is_pending, job.seconds_left))
    missing: list[Size] = []
    for need in sorted(needs, key=lambda need: (-need.wall_s, -need.memory_bytes)):
        for _ in range(min(need.waiting, kind.maximum)):
            job = next((job for job in free if _fits(need, job)), None)
            if job is None:
                missing.append(size_for(kind, need.wall_s, need.memory_bytes))
            else:
                free.remove(job)
    taken = {job.number for job in alive}
    submit: list[tuple[int, Size]] = []
    for number in range(1, kind.maximum + 1):
        if number in taken or len(alive) + len(submit) >= kind.maximum:
            continue
        if number <= kind.minimum:  # one that stays may be asked for anything
            submit.append((number, Size(kind.max_time_min, kind.max_memory_mib)))
            missing = missing[1:]
        elif missing:
            submit.append((number, missing.pop(0)))
    unused = [job.id for job in free if job.is_pending and job.number > kind.minimum]
    return JobPlan(submit=tuple(submit[:MOST_AT_ONCE]), cancel=tuple(unused))


def _fits(need: ResourceClass, job: AliveJob) -> bool:
    return need.wall_s <= job.seconds_left and need.memory_bytes <= job.memory_mib * MIB
