"""A job: one attempt of one run, with the addresses of just its files."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from workers.protocol.images import parse_image
from workers.protocol.limits import Limits
from workers.protocol.messages import (
    TAG,
    Identifier,
    Message,
    NonEmpty,
    Number,
    Sha256,
    Whole,
    line,
    read_message,
)
from workers.protocol.stages import Mounted, StageOutput, StageShape, Target, check_order


class FileRef(Message):
    """One input file: where to fetch it, and the digest that it must have."""

    url: NonEmpty
    sha256: Sha256
    size_bytes: Whole
    name: Annotated[str, Field(pattern=r"\A[^/\\\x00-\x1f\x7f]{1,200}\z")] = "file"

    @field_validator("name")
    @classmethod
    def _is_no_folder(cls, name: str) -> str:
        if name in (".", ".."):
            raise ValueError("must be a plain file name")
        return name


class StagedFile(Mounted):
    """A file, unpacked or not."""

    file: FileRef
    unpack: bool = False


def _variant(value: Any) -> str | None:
    if isinstance(value, Mounted):
        return f"{TAG}{'output' if isinstance(value, StageOutput) else 'file'}"
    if not isinstance(value, dict) or (value.get("file") is None) == (value.get("stage_output") is None):
        return None
    return f"{TAG}{'output' if value.get('file') is None else 'file'}"


EITHER = Discriminator(
    _variant, custom_error_type="mount", custom_error_message="must have either a file or a stage_output"
)
Mount = Annotated[Annotated[StagedFile, Tag(f"{TAG}file")] | Annotated[StageOutput, Tag(f"{TAG}output")], EITHER]


class PullPolicy(StrEnum):
    """When a worker pulls an image."""

    MISSING = "missing"
    ALWAYS = "always"
    NEVER = "never"


class Stage(StageShape[Mount]):
    """One container of the job. Its `command` is an argv, or read from the program in `command_from`."""

    image: str
    pull: PullPolicy
    command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    command_from: Target = "/app/program"
    limits: Limits
    network: bool = False

    @field_validator("image")
    @classmethod
    def _is_an_image(cls, image: str) -> str:
        return str(parse_image(image))


class Lease(Message):
    """Which attempt of which run, and the secret to speak about it; read by itself where the job cannot be understood."""

    run_id: Identifier
    attempt: Whole
    lease_id: Identifier
    token: NonEmpty


class Job(Lease):
    """One attempt of one run, held under one lease."""

    submission_id: Annotated[str, line(40)] = ""  # for the log
    lease_s: Number
    heartbeat_s: Number
    gpus: Literal[0, 1] = 0
    stages: tuple[Stage, ...]
    columns: tuple[str, ...]
    detailed_results: bool = False
    seed: Whole = 0  # what a repeated verification varies; programs read it as PODIUM_SEED
    text_files: tuple[str, ...] = ()  # patterns of predictions that must be UTF-8 text

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        check_order(self.stages)
        return self


def parse_job(body: object) -> Job:
    """Read a claim's answer, or what a worker kept of one. Raises `MessageInvalid`."""
    return read_message(Job, body)
