"""The result of a run: the body of `complete`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from workers.protocol.calls import MAX_STAGES, Meters, Usages
from workers.protocol.hosts import Host
from workers.protocol.limits import Limits
from workers.protocol.messages import Line, Measured, Message, NullIsEmpty, OptionalLine, Sentence, Word, line
from workers.protocol.stages import StageName

MAX_NOTES = 20


class Outcome(StrEnum):
    """The end of a job. `ingested`: its predictions wait for a worker that scores."""

    FINISHED = "finished"
    INGESTED = "ingested"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Reason(StrEnum):
    """The reason of a run's failure; whose fault it is follows from it."""

    PROGRAM_ERROR = "program_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    DISK_LIMIT = "disk_limit"
    ENVIRONMENT_ERROR = "environment_error"
    OUTPUT_INVALID = "output_invalid"
    SCORING_ERROR = "scoring_error"
    SETUP_ERROR = "setup_error"
    INFRASTRUCTURE = "infrastructure"


class Verdict(Message):
    """The end of a run, a stable word for its cause, and a sentence. Organizers' programs add own words.

    `refused_by` is `ingestion` where the words are that program's, which may know what a team must not read.
    """

    outcome: Outcome
    reason: Reason | None = None
    code: Word = ""
    detail: Sentence = ""
    refused_by: Word = ""

    @model_validator(mode="after")
    def _check_reason(self) -> "Verdict":
        if self.outcome == Outcome.FAILED and self.reason is None:
            raise ValueError(f"a failure has a 'reason': one of {', '.join(Reason)}")
        return self


class StageRecord(Meters):
    """One stage that was run: evidence for the receipt."""

    name: StageName
    image: Line = ""
    image_digest: Line = ""
    exit_code: Measured = None
    oom_killed: bool = False
    killed_by: OptionalLine = None
    started_at: Line = ""
    finished_at: Line = ""
    output_files: Measured = None
    gpu_uuid: OptionalLine = None
    limits: Limits | None = None


class Output(Message):
    """A file that was sent before: it must have arrived with this digest."""

    sha256: Line = ""
    size_bytes: Measured = None


class Timings(Message):
    """Seconds that the worker spent beside the stages."""

    pull_s: Measured = None
    staging_s: Measured = None
    collect_s: Measured = None


def _texts(value: object) -> list[str]:
    return [note for note in value[:MAX_NOTES] if isinstance(note, str)] if isinstance(value, list | tuple) else []


class Complete(Verdict):
    """The result. `scores` are judged by the site, which knows the board; `notes` are remarks for people."""

    lease_id: Line = ""
    attempt: Measured = None
    scores: Mapping[str, object] | None = None
    outputs: Annotated[dict[str, Output], NullIsEmpty] = {}
    stages: Annotated[tuple[StageRecord, ...], Field(max_length=MAX_STAGES), BeforeValidator(lambda v: v or ())] = ()
    timings: Annotated[Timings, NullIsEmpty] = Timings()
    host: Annotated[Host, NullIsEmpty] = Host()
    worker_version: Annotated[str, line(50)] = ""
    notes: Annotated[tuple[Line, ...], BeforeValidator(_texts)] = ()
    usage: Usages = ()

    def without_output(self, name: str) -> "Complete":
        """The result without a file that the site did not take."""
        return self.model_copy(update={"outputs": {key: value for key, value in self.outputs.items() if key != name}})
