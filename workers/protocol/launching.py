"""The messages between the site and a launcher, which keeps enough workers in a cluster."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, model_validator

from workers.protocol.calls import JobId
from workers.protocol.hosts import Isolation
from workers.protocol.messages import Line, Message, Sentence, Word, line

MAX_JOBS: Final = 5000
MAX_PROBLEMS: Final = 50
MAX_KINDS: Final = 1000
LAST_INSTANT: Final = 2**33  # seconds since 1970: the year 2242

Instant = Annotated[float, Field(ge=0, lt=LAST_INSTANT)]
Count = Annotated[int, Field(strict=True, ge=0, le=10**9)]
Seconds = Annotated[int, Field(strict=True, ge=0, lt=2**40)]
Bytes = Annotated[int, Field(strict=True, ge=0, lt=2**60)]


class ResourceClass(Message):
    """Runs of a queue that need the same: how many wait, and how many are held by workers of clusters.

    `wall_s` is all that a run may take, with its scoring and the building of its environment.
    """

    gpus: Annotated[int, Field(strict=True, ge=0, le=64)]
    memory_bytes: Bytes
    wall_s: Seconds
    isolation: Isolation = Isolation.STANDARD
    waiting: Count
    held: Count


class QueueDepth(Message):
    """The depth of a queue.

    `total` is what waits and what is held: that many jobs have something to do.
    `busy_jobs` are the cluster's jobs whose workers hold runs, `silent_jobs` those whose workers were not heard of for the time of a
    lease: they will take none. `fruitless_jobs` counts the newest that ended without a run.
    """

    queue: Annotated[str, Field(pattern=r"\A[a-z0-9][a-z0-9-]{0,62}\z")]
    is_paused: bool = False
    waiting: Count
    held: Count
    total: Count
    classes: Annotated[tuple[ResourceClass, ...], Field(max_length=1000)] = ()
    busy_jobs: Annotated[tuple[JobId, ...], Field(max_length=MAX_JOBS)] = ()
    silent_jobs: Annotated[tuple[JobId, ...], Field(max_length=MAX_JOBS)] = ()
    fruitless_jobs: Count = 0


class Depth(Message):
    """The answer to a launcher: each of its queues."""

    queues: Annotated[tuple[QueueDepth, ...], Field(max_length=1000)] = ()


class JobState(StrEnum):
    """The state of a job in its cluster."""

    PENDING = "pending"
    RUNNING = "running"
    ENDED = "ended"


class JobEnd(StrEnum):
    """The way in which a job ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    NODE_FAIL = "node_fail"
    OUT_OF_MEMORY = "out_of_memory"
    UNKNOWN = "unknown"


class JobReport(Message):
    """A job as its cluster knows it. Times are seconds since 1970."""

    id: JobId
    queue: Annotated[str, Field(min_length=1, max_length=63)]
    kind: Word = ""
    state: JobState
    end: JobEnd | None = None
    detail: Line = ""
    nodes: Line = ""
    gpus: Annotated[int, Field(strict=True, ge=0, le=1000)] = 0
    memory_bytes: Bytes | None = None
    time_limit_s: Seconds | None = None
    submitted_at: Instant
    expected_start_at: Instant | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None

    @model_validator(mode="after")
    def _check_end(self) -> "JobReport":
        if (self.state == JobState.ENDED) != (self.end is not None):
            raise ValueError(f"a job has an 'end' exactly when its 'state' is 'ended': one of {', '.join(JobEnd)}")
        return self


class Problem(Message):
    """A reason that keeps a launcher from starting jobs, with the setting of its file to change.

    Without a queue, it is about all of them.
    """

    queue: Word = ""
    kind: Word = ""
    setting: Word = ""
    detail: Sentence


class LauncherReport(Message):
    """A launcher's report. `source` is the user and the cluster that its jobs belong to.

    `is_complete` says that these are all jobs that the cluster knows of the kinds in the launcher's file, which are `kinds`.
    """

    source: Annotated[str, Field(min_length=1, max_length=200)]
    version: Annotated[str, BeforeValidator(str), line(50)] = ""
    is_complete: bool = False
    kinds: Annotated[tuple[Word, ...], Field(max_length=MAX_KINDS)] = ()
    jobs: Annotated[tuple[JobReport, ...], Field(max_length=MAX_JOBS)] = ()
    problems: Annotated[tuple[Problem, ...], Field(max_length=MAX_PROBLEMS)] = ()
