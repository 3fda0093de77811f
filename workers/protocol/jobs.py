"""A job: one attempt of one run, with the addresses of just its files."""

import re
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from workers.protocol.hosts import Isolation
from workers.protocol.images import parse_image
from workers.protocol.limits import Limits
from workers.protocol.messages import TAG, Identifier, Message, NonEmpty, Number, Sha256, Whole, line, read_message
from workers.protocol.stages import Mounted, StageName, StageOutput, StageShape, Target, check_order

IMAGE_ID: Final = re.compile(r"sha256:[0-9a-f]{64}")
FILE_NAME_BYTES: Final = 200


def plain_file_name(name: str) -> str:
    """The name under which a worker can place a file: its end, which has the suffix, in at most 200 bytes.

    People may call a file what no file system takes; their run must not fail by it.
    """
    cut = re.sub(r"[/\\\x00-\x1f\x7f]", "_", name).encode()[-FILE_NAME_BYTES:].decode(errors="ignore")
    return cut if cut not in ("", ".", "..") else "file"


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


class BuiltEnvironment(Mounted):
    """Packages that the worker installs from a lock file with hashes, before the stage starts.

    `mirror` is the simple index that the wheels come from, `wall_s` the time and `max_bytes` the room for the wheels and for what they
    install.
    """

    target: Literal["/app/environment"]
    requirements: FileRef
    mirror: Annotated[str, Field(pattern=r"\Ahttps?://[^\s]{1,500}\z")]
    wall_s: Annotated[float, Field(gt=0, lt=2**31)]
    max_bytes: Whole


class OwnImage(Message):
    """A team's image as an archive; `image_id` is the digest of its configuration."""

    archive: FileRef
    image_id: Annotated[str, Field(pattern=r"\Asha256:[0-9a-f]{64}\z")]


VARIANTS: Final[dict[type[Mounted], str]] = {StageOutput: "output", BuiltEnvironment: "environment"}


def _variant(value: Any) -> str | None:
    if isinstance(value, Mounted):
        return TAG + VARIANTS.get(type(value), "file")
    if isinstance(value, dict) and value.get("requirements") is not None:
        return f"{TAG}environment" if value.get("file") is None and value.get("stage_output") is None else None
    if not isinstance(value, dict) or (value.get("file") is None) == (value.get("stage_output") is None):
        return None
    return f"{TAG}{'output' if value.get('file') is None else 'file'}"


EITHER = Discriminator(
    _variant, custom_error_type="mount", custom_error_message="must have either a file or a stage_output"
)
Mount = Annotated[
    Annotated[StagedFile, Tag(f"{TAG}file")]
    | Annotated[StageOutput, Tag(f"{TAG}output")]
    | Annotated[BuiltEnvironment, Tag(f"{TAG}environment")],
    EITHER,
]


class PullPolicy(StrEnum):
    """The occasions on which a worker pulls an image."""

    MISSING = "missing"
    ALWAYS = "always"
    NEVER = "never"


class Stage(StageShape[Mount]):
    """One container of the job. Its `command` is an argv, or read from the program in `command_from`."""

    image: str
    own_image: OwnImage | None = None
    image_max_bytes: Whole = 0  # of a team's image on the host; 0: any
    is_image_of_team: bool = False  # it, or its registry, is the team's to answer for
    pull: PullPolicy
    command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    command_from: Target = "/app/program"
    limits: Limits
    network: bool = False

    @field_validator("image")
    @classmethod
    def _is_an_image(cls, image: str) -> str:
        return image if IMAGE_ID.fullmatch(image) else str(parse_image(image))

    @model_validator(mode="after")
    def _check_image(self) -> Self:
        """Refuse a team's image where labels are, and an image id that is not the archive's."""
        is_own = self.own_image is not None or self.is_image_of_team
        if self.name == StageName.SCORING and is_own:
            raise ValueError("the scoring stage must not run in an image of a team")
        if bool(IMAGE_ID.fullmatch(self.image)) != (self.own_image is not None) or (
            self.own_image is not None and self.own_image.image_id != self.image
        ):
            raise ValueError("an image must be named, or be the own_image by its id")
        return self


class Lease(Message):
    """An attempt of a run, and the secret to speak about it.

    It is read by itself where the job cannot be understood.
    """

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
    isolation: Isolation = Isolation.STANDARD  # of stages that run participants' code
    stages: tuple[Stage, ...]
    columns: tuple[str, ...]
    detailed_results: bool = False
    seed: Whole = 0  # what a repeated verification varies; programs read it as PODIUM_SEED
    replicates_s: Number = 0  # for scoring on resamples; 0: none, and what programs write of them stays in their output
    text_files: tuple[str, ...] = ()  # patterns of predictions that must be UTF-8 text

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        check_order(self.stages)
        return self


def parse_job(body: object) -> Job:
    """Read a claim's answer, or what a worker kept of one. Raises `MessageInvalid`."""
    return read_message(Job, body)
