"""The parts of a whole site: database, broker, engine, web, reconciler, worker.

Each is a process of its own that can be killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg2

from tests.services import (
    REPOSITORY,
    accepts_connections,
    as_postgres_user,
    free_port,
    postgres_bin,
    spawn,
    start_postgres,
)
from tests.waiting import wait_for
from workers.engines.docker.client import DockerEngine
from workers.errors import SandboxError

IMAGE = "debian:bookworm-slim"


class Part:
    """One process with a log, started again and again."""

    def __init__(self, name: str, folder: Path, argv: list[str], environment: dict[str, str]) -> None:
        self.name = name
        self.argv = argv
        self.environment = environment
        self.log = folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it is not necessarily ready when this returns."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                cwd=REPOSITORY,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process is not None, f"{self.name} was never started"
        return self.process.pid

    def is_alive(self) -> bool:
        """True while it runs."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """SIGKILL to it and its children."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(20)

    def end(self, seconds: float = 20) -> None:
        """SIGTERM, and SIGKILL to what is left of it after so many seconds."""
        if self.is_alive():
            os.kill(self.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)  # type: ignore[union-attr]  # it is alive
        self.kill()

    def text(self) -> str:
        """Its log so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


class Database:
    """A PostgreSQL server of this suite's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        started = start_postgres(folder)
        self.url, self._pid, self._data = str(started["url"]), int(started["pid"]), Path(started["data"])

    def kill(self) -> None:
        """An immediate stop: no checkpoint, as after a crash."""
        os.kill(self._pid, signal.SIGQUIT)
        wait_for(lambda: not accepts_connections(self._port), 120, "PostgreSQL is gone")
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def start(self) -> None:
        """Start again on the same data and port; it recovers by itself."""
        options = ["-c", f"port={self._port}", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        command = [*as_postgres_user(), str(postgres_bin() / "postgres"), "-D", str(self._data), *options]
        self._pid = spawn(command, self._folder / "postgres.log")
        wait_for(self._answers, 120, "PostgreSQL is back")

    def _answers(self) -> bool:
        try:
            with contextlib.closing(psycopg2.connect(self.url)):
                return True
        except psycopg2.OperationalError:
            return False

    @property
    def _port(self) -> int:
        return urlsplit(self.url).port or 0

    def stop(self) -> None:
        """End it and remove its data."""
        self.kill()
        shutil.rmtree(self._data, ignore_errors=True)


class Broker:
    """A Redis that keeps nothing: a restart is an empty one. `disk` is where it would save."""

    def __init__(self, folder: Path, disk: Path | None = None) -> None:
        self.port = free_port()
        program = shutil.which("redis-server")
        assert program is not None
        argv = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        argv += ["--dir", str(disk)] if disk else []
        self._part = Part("redis", folder, argv, dict(os.environ))
        self.start()

    @property
    def url(self) -> str:
        """For Celery."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def cache_url(self) -> str:
        """For the site's shared cache."""
        return f"rediscache://127.0.0.1:{self.port}/1"

    def start(self) -> None:
        """Empty, and answering."""
        self._part.start()
        wait_for(lambda: accepts_connections(self.port), 120, "Redis answers")

    def kill(self) -> None:
        """Gone with all it held."""
        self._part.kill()


class OwnEngine:
    """A Docker DockerEngine of this suite's own, so that the one that everybody uses is never touched."""

    def __init__(self, folder: Path) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="podium-engine-"))  # a socket's path must be short
        self._client: DockerEngine | None = None
        self.url = f"unix://{self._root}/docker.sock"
        argv = [
            # In a network of its own: a daemon without a bridge removes `docker0`, which is the other engine's.
            "unshare",
            "--net",
            "dockerd",
            "-H",
            self.url,
            "--data-root",
            str(self._root / "data"),
            "--exec-root",
            str(self._root / "exec"),
            "--pidfile",
            str(self._root / "pid"),
            "--bridge=none",
            "--iptables=false",
            "--ip6tables=false",
        ]
        self._part = Part("dockerd", folder, argv, dict(os.environ))
        self.start()
        self._load_image()

    def start(self) -> None:
        """Start it and wait until it answers."""
        # Where nobody reaps orphans, a dead containerd is a zombie whose number still looks alive to the next daemon.
        for name in ("pid", "docker.sock", "exec/containerd/containerd.pid"):
            (self._root / name).unlink(missing_ok=True)
        self._part.start()
        wait_for(self._answers, 120, f"the engine answers: {self._part.text()[-1000:]}", 0.1)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(2)
            try:
                probe.connect(str(self._root / "docker.sock"))
                probe.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
                return b" 200 " in probe.recv(64)
            except OSError:
                return False

    def _load_image(self) -> None:
        move = f"docker save {IMAGE} | docker -H {self.url} load --quiet"
        subprocess.run(["bash", "-o", "pipefail", "-c", move], check=True, capture_output=True)

    def client(self) -> DockerEngine:
        """The connection to it; a new one after it was killed."""
        if self._client is None:
            self._client = DockerEngine(self.url)
        return self._client

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.api.close()
            self._client = None

    def kill(self) -> None:
        """SIGKILL to the daemon, and to it alone."""
        self._disconnect()
        os.kill(self._part.pid, signal.SIGKILL)
        assert self._part.process is not None
        self._part.process.wait(20)
        # Its containerd follows it within a moment; a daemon that starts meanwhile would wait for the dying one.
        wait_for(lambda: not self._ours("containerd --config"), 120, "containerd is gone")

    def _ours(self, words: str) -> list[psutil.Process]:
        """Processes whose command names our folder, and begins with these words."""
        processes = []
        for process in psutil.process_iter(["cmdline", "status"]):
            command = " ".join(process.info["cmdline"] or [])
            if (
                str(self._root) in command
                and command.startswith(words)
                and process.info["status"] != psutil.STATUS_ZOMBIE
            ):
                processes.append(process)
        return processes

    def leftovers(self) -> list[str]:
        """Containers, volumes and networks beyond those that every engine has."""
        api = self.client().api
        leftovers = [f"container {row['Names']}" for row in api.containers(all=True)]
        leftovers += [f"volume {row['Name']}" for row in api.volumes()["Volumes"] or []]
        return leftovers + [
            f"network {row['Name']}" for row in api.networks() if row["Name"] not in ("host", "none", "bridge")
        ]

    def stop(self) -> None:
        """End it with all that it started, and remove its data."""
        with contextlib.suppress(SandboxError):
            for row in self.client().api.containers(all=True, quiet=True):
                self.client().remove(str(row["Id"]))
        self._disconnect()
        self._part.end()
        for process in self._ours(""):  # what a killed daemon left
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._unmount()
        shutil.rmtree(self._root, ignore_errors=True)

    def _unmount(self) -> None:
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for mount in sorted((path for path in mounts if path.startswith(str(self._root))), reverse=True):
            subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)


