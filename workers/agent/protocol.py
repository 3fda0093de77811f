"""A job as the site describes it, checked field by field before anything is done with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, cast

from workers.protocol.images import ImageNameInvalid, parse_image
from workers.sandbox.errors import SandboxError
from workers.sandbox.limits import Limits

PROTOCOL_VERSION = 1
TARGETS = ("/app/program", "/app/ingested_program", "/app/input_data", "/app/input/ref", "/app/input/res")
STAGE_NAMES = ("submission", "ingestion", "scoring")
FIRST_STEP, LAST_STEP = 1, 2
PULL_POLICIES = ("missing", "always", "never")
SHA256 = re.compile(r"\A[0-9a-f]{64}\Z")
IDENTIFIER = re.compile(r"\A[A-Za-z0-9_-]{1,64}\Z")
FILE_NAME = re.compile(r"\A[^/\\\x00-\x1f\x7f]{1,200}\Z")


class JobInvalid(SandboxError):
    """The site sent a job that this worker cannot understand; the message names the field."""

    def __init__(self, detail: str) -> None:
        super().__init__("job_invalid", detail)


@dataclass(frozen=True)
class FileRef:
    """One input file: where to fetch it, and the digest that it must have."""

    url: str
    sha256: str
    size_bytes: int
    name: str


@dataclass(frozen=True)
class InputMount:
    """One folder that a stage sees: a staged file (unpacked or not), or the output of an earlier stage."""

    target: str
    file: FileRef | None
    stage_output: str | None
    unpack: bool
    secret: bool


@dataclass(frozen=True)
class StageJob:
    """One container of the job. Those of one `step` run at the same time, the steps one after the other.

    `writable`: programs and inputs are copies that it may change. `shared`: it sees `/app/shared` of its step. `prefill`: the
    mount whose content is copied into its output before it starts. `tolerant`: how it ends fails no run, but for its limits.
    """

    name: str
    image: str
    pull: str
    mounts: tuple[InputMount, ...]
    command: tuple[str, ...] | None
    command_from: str
    limits: Limits
    network: bool
    step: int
    writable: bool
    shared: bool
    prefill: str | None
    tolerant: bool

    @property
    def beside_scoring(self) -> bool:
        """It runs at the same time as the scoring stage."""
        return self.name != "scoring" and self.step == LAST_STEP


@dataclass(frozen=True)
class Job:
    """One attempt of one run, held under one lease."""

    run_id: str
    attempt: int
    lease_id: str
    token: str
    lease_s: float
    heartbeat_s: float
    gpus: int
    stages: tuple[StageJob, ...]
    columns: tuple[str, ...]
    detailed_results: bool
    raw: dict[str, Any]
    submission_id: str = ""  # for the log


def parse_job(said: Any) -> Job:
    """Read a claim's answer.

    Raises
    ------
    JobInvalid
        Names the first field that is missing or wrong.
    """
    body = _mapping(said, "job")
    stages = tuple(_stage(item, f"stages[{index}]") for index, item in enumerate(_list(body, "stages", "job")))
    _check_order(stages)
    return Job(
        run_id=_matching(body, "run_id", "job", IDENTIFIER), attempt=int(_number(body, "attempt", "job")),
        lease_id=_matching(body, "lease_id", "job", IDENTIFIER), token=_text(body, "token", "job"),
        lease_s=_number(body, "lease_s", "job"), heartbeat_s=_number(body, "heartbeat_s", "job"),
        gpus=_gpus(body), stages=stages,
        columns=tuple(str(column) for column in _list(body, "columns", "job")),
        detailed_results=bool(body.get("detailed_results", False)), raw=body,
        submission_id=str(body.get("submission_id") or "")[:40],
    )  # fmt: skip


def _gpus(body: dict[str, Any]) -> int:
    count = body.get("gpus", 0)
    if count not in (0, 1):
        raise JobInvalid(f"job.gpus must be 0 or 1, not {count!r}")
    return int(count)


def _stage(said: Any, where: str) -> StageJob:
    body = _mapping(said, where)
    name = _text(body, "name", where)
    if name not in STAGE_NAMES:
        raise JobInvalid(f"{where}.name must be one of {', '.join(STAGE_NAMES)}, not {name!r}")
    mounts = tuple(_mount(item, f"{where}.mounts[{n}]") for n, item in enumerate(_list(body, "mounts", where)))
    _check_mounts(name, mounts, where)
    return StageJob(
        name=name, image=_image(body, where), pull=_choice(body, "pull", where, PULL_POLICIES),
        mounts=mounts, command=_command(body, where), command_from=str(body.get("command_from") or "/app/program"),
        limits=_limits(body, where), network=bool(body.get("network", False)), step=_step(body, name, where),
        writable=bool(body.get("writable", False)), shared=bool(body.get("shared", False)),
        prefill=_prefill(body, mounts, where), tolerant=bool(body.get("tolerant", False)),
    )  # fmt: skip


def _image(body: dict[str, Any], where: str) -> str:
    try:
        return str(parse_image(_text(body, "image", where)))
    except ImageNameInvalid as error:
        raise JobInvalid(f"{where}.image: {error}") from error


def _check_order(stages: tuple[StageJob, ...]) -> None:
    """Scoring comes last; each name once; a stage reads the output of an earlier step alone. A worker may get only the first step."""
    names = [stage.name for stage in stages]
    only_first = bool(stages) and all(stage.step == FIRST_STEP for stage in stages)
    if names != sorted(set(names), key=STAGE_NAMES.index) or (names[-1:] != ["scoring"] and not only_first):
        raise JobInvalid("stages must be scoring, with submission and ingestion before it where they are needed")
    steps = {stage.name: stage.step for stage in stages}
    for stage in stages:
        for mount in stage.mounts:
            if mount.stage_output is not None and steps.get(mount.stage_output, LAST_STEP) >= stage.step:
                raise JobInvalid(
                    f"{stage.name}: there is no earlier stage {mount.stage_output!r} whose output it could read"
                )


def _step(body: dict[str, Any], name: str, where: str) -> int:
    step = body.get("step", LAST_STEP if name == "scoring" else FIRST_STEP)
    allowed = (LAST_STEP,) if name == "scoring" else (FIRST_STEP,) if name == "submission" else (FIRST_STEP, LAST_STEP)
    if step not in allowed:
        raise JobInvalid(f"{where}.step must be one of {allowed}, not {step!r}")
    return int(step)


def _prefill(body: dict[str, Any], mounts: tuple[InputMount, ...], where: str) -> str | None:
    target = body.get("prefill")
    if target is not None and not any(mount.target == target and not mount.secret for mount in mounts):
        raise JobInvalid(f"{where}.prefill must be the target of one of its mounts, not {target!r}")
    return None if target is None else str(target)


def _check_mounts(stage: str, mounts: tuple[InputMount, ...], where: str) -> None:
    targets = [mount.target for mount in mounts]
    if len(set(targets)) != len(targets):
        raise JobInvalid(f"{where}.mounts names a target twice")
    for mount in mounts:
        # Labels never enter a container that runs participants' code, whoever asks for it.
        if stage != "scoring" and (mount.secret or mount.target == "/app/input/ref"):
            raise JobInvalid(f"{where}: {mount.target} must not be given to the {stage} stage")
        if mount.stage_output is not None and (
            stage == "submission" or mount.stage_output not in ("submission", "ingestion")
        ):
            raise JobInvalid(f"{where}: the stage {stage} cannot read the output of {mount.stage_output!r}")


def _mount(said: Any, where: str) -> InputMount:
    body = _mapping(said, where)
    target = _choice(body, "target", where, TARGETS)
    source = body.get("stage_output")
    if (source is None) == (body.get("file") is None):
        raise JobInvalid(f"{where} must have either a file or a stage_output")
    file = None if source is not None else _file(body["file"], f"{where}.file")
    return InputMount(target, file, source, bool(body.get("unpack", False)), bool(body.get("secret", False)))


def _file(said: Any, where: str) -> FileRef:
    body = _mapping(said, where)
    name = str(body.get("name") or "file")
    if not FILE_NAME.match(name) or name in (".", ".."):
        raise JobInvalid(f"{where}.name is no plain file name: {name!r}")
    return FileRef(_text(body, "url", where), _matching(body, "sha256", where, SHA256),
                   int(_number(body, "size_bytes", where)), name)  # fmt: skip


def _limits(body: dict[str, Any], where: str) -> Limits:
    try:
        return Limits.from_json(_mapping(body.get("limits"), f"{where}.limits"))
    except ValueError as error:
        raise JobInvalid(f"{where}.{error}") from error


def _command(body: dict[str, Any], where: str) -> tuple[str, ...] | None:
    command = body.get("command")
    if command is None:
        return None
    if not isinstance(command, list) or not command or not all(isinstance(part, str) for part in command):
        raise JobInvalid(f"{where}.command must be a list of words")
    return tuple(command)


def _mapping(said: Any, where: str) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise JobInvalid(f"{where} must be an object")
    return cast("dict[str, Any]", said)


def _list(body: dict[str, Any], key: str, where: str) -> list[Any]:
    value = body.get(key)
    if not isinstance(value, list):
        raise JobInvalid(f"{where}.{key} must be a list")
    return value


def _text(body: dict[str, Any], key: str, where: str) -> str:
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise JobInvalid(f"{where}.{key} must be a text")
    return value


def _matching(body: dict[str, Any], key: str, where: str, pattern: re.Pattern[str]) -> str:
    value = _text(body, key, where)
    if not pattern.match(value):
        raise JobInvalid(f"{where}.{key} is malformed: {value[:100]!r}")
    return value


def _choice(body: dict[str, Any], key: str, where: str, choices: tuple[str, ...]) -> str:
    value = _text(body, key, where)
    if value not in choices:
        raise JobInvalid(f"{where}.{key} must be one of {', '.join(choices)}, not {value!r}")
    return value


def _number(body: dict[str, Any], key: str, where: str) -> float:
    value = body.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**63:
        raise JobInvalid(f"{where}.{key} must be a number that is not negative")
    return value
