"""The calls of a worker and the site's answers, but for a job and the result of a run."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, field_validator

from workers.protocol.hosts import Calibration, Host, SelfTest, SlotFaults
from workers.protocol.images import MAX_IMAGES
from workers.protocol.messages import EmptyIsNone, Line, Measured, Message, NullIsEmpty, Sentence, line
from workers.protocol.stages import StageName

MAX_NAME = 100  # characters of a worker's name
MAX_PIECES = 64  # of a log, in one heartbeat
MAX_PIECE_CHARS = 64_000
MAX_POINTS = 100  # of one stage's line of usage; a run has three stages at most
MAX_STAGES = 4


JobId = Annotated[str, Field(pattern=r"\A([A-Za-z0-9][A-Za-z0-9._-]{0,99})?\z")]  # of a cluster's scheduler


class Role(StrEnum):
    """The stages that a worker runs.

    Scoring never runs participants' code, ingestion never sees reference data.
    """

    BOTH = "both"
    INGESTION = "ingestion"
    SCORING = "scoring"


class Register(Message):
    """A worker says who it is."""

    protocol: int
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    instance: Annotated[str, line(64)] = ""
    version: Annotated[str, line(50)] = ""
    slots: Annotated[int, Field(strict=True, ge=1, le=1000)] = 1
    host: Annotated[Host, NullIsEmpty] = Host()
    role: Role = Role.BOTH
    self_test: Annotated[SelfTest, NullIsEmpty] = SelfTest()
    calibration: Annotated[Calibration, NullIsEmpty] = Calibration()
    job: JobId = ""  # of a cluster, where the worker is one

    @field_validator("name")
    @classmethod
    def _is_printable(cls, name: str) -> str:
        if not name.isprintable() or not name.strip() or name != name.strip():
            raise ValueError(
                f"must be a name of at most {MAX_NAME} printable characters that neither begins nor ends with a blank, such as gpu-box-1"
            )
        return name


class Registered(Message):
    """The site's answer: who the worker is to it, where wake-ups come from, and the intervals."""

    worker_id: str
    queue: str
    wakeup_queue: str
    poll_s: float
    lease_s: float
    heartbeat_s: float


class Claim(Message):
    """A worker asks for a run. One that is sent again, with the same id, gets the same."""

    worker_id: Annotated[str, BeforeValidator(str)] = ""
    free_slots: Annotated[int, Field(strict=True, ge=0, le=1000)] = 0
    free_gpus: Annotated[int, Field(strict=True, ge=0, le=1000)] = 0
    claim_id: Annotated[str, line(64)] = ""
    slot_faults: SlotFaults = ()
    images: Annotated[tuple[Line, ...], Field(max_length=MAX_IMAGES)] | None = (
        None  # names on the host; None: not known
    )
    seconds_left: Measured = None  # that a run which is begun now may take; None: without an end
    memory_bytes: Measured = None  # that one run may use; None: whatever the host has


class Activity(StrEnum):
    """The progress of a worker with a run."""

    LEASED = "leased"
    PREPARING = "preparing"
    INGESTING = "ingesting"
    SCORING = "scoring"


class LogStream(StrEnum):
    """The source of a log: one for each stage, and the platform's own."""

    SUBMISSION = "submission"
    INGESTION = "ingestion"
    SCORING = "scoring"
    WORKER = "worker"


class LogPiece(Message):
    """A piece of a log. Those of one stream are numbered from 0; a repeated number is the same piece."""

    stream: LogStream
    seq: Annotated[int, Field(strict=True, ge=0, lt=2**31)]
    text: Annotated[str, Field(max_length=MAX_PIECE_CHARS)]


class Meters(Message):
    """The use of resources by a stage so far."""

    wall_s: Measured = None
    cpu_s: Measured = None
    memory_bytes: Measured = None
    memory_peak_bytes: Measured = None
    output_bytes: Measured = None
    bytes_written: Measured = None
    gpu_s: Measured = None
    gpu_memory_peak_bytes: Measured = None
    gpu_energy_j: Measured = None

    def known(self) -> dict[str, int | float]:
        """The meters that were measured."""
        return self.model_dump(exclude_none=True)


class Progress(Message):
    """The progress that the participant's program reports."""

    fraction: Measured = None


def _points(value: object) -> object:
    """The points of a list, at most `MAX_POINTS`; none of anything else."""
    return tuple(value[:MAX_POINTS]) if isinstance(value, list | tuple) else ()


Points = Annotated[tuple[Measured, ...], BeforeValidator(_points)]


class StageUsage(Message):
    """The line of a stage. Each point ends `at_s` seconds after the stage began.

    A point has the average of cores and of the GPU's share in use since the point before, and the most memory that was seen. The lists have
    one length; None: not known.
    """

    name: StageName
    at_s: Points = ()
    cpu_cores: Points = ()
    memory_bytes: Points = ()
    gpu_share: Points = ()
    gpu_memory_bytes: Points = ()


Usages = Annotated[tuple[StageUsage, ...], Field(max_length=MAX_STAGES), BeforeValidator(lambda value: value or ())]
"""The lines of a run's stages, each whole: what was sent before is replaced."""


class Heartbeat(Message):
    """A worker is still at it."""

    lease_id: Line = ""
    attempt: Measured = None
    state: Activity
    logs: Annotated[tuple[LogPiece, ...], Field(max_length=MAX_PIECES), BeforeValidator(lambda logs: logs or ())] = ()
    meters: Annotated[Meters, EmptyIsNone] = Meters()
    progress: Progress | None = None
    usage: Usages = ()


class Action(StrEnum):
    """The order that a worker gets about a run."""

    CONTINUE = "continue"
    CANCEL = "cancel"


class HeartbeatAnswer(Message):
    """`files`: renewed addresses by digest, while files are still being fetched."""

    action: Action = Action.CONTINUE
    lease_expires_at: str | None = None
    files: dict[str, str] = {}


class Release(Message):
    """A worker gives a run back whose containers never started, or were killed because its job ends.

    `interrupted` says so, in words for people.
    """

    lease_id: Line = ""
    attempt: Measured = None
    interrupted: Sentence = ""


METERED: Final = tuple(Meters.model_fields)