SKEWED = """
import datetime, sys, time_machine
shift = datetime.timedelta(hours=float(sys.argv.pop(1)))
time_machine.travel(datetime.datetime.now(datetime.UTC) + shift, tick=True).start()
from workers.cli import main
sys.exit(main(sys.argv[1:]))
"""
MKFS = """#!/bin/sh
if [ -e "{flag}" ]; then rm -f "{flag}"; kill -9 $$; fi
exec {real} "$@"
"""


class WorkerHost:
    """A host with one compute worker: its folder, its programs, its clock."""

    def __init__(self, name: str, folder: Path, *, site: str, token_file: Path, broker: str, engine: str) -> None:
        self.name = name
        self.data_dir = folder / name
        self._bin = folder / f"bin-{name}"
        self._options = [
            "run", "--site", site, "--token-file", str(token_file), "--data-dir", str(self.data_dir), "--name", name,
            "--broker", broker, "--gpus", "none", "--reserve-gib", "0", "--engine", engine,
            "--self-test", "never",
        ]  # fmt: skip
        environment = dict(os.environ) | {"PODIUM_WORKER_SWEEP_S": "1", "PATH": f"{self._bin}:{os.environ['PATH']}"}
        self.part = Part(name, folder, [sys.executable, "-m", "workers.cli", *self._options], environment)
        self.mkfs_flag = folder / f"kill-mkfs-{name}"
        self._wrap_mkfs()

    def _wrap_mkfs(self) -> None:
        self._bin.mkdir()
        wrapper = self._bin / "mkfs.ext4"
        wrapper.write_text(MKFS.format(flag=self.mkfs_flag, real=shutil.which("mkfs.ext4")))
        wrapper.chmod(0o755)

    def start(self, *, clock_hours: float = 0.0) -> None:
        """Start it, by a clock that is off by so many hours, and wait until it is ready."""
        before = self.events().count("worker_ready")
        plain = [sys.executable, "-m", "workers.cli"]
        self.part.argv = (
            plain if not clock_hours else [sys.executable, "-c", SKEWED, str(clock_hours)]
        ) + self._options
        self.part.start()
        wait_for(
            lambda: self.events().count("worker_ready") > before,
            40,
            f"{self.name} is ready: {self.part.text()[-1500:]}",
        )

    def kill(self) -> None:
        """SIGKILL; its containers go on."""
        self.part.kill()

    def freeze(self) -> None:
        """It stands still, as a host does that swaps or a virtual machine that is moved."""
        os.killpg(self.part.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on, and does not know."""
        os.killpg(self.part.pid, signal.SIGCONT)

    def events(self) -> list[str]:
        """The events of its log, in order."""
        return [json.loads(line)["event"] for line in self.part.text().splitlines() if line.startswith("{")]

    def phases(self) -> set[str]:
        """The phases of the runs in its folder, as it wrote them down."""
        phases = set()
        for path in self.data_dir.glob("runs/*/state.json"):
            with contextlib.suppress(OSError, ValueError):
                phases.add(json.loads(path.read_text())["phase"])
        return phases

    def leftovers(self) -> list[str]:
        """Folders of runs, mounts."""
        leftovers = [f"folder {path.name} of {self.name}" for path in (self.data_dir / "runs").iterdir()]
        mounts = Path("/proc/self/mounts").read_text()
        return leftovers + ([f"a mount of {self.name}"] if f"{self.data_dir}/runs/" in mounts else [])

    def stop(self) -> None:
        """End it for good."""
        if self.part.is_alive():
            self.thaw()
            self.kill()


__all__ = ["IMAGE", "Broker", "Database", "OwnEngine", "Part", "WorkerHost", "free_port"]
