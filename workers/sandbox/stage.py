"""One stage of a run in one container: prepared, started, watched, measured, described."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from workers.engines.base import ContainerState, Engine, Usage
from workers.engines.spec import OUTPUT_TARGET, SHARED_TARGET, StageSpec
from workers.errors import NOT_KILLABLE, SandboxError
from workers.protocol.calls import Meters
from workers.sandbox.collect import MAX_DEPTH, shown
from workers.sandbox.logs import StageLog
from workers.sandbox.output_volume import OutputVolume
from workers.sandbox.usage import Reading, UsageSampler, UsageSeries
from workers.sandbox.watch import HIDDEN, NOT_KILLED_S, TOO_DEEP, TOO_LARGE, TOO_MANY_FILES, Watch
from workers.sandbox.work import WritableInputs, copy_tree, give_to_runner

log = structlog.get_logger(__name__)

CLOCK_DISAGREES_S = 2.0  # the engine's stamps are wall clock; beyond this the monotonic pair is believed
LOST_ENGINE_WAIT_S = 60.0
LOST_ENGINE_ROUND_S = 0.5


def _wall_s(stamped_s: float, elapsed_s: float | None) -> float:
    """Seconds that a container ran, by the engine's stamps; by ours where the two clocks disagree.

    The engine stamps the start a little late: a program of a few milliseconds may end before it "starts".
    """
    if elapsed_s is None:
        return max(0.0, stamped_s)
    return stamped_s if stamped_s > 0 and abs(stamped_s - elapsed_s) < CLOCK_DISAGREES_S else elapsed_s


class GpuMeter:
    """Samples the GPU of a stage while it holds it; this one is of a stage without any."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End."""

    def memory_now(self) -> int | None:
        """Bytes of its memory in use at the newest sample; None where there is none yet."""
        return None

    def reading(self) -> dict[str, Any]:
        """The figures so far."""
        return {"gpu_uuid": None, "gpu_s": None, "gpu_memory_peak_bytes": None, "gpu_energy_j": None}


@dataclass(frozen=True)
class Evidence:
    """The facts about a stage that has ended: from engine, output file system and our own clock."""

    name: str
    exit_code: int
    oom_killed: bool
    killed_by: str | None
    started_at: datetime
    finished_at: datetime
    wall_s: float
    usage: Usage
    output_bytes: int
    output_full: bool
    output_no_inodes: bool
    bytes_written: int | None = None
    outgrown: str = ""  # a sentence on the folder for which it was killed; empty where a predecessor killed it
    gpu: dict[str, Any] = field(default_factory=dict)


