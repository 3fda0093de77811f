"""Environments from locked requirements, built once for each lock, image and mirror.

The worker fetches the wheels, which runs nothing; a container without network has them mounted and installs them with pip. Wheels hold
no code that runs at installation, and the container has the limits of every other. So nothing of a team reaches the mirror.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Final, Self

from packaging.tags import Tag

from workers.agent.environments.mirror import Mirror
from workers.agent.environments.wheels import EnvironmentRefused, Interpreter, fetch_wheels
from workers.engines.base import Engine
from workers.engines.faults import is_of_image
from workers.engines.images import ImageFacts
from workers.engines.spec import Mount, Runner, StageSpec
from workers.errors import STOPPED, OutputRefused, SandboxError, reading
from workers.protocol.files.locks import FILE_NAME, Locked, LockInvalid, read_lock, written_lock
from workers.protocol.files.markers import ALL, FIRST_MINOR, LAST_MINOR, MACHINES, Python
from workers.protocol.limits import GIB, MIB, Limits
from workers.sandbox.collect import BLOCK_BYTES, list_output, read_bounded
from workers.sandbox.limits import grant
from workers.sandbox.output_volume import MakeRoom, OutputVolume, no_room
from workers.sandbox.stage import Evidence, StageRun
from workers.sandbox.watch import HIDDEN, TOO_DEEP
from workers.sandbox.work import copy_tree

INPUTS: Final = "/app/wheels"
INSTALLER: Final = "/app/installer"
TOOLS: Final = ("pip", "packaging")  # pure Python, shown to the container: an image need not hold them
ASK: Final = """
import json
from packaging.markers import default_environment
from packaging.tags import sys_tags
values = default_environment()
names = ("python_version", "implementation_name", "platform_machine")
found = {"tags": [str(tag) for tag in sys_tags()], "values": {name: values[name] for name in names}}
open("/app/output/python.json", "w").write(json.dumps(found))
"""
ASK_LIMITS: Final = Limits(wall_s=60.0, memory_bytes=512 * MIB, cpus=1.0, output_bytes=16 * MIB, tmp_bytes=16 * MIB)
MAX_ENTRIES: Final = 300_000  # files and folders of an environment
INSTALL_MEMORY: Final = 2 * GIB
INSTALL_SHARE: Final = 0.5  # of the time for an environment, however long its wheels took to fetch
MAX_TAGS: Final = 5000
MAX_ANSWER_BYTES: Final = MIB
MINOR: Final = re.compile(r"3\.([0-9]{1,3})")
LOG_TAIL: Final = 600  # characters of pip's own words in a refusal
VERSION: Final = "2"  # of how environments are built: another one builds them anew


@dataclass(frozen=True)
class Order:
    """The order for an environment: lock, image, mirror and bounds."""

    requirements: bytes
    image: str
    image_facts: ImageFacts
    mirror: str
    wall_s: float
    max_bytes: int
    any_host: bool = False  # of the mirror's files
    is_image_of_team: bool = False

    @property
    def key(self) -> str:
        """A digest of all that the result depends on."""
        parts = (VERSION, self.image_facts.digest, self.mirror, hashlib.sha256(self.requirements).hexdigest())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class BuildContext:
    """The place and the user of a build: the run's folder, whose leftovers the janitor removes."""

    engine: Engine
    folder: Path
    name: str
    group: str
    labels: Mapping[str, str]
    runner: Runner
    runtime: str
    quota: bool
    cores: str
    stop: Callable[[], bool]
    installer: Path  # what `copy_installer` made
    make_room: MakeRoom = no_room


def build_environment(order: Order, context: BuildContext, target: Path) -> int:
    """Build it as the folder `target`; returns the number of packages.

    Raises `EnvironmentRefused` where what the team asked for cannot be installed, `SandboxError` for a failure of the
    platform: the mirror is away, the engine fails.
    """
    until = time.monotonic() + order.wall_s
    lock = _read(order.requirements)
    inputs = target.parent / "inputs"
    wheels = inputs / "wheels"
    wheels.mkdir(parents=True)
    python = _ask_python(order, context, inputs)
    mirror = Mirror(order.mirror, until=until, stop=context.stop, any_host=order.any_host)
    packages = fetch_wheels(lock, python, mirror, wheels, max_bytes=order.max_bytes)
    if not packages:  # none of the list's is for this Python
        target.mkdir()
        return 0
    (inputs / FILE_NAME).write_bytes(written_lock(packages))
    # What a slow mirror took of the time is not taken from the installation: only that is the team's to answer for.
    _install(order, context, inputs, target, wall_s=max(order.wall_s * INSTALL_SHARE, until - time.monotonic()))
    return len(packages)


