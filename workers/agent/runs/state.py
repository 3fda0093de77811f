"""The state of runs for the worker's next process: a folder for each lease.

It is written before the containers are started.
"""

import contextlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from workers.agent.host.facts import boot_id
from workers.engines.images import ImageFacts
from workers.protocol.jobs import Job, parse_job
from workers.protocol.messages import read_message
from workers.protocol.results import Complete
from workers.sandbox.output_volume import remove_tree


@dataclass
class StageFacts:
    """Facts of a stage: its start by the monotonic clock, why it was killed, the seconds watched."""

    started: float | None = None
    killed_by: str | None = None
    watched_s: float | None = None


@dataclass
class RunState:
    """The file `state.json`.

    `phase` is `preparing`, `executing` (a container may have been started) or `executed` (the result is decided).
    """

    phase: str = "preparing"
    boot_id: str = field(default_factory=boot_id)  # of the host, when this was written
    gpu_uuid: str | None = None
    cores: tuple[int, ...] = ()  # that this run has to itself; none named: all of the host's
    slot: int = 0  # that the run was claimed for: its programs run as that slot's user
    images: Mapping[str, ImageFacts] = field(default_factory=dict)  # of the containers, by the job's names for them
    containers: frozenset[str] = frozenset()  # the stages that have one
    stages: dict[str, StageFacts] = field(default_factory=dict)
    logs: dict[str, tuple[int, int]] = field(default_factory=dict)  # the next piece's number, and the bytes sent


STATE_FILE: Final = TypeAdapter(RunState)


class RunFolder:
    """`runs/<lease>/`: the job with its token, the state, outputs, and files to upload.

    Its name is the lease and nothing else: a container can read the host paths of its mounts.
    """

    def __init__(self, runs: Path, lease: str) -> None:
        self.lease = lease
        self.path = runs / lease
        self.outbox = self.path / "outbox"
        self.state = RunState()
        self._writing = threading.Lock()  # stages that run at the same time, and the heartbeat

    def create(self, job: Job, *, gpu_uuid: str | None, cores: Sequence[int] = (), slot: int = 0) -> None:
        """Make the folder and write the job; durable when this returns. Raises `OSError`."""
        self.state.gpu_uuid, self.state.cores, self.state.slot = gpu_uuid, tuple(cores), slot
        self.path.mkdir(mode=0o700)
        self.outbox.mkdir(mode=0o700)
        write_durably(self.path / "job.json", job.model_dump_json())
        self._write_state(durably=True)

    @classmethod
    def load(cls, runs: Path, lease: str) -> tuple["RunFolder", Job]:
        """Open the folder that an earlier process left.

        Raises `OSError`, `ValueError` or `MessageInvalid` when it is not whole.
        """
        folder = cls(runs, lease)
        job = parse_job(json.loads((folder.path / "job.json").read_text()))
        folder.state = STATE_FILE.validate_json((folder.path / "state.json").read_bytes())
        return folder, job

    @property
    def same_boot(self) -> bool:
        """True while the host has been up since this was written."""
        return self.state.boot_id == boot_id()

    def set_phase(self, phase: str) -> None:
        """Write the phase; durable when this returns."""
        self.state.phase = phase
        self._write_state(durably=True)

    def record_start(self, stage: str, monotonic: float) -> None:
        """Remember when a container was started."""
        self._stage(stage).started = monotonic
        self._write_state()

    def record_kill(self, stage: str, reason: str) -> None:
        """Remember why the worker killed a container."""
        self._stage(stage).killed_by = reason
        self._write_state()

    def record_end(self, stage: str, watched_s: float) -> None:
        """Remember how long a container ran that was watched to its end."""
        self._stage(stage).watched_s = watched_s
        with contextlib.suppress(OSError):  # a successor that does not know it goes by the engine's times
            self._write_state()

    def stage_facts(self, stage: str) -> StageFacts:
        """The facts of a stage, as far as known."""
        return replace(self.state.stages.get(stage, StageFacts()))

    def record_sent_log(self, stream: str, seq: int, sent_bytes: int) -> None:
        """Remember how much of a log the site has. A process that does not know sends that text again."""
        self.state.logs[stream] = (seq, sent_bytes)
        with contextlib.suppress(OSError):  # a full disk must not keep a heartbeat from being sent
            self._write_state()

    def log_position(self, stream: str) -> tuple[int, int]:
        """The next piece's number and the bytes that were sent."""
        return self.state.logs.get(stream, (0, 0))

    def save_result(self, result: Complete, outputs: dict[str, str]) -> None:
        """Write the decided result and the outbox' files by name and digest; durable when this returns."""
        write_durably(
            self.path / "result.json", json.dumps({"body": result.model_dump(mode="json"), "outputs": outputs})
        )
        self.set_phase("executed")

    def load_result(self) -> tuple[Complete, dict[str, str]]:
        """The result and the digests that `save_result` wrote."""
        saved = json.loads((self.path / "result.json").read_text())
        return read_message(Complete, saved["body"]), saved["outputs"]

    def remove(self) -> None:
        """Delete the folder. Its file systems are unmounted already."""
        remove_tree(self.path)

    def _stage(self, stage: str) -> StageFacts:
        return self.state.stages.setdefault(stage, StageFacts())

    def _write_state(self, *, durably: bool = False) -> None:
        with self._writing:
            self._write(durably=durably)

    def _write(self, *, durably: bool) -> None:
        text = STATE_FILE.dump_json(self.state).decode()
        if durably:
            write_durably(self.path / "state.json", text)
        else:  # what the next process of this boot must know is in the page cache already
            fresh = self.path / "state.json.new"
            fresh.write_text(text)
            fresh.replace(self.path / "state.json")


def lease_key(lease_id: str) -> str:
    """The lease as a name for folders, containers and control groups: letters and digits alone."""
    return "".join(character for character in lease_id if character.isalnum()).lower()


def write_durably(path: Path, text: str) -> None:
    """Write a file so that it is whole or not there, also after a power cut. Mode 0600."""
    fresh = path.with_name(f"{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