@dataclass
class StageRun:
    """One stage's container and all that belongs to it.

    `inputs` are its private copies, `shared` the folder that it shares with the stages beside it, `prefill` what its output
    begins with. A stage that is `idle` has an output and nothing to run.
    """

    name: str
    engine: Engine
    spec: StageSpec
    volume: OutputVolume
    gpu_meter: GpuMeter = field(default_factory=GpuMeter)
    container: str = ""
    inputs: WritableInputs | None = None
    shared: OutputVolume | None = None
    prefill: Path | None = None
    owns_volume: bool = True
    idle: bool = False
    unwanted: Callable[[], bool] | None = None  # asked twice a second; True ends it as `cancelled`
    log: StageLog | None = None
    log_sent_bytes: int = 0
    started_monotonic: float | None = None
    adopted: bool = False
    killed_before: str | None = None
    watched_before_s: float | None = None  # how long it ran, where a predecessor saw its end
    usage: UsageSeries = field(init=False)
    _watch: Watch | None = None
    _outgrown: str = ""
    _cancelled: str | None = None

    def __post_init__(self) -> None:
        self.usage = UsageSeries(self.name)

    def prepare(self) -> None:
        """Make the output's file system and create the container."""
        self.make_volumes()
        self.create_container()

    def make_volumes(self) -> None:
        """Make the file systems that the stage writes to.

        Those of all stages of a run come before the containers, which mount them.
        """
        if self.owns_volume:
            self.volume.create()
        if self.inputs is not None:
            self.inputs.reserve()
        if self.shared is not None and not self.shared.exists():
            self.shared.create()

    def create_container(self) -> None:
        """Create the container, unless there is nothing to run."""
        if not self.idle:
            self.container = self.engine.prepare(self.spec)

    def fill(self, extra: Mapping[str, bytes]) -> None:
        """Copy what the stage begins with, unless it was started already; `extra` are files among its inputs.

        Raises `SandboxError`: `output_full` where the prefill is larger than the output may be, or the platform's
        failure.
        """
        if self.started_monotonic is not None:
            return
        if self.inputs is not None:
            self.inputs.fill(extra)
        if self.prefill is not None:
            self._copy_prefill(self.prefill)
            give_to_runner(self.volume.path, self.volume.owner)

    def _copy_prefill(self, source: Path) -> None:
        try:
            copy_tree(source, self.volume.path)
        except SandboxError as error:
            if error.code == "disk_full" and self.volume.quota:  # else it lies on the host's own disk
                raise SandboxError("output_full", error.detail) from error
            raise

    def adopt(self, *, started_monotonic: float | None, killed_by: str | None, watched_s: float | None = None) -> None:
        """Take over the containers of an earlier process, instead of `prepare`.

        `watched_s` is the time that the stage ran, if that process saw its end. Raises `SandboxError`
        (`container_missing` or `output_missing`): a part of it is gone, so the run cannot be seen through.
        """
        if self.idle and self.volume.exists():
            return
        state = self.engine.adopt(self.spec.name)
        if not self.volume.exists():
            raise SandboxError("output_missing", f"the output of {self.spec.name} is gone")
        self.container = state.id
        self.killed_before = killed_by
        self.watched_before_s = watched_s
        self.adopted = True
        if state.started_at is not None:
            # When the predecessor died before it could write the moment down, the engine's stamp has to do.
            since = (datetime.now(UTC) - state.started_at).total_seconds()
            self.started_monotonic = time.monotonic() - since if started_monotonic is None else started_monotonic

    def execute(
        self,
        *,
        on_start: Callable[[float], None] = lambda moment: None,
        on_kill: Callable[[str], None] = lambda reason: None,
        on_end: Callable[[float], None] = lambda elapsed_s: None,
    ) -> Evidence:
        """Start the container (unless a predecessor did), wait for its end, and say what happened.

        `on_end` is told how many seconds the container ran, by a clock that nobody sets; not where it ended unwatched.
        Raises `SandboxError` where the engine failed or went away: nothing is known about the program, the run is to be
        tried again.
        """
        if self.started_monotonic is None:
            self.engine.start(self.container)
            self.started_monotonic = time.monotonic()
            on_start(self.started_monotonic)
        self.gpu_meter.start()
        sampler = UsageSampler(self.usage, self._reading, started=self.started_monotonic)
        sampler.start()
        try:
            return self._see_through(on_kill, on_end)
        finally:
            sampler.stop()
            self.gpu_meter.stop()

    def _see_through(self, on_kill: Callable[[str], None], on_end: Callable[[float], None]) -> Evidence:
        started = self.started_monotonic if self.started_monotonic is not None else time.monotonic()
        limit_bytes = self.spec.limits.log_bytes
        self.log = StageLog(self.engine, self.container, limit_bytes=limit_bytes, sent_bytes=self.log_sent_bytes)
        self.log.start()
        if self.adopted and (state := self.engine.observe(self.container)).ended:
            return self._evidence(state, self.killed_before, self.watched_before_s)
        watch = self._start_watch(started, on_kill)
        try:
            lost_engine = self._wait(watch)
        finally:
            watch.stop()
        elapsed = time.monotonic() - started
        state = self.engine.observe(self.container)
        if not state.ended and watch.kill_has_failed():
            raise self._not_killable(str(watch.killed_by))
        if lost_engine and not (state.ended and state.exit_code == 0):
            raise SandboxError("engine_lost", "the container engine went away while the container ran")
        on_end(elapsed)
        return self._evidence(state, watch.killed_by or self.killed_before, elapsed)

    def _start_watch(self, started: float, on_kill: Callable[[str], None]) -> Watch:
        grows = None if self.volume.quota else self._overgrown
        watch = Watch(
            lambda: self.engine.kill(self.container),
            deadline=started + self.spec.limits.wall_s,
            overgrown=grows,
            unwanted=self.unwanted,
            on_kill=on_kill,
        )
        self._watch = watch
        if self._cancelled:
            watch.cancel(self._cancelled)
        watch.start()
        return watch

    def _overgrown(self) -> str | None:
        """The reason to end a program that outgrows a folder that it writes to, or hides what is in one."""
        for target, volume in self._writable():
            usage = volume.usage()
            if usage.hidden is not None:
                path = shown("/".join(filter(None, (target, usage.hidden))))
                self._outgrown = f"{path} cannot be read: the program that wrote it took away the right to."
                return HIDDEN
            if usage.too_deep:
                self._outgrown = f"{target} held folders nested deeper than {MAX_DEPTH}."
                return TOO_DEEP
            if usage.no_inodes:
                self._outgrown = f"{target} held more files than its limit of {volume.files}."
                return TOO_MANY_FILES
            if usage.full:
                self._outgrown = f"{target} grew beyond its limit of {volume.size_bytes} bytes."
                return TOO_LARGE
        return None

    def _writable(self) -> Iterator[tuple[str, OutputVolume]]:
        """The folders of the host that the program writes to, by their place in the container."""
        yield OUTPUT_TARGET, self.volume
        if self.shared is not None and self.spec.plain_files:  # once, for the program that is not the organizers'
            yield SHARED_TARGET, self.shared
        if self.inputs is not None:
            yield "/app", self.inputs.volume

    def _not_killable(self, reason: str) -> SandboxError:
        detail = f"the container {self.spec.name} was killed ({reason}), and is still there after {NOT_KILLED_S:g} s"
        log.error("container_not_killable", detail=detail)
        return SandboxError(NOT_KILLABLE, detail)

    def _wait(self, watch: Watch) -> bool:
        """Wait for the end, unless it cannot be brought about.

        Returns True when the engine was away meanwhile: then an ending of the container says little.
        """
        lost = False
        while True:
            try:
                self.engine.wait(self.container, watch.kill_has_failed)
                return lost
            except SandboxError as error:
                if error.code != "engine_unreachable":
                    raise
            lost = True
            if self._state_once_back().ended or watch.kill_has_failed():
                return lost

    def _state_once_back(self) -> ContainerState:
        """Wait for an engine that went away.

        One that restarts answers within seconds, however long the container has run.
        """
        until = time.monotonic() + LOST_ENGINE_WAIT_S
        while True:
            time.sleep(LOST_ENGINE_ROUND_S)
            try:
                return self.engine.observe(self.container)
            except SandboxError as error:
                if error.code != "engine_unreachable" or time.monotonic() > until:
                    raise

    def cancel(self, reason: str) -> None:
        """End the stage now, or as soon as it starts."""
        self._cancelled = reason
        if self._watch is not None:
            self._watch.cancel(reason)

    def _evidence(self, state: ContainerState, killed_by: str | None, elapsed_s: float | None) -> Evidence:
        if state.started_at is None or state.finished_at is None:
            raise SandboxError("engine_error", f"the container {self.spec.name} is {state.status} without having run")
        wall = _wall_s((state.finished_at - state.started_at).total_seconds(), elapsed_s)
        over_s = wall - self.spec.limits.wall_s
        ran_on_unwatched = elapsed_s is None and over_s >= CLOCK_DISAGREES_S
        if killed_by is None and over_s >= 0 and (state.exit_code != 0 or ran_on_unwatched):
            killed_by = "time_limit"  # an exit code may be that of a kill which a predecessor had no time to write down
        if killed_by == "time_limit" and state.exit_code == 0 and over_s < 0:
            killed_by = None  # it ended by itself just before the kill
        self._refuse_foreign_kill(state, killed_by)
        output = self.volume.usage()
        return Evidence(
            name=self.name,
            exit_code=state.exit_code,
            oom_killed=self.engine.was_out_of_memory(self.spec, state) if killed_by is None else state.oom_killed,
            killed_by=killed_by,
            started_at=state.started_at,
            finished_at=state.finished_at,
            wall_s=wall,
            usage=self.engine.usage(self.spec.group),
            output_bytes=output.used_bytes,
            output_full=output.full,
            output_no_inodes=output.no_inodes,
            bytes_written=self.volume.bytes_written(output),
            outgrown=self._outgrown,
            gpu=self.gpu_meter.reading(),
        )

    def _refuse_foreign_kill(self, state: ContainerState, killed_by: str | None) -> None:
        """A container that somebody else told the engine to kill says nothing about its program."""
        if killed_by is not None or state.exit_code <= 128 or state.oom_killed or state.started_at is None:
            return
        if self.engine.was_signalled(self.container, state.started_at):
            raise SandboxError(
                "killed_from_outside", f"somebody killed the container {self.spec.name} through the engine"
            )

    def meters(self) -> Meters:
        """The figures so far, for the page."""
        reading = self.engine.usage(self.spec.group)
        wall = 0.0 if self.started_monotonic is None else time.monotonic() - self.started_monotonic
        used: int | None = None
        written: int | None = None
        with contextlib.suppress(OSError):  # its file system may be going away
            usage = self.volume.usage()
            used, written = usage.used_bytes, self.volume.bytes_written(usage)
        return Meters(
            wall_s=round(wall, 3),
            cpu_s=reading.cpu_s,
            memory_bytes=reading.memory_bytes,
            memory_peak_bytes=reading.memory_peak_bytes,
            output_bytes=used,
            bytes_written=written,
            **self.gpu_meter.reading(),
        )

    def _reading(self) -> Reading:
        used = self.engine.usage(self.spec.group)
        return Reading(used.cpu_s, used.memory_bytes, self.gpu_meter.reading()["gpu_s"], self.gpu_meter.memory_now())

    def write_log(self, path: Path) -> None:
        """Write the bounded log of a stage that has ended."""
        if self.log is not None:
            self.log.finish()
            self.log.write(path)

    def destroy(self) -> None:
        """Remove container and output, and forget their use of resources.

        Safe to call twice, and on what was never made.
        """
        with contextlib.suppress(SandboxError):  # the janitor finds it by its labels
            self.engine.remove(self.spec.name)
        self.volume.destroy()
        for volume in (self.inputs, self.shared):
            if volume is not None:
                volume.destroy()
        with contextlib.suppress(SandboxError):
            self.engine.release(self.spec.group)