@reading(partial(EnvironmentRefused, "requirements_invalid"))
def _read(requirements: bytes) -> tuple[Locked, ...]:
    try:
        return read_lock(requirements)
    except LockInvalid as error:
        raise EnvironmentRefused("requirements_invalid", str(error)) from error


def _ask_python(order: Order, context: BuildContext, inputs: Path) -> Interpreter:
    """The Python of the image, in its own words."""
    with _Container(order, context, "python", ASK_LIMITS) as container:
        evidence, log_tail = container.run(("python3", "-c", ASK), inputs)
        if evidence.exit_code != 0:
            raise EnvironmentRefused(
                "no_python",
                f"The image {order.image[:200]} has no python3 of version 3.9 or newer to install for. {log_tail}",
            )
        return read_answer(container.output)


def _unclear(words: str) -> EnvironmentRefused:
    return EnvironmentRefused("no_python", f"The image's python3 does not say which wheels it can use ({words}).")


@reading(_unclear)
def read_answer(output: Path) -> Interpreter:
    """Read what an image's Python says of itself. It comes from a team's image, so it may be anything.

    Raises `EnvironmentRefused` for what is no such answer, or a Python that markers were not evaluated for.
    """
    try:
        answer = json.loads(read_bounded(output, "python.json", MAX_ANSWER_BYTES) or b"")
    except OutputRefused as error:
        raise _unclear(error.detail) from error
    tags = [Tag(*tag.split("-")) for tag in answer["tags"][:MAX_TAGS]]
    version, implementation, machine = (
        answer["values"][name] for name in ("python_version", "implementation_name", "platform_machine")
    )
    minor = MINOR.fullmatch(version)
    python = Python(int(minor[1]) if minor else 0, implementation, machine)
    if python not in ALL:
        raise EnvironmentRefused(
            "no_python",
            f"The image's Python is {ascii(version)[:20]} of {ascii(implementation)[:20]} on {ascii(machine)[:20]}; packages are "
            f"installed for CPython and PyPy 3.{FIRST_MINOR} to 3.{LAST_MINOR} on {' and '.join(MACHINES)}.",
        )
    return Interpreter(tags, python)


def _install(order: Order, context: BuildContext, inputs: Path, target: Path, *, wall_s: float) -> None:
    limits = Limits(
        wall_s=wall_s,
        memory_bytes=INSTALL_MEMORY,
        cpus=2.0,
        output_bytes=order.max_bytes,
        output_files=MAX_ENTRIES,
        tmp_bytes=64 * MIB,
        log_bytes=MIB,
    )
    argv = (
        "python3", "-m", "pip", "install", "--isolated", "--disable-pip-version-check", "--no-input", "--no-cache-dir", "--no-index",
        "--find-links", f"{INPUTS}/wheels", "--only-binary", ":all:", "--require-hashes", "--target", "/app/output/packages",
        "--requirement", f"{INPUTS}/{FILE_NAME}",
    )  # fmt: skip
    with _Container(order, context, "install", limits) as container:
        evidence, log_tail = container.run(argv, inputs)
        _judge(evidence, limits, log_tail)
        packages = container.output / "packages"
        context.make_room(_made_bytes(packages, order.max_bytes))
        copy_tree(packages, target)


def _made_bytes(packages: Path, max_bytes: int) -> int:
    """The bytes on this host's disk of what a team's python3 installed.

    It is checked as outputs are: a link would lead to other files of the host. Raises `EnvironmentRefused` for what is not a folder of
    ordinary files, or too large.
    """
    if packages.is_symlink() or not packages.is_dir():
        raise EnvironmentRefused("install_failed", "The image's python3 left no folder of packages.")
    try:
        listing = list_output(packages, max_files=MAX_ENTRIES, max_bytes=max_bytes)
    except OutputRefused as error:
        code = "environment_too_large" if error.reason == "disk_limit" else "install_failed"
        raise EnvironmentRefused(code, f"What was installed is not kept. {error.detail}") from error
    if listing.disk_bytes > max_bytes:
        raise EnvironmentRefused(
            "environment_too_large",
            f"What was installed takes {listing.disk_bytes:,} bytes in {listing.entries:,} files and folders, each of which takes "
            f"{BLOCK_BYTES:,} at least; at most {max_bytes:,} are allowed.",
        )
    return listing.disk_bytes


def _judge(evidence: Evidence, limits: Limits, log_tail: str) -> None:
    """Raise `EnvironmentRefused` unless the installation ended well."""
    if evidence.killed_by == "time_limit":
        raise EnvironmentRefused("environment_time_limit", f"The installation was not done within its time. {log_tail}")
    if evidence.killed_by in (HIDDEN, TOO_DEEP):
        raise EnvironmentRefused("install_failed", f"What is installed is not kept. {evidence.outgrown}")
    if evidence.output_full or evidence.output_no_inodes:
        raise EnvironmentRefused(
            "environment_too_large", f"What is installed takes more than the {limits.output_bytes:,} bytes that it may."
        )
    if evidence.oom_killed:
        raise EnvironmentRefused("environment_memory", "The installation needed more memory than it may have.")
    if evidence.exit_code != 0:
        raise EnvironmentRefused("install_failed", f"pip could not install {FILE_NAME}. {log_tail}")


class _Container:
    """One container of a build, removed with its output at the end of the block."""

    def __init__(self, order: Order, context: BuildContext, name: str, limits: Limits) -> None:
        self._order = order
        self._context = context
        self._name = f"environment-{name}"
        self._limits = grant(limits)
        self._volume = OutputVolume(
            context.folder,
            self._name,
            size_bytes=self._limits.output_bytes,
            files=self._limits.output_files,
            quota=context.quota,
            owner=context.runner.host_uid,
            make_room=context.make_room,
        )
        self._run: StageRun | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._run is not None:
            self._run.destroy()
        self._volume.destroy()

    @property
    def output(self) -> Path:
        """The folder that the container may write to."""
        return self._volume.path

    def run(self, argv: tuple[str, ...], inputs: Path) -> tuple[Evidence, str]:
        """Run a command to its end; returns how it ended, and the end of what it printed."""
        context = self._context
        spec = StageSpec(
            name=f"{context.name}-{self._name}",
            image=self._order.image,
            argv=argv,
            mounts=(Mount(inputs, INPUTS), Mount(context.installer, INSTALLER)),
            output=self._volume.path,
            limits=self._limits,
            labels={**context.labels, "podium.stage": self._name},
            group=f"{context.group}{self._name}",
            cpuset=context.cores,
            runtime=context.runtime,
            image_facts=self._order.image_facts,
            runner=context.runner,
            env={"PYTHONPATH": INSTALLER, "TMPDIR": "/app/output", "PYTHONNOUSERSITE": "1"},
        )
        self._run = StageRun(self._name, context.engine, spec, self._volume, unwanted=context.stop)
        evidence = self._execute(self._run)
        if evidence.killed_by == "cancelled":
            raise SandboxError(STOPPED, "an environment was not made to its end")
        path = context.folder / f"{self._name}.log"
        self._run.write_log(path)
        log_tail = path.read_text(errors="replace")[-LOG_TAIL:] if path.exists() else ""
        path.unlink(missing_ok=True)
        return evidence, " ".join(log_tail.split())

    def _execute(self, run: StageRun) -> Evidence:
        """Run the container. Raises `EnvironmentRefused` where a team's image cannot be started."""
        try:
            run.prepare()
            return run.execute()
        except SandboxError as error:
            if not self._order.is_image_of_team or run.started_monotonic is not None or not is_of_image(error):
                raise
            raise EnvironmentRefused("image_not_startable", error.detail) from error


def installer_name() -> str:
    """A name for the installer that the worker's own Python has. Raises `SandboxError` where it has none."""
    versions = "-".join(_tool(name).version for name in TOOLS)
    return f"installer-{hashlib.sha256(versions.encode()).hexdigest()}"


def copy_installer(folder: Path) -> None:
    """Copy the installer from the worker's own Python.

    A worker in a container has one folder that the engine sees, and no other.
    """
    for name in TOOLS:
        copy_tree(Path(str(_tool(name).locate_file(name))), folder / name)


def _tool(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError as error:
        raise SandboxError(
            "worker_incomplete", f"the worker's Python has no {name}; install podium[worker] anew"
        ) from error
