"""Real services: PostgreSQL, Redis, Docker Engine, Chromium; each starts once per run, if needed.

A run has a folder of its own, `var/test-<pid>`, shared by the processes of pytest-xdist through the environment. What is
started there is written down, so that the first process can stop it at the end, and the next run what a killed run left.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

REPOSITORY = Path(__file__).resolve().parents[1]
VAR = Path(os.environ.get("PODIUM_TEST_VAR") or REPOSITORY / "var")  # where another user may write
RUN_VARIABLE = "PODIUM_TEST_DIR"
START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 10.0
CHROMIUM_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


class ServiceError(Exception):
    """A service that the tests need is not there or does not start; the message says what to do."""


def run_folder() -> Path:
    """The folder of this test run; made, and announced to child processes, by the first process that asks."""
    if RUN_VARIABLE not in os.environ:
        remove_leftovers(VAR)
        folder = VAR / f"test-{os.getpid()}"
        folder.mkdir(parents=True)
        os.environ[RUN_VARIABLE] = str(folder)
    return Path(os.environ[RUN_VARIABLE])


def is_owner() -> bool:
    """True if this process made the run's folder, and so has to clear it away."""
    return run_folder().name == f"test-{os.getpid()}"


def remove_leftovers(var: Path) -> None:
    """Stop and remove what test runs left behind that are no longer alive."""
    for folder in var.glob("test-*"):
        if not psutil.pid_exists(int(folder.name.removeprefix("test-"))):
            Services(folder).stop()


def free_port() -> int:
    """A TCP port on 127.0.0.1 that was free a moment ago.

    It is below those that the kernel gives to outgoing connections: some servers start half a minute later.
    """
    while True:
        port = 10_000 + secrets.randbelow(22_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def accepts_connections(port: int) -> bool:
    """True if something listens on the port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def chromium() -> str | None:
    """Path of a Chromium; None where there is Playwright's own build alone, which it finds itself."""
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


def wait_until(ready: Callable[[], bool], pid: int, *, what: str, log: Path) -> None:
    """Wait for `ready`; raise `ServiceError` with the log's end if the process ends or time is up."""
    give_up = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < give_up:
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            break
        if ready():
            return
        time.sleep(0.02)
    raise ServiceError(f"{what} did not start; the end of {log}:\n{log.read_text(errors='replace')[-1500:]}")


class Services:
    """The services of a test run; their state is in the folder, shared by the run's processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = folder / "services.json"

    def postgres(self) -> str:
        """`postgres://…` of a server with one superuser; tests make their own databases in it."""
        return str(self.once("postgres", lambda: start_postgres(self.folder))["url"])

    def redis(self) -> str:
        """`redis://…` of an empty server that keeps nothing on disk."""
        return str(self.once("redis", lambda: start_redis(self.folder))["url"])

    def docker(self) -> None:
        """Have a Docker Engine answer. It stays up: starting it costs more than leaving it."""
        self.once("docker", lambda: checked("bash", REPOSITORY / "workers" / "engine.sh"))

    def runtime_image(self) -> str:
        """Tag of Podium's runtime image, built when it is missing or out of date."""
        self.docker()
        self.once("runtime_image", lambda: checked(sys.executable, "-m", "workers.images", "ensure"))
        return "podium/runtime:1"

    def stop(self) -> None:
        """Stop what was started and remove the folder."""
        for started in self._started().values():
            if "pid" in started:
                stop_process(int(started["pid"]), str(started["program"]))
            if "data" in started:
                unmount_below(Path(started["data"]))
                if "remove" in started:
                    subprocess.run(started["remove"], check=False, capture_output=True)
                shutil.rmtree(started["data"], ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def once(self, name: str, start: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The facts of a service that is started unless it was already."""
        with self._lock():
            started = self._started()
            if name not in started:
                started[name] = start()
                self._state.write_text(json.dumps(started))
            return started[name]

    def _started(self) -> dict[str, dict[str, Any]]:
        if not self._state.exists():
            return {}
        state: dict[str, dict[str, Any]] = json.loads(self._state.read_text())
        return state

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with (self.folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def checked(*command: str | Path) -> dict[str, Any]:
    """Run a command of the repository to its end; `ServiceError` with its output when it fails."""
    done = subprocess.run(
        command, cwd=REPOSITORY, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ServiceError(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return {}


def start_redis(folder: Path) -> dict[str, Any]:
    """Start Redis on a free port of 127.0.0.1."""
    program = shutil.which("redis-server")
    if program is None:
        raise ServiceError("No redis-server is on the path; `make system` installs one.")
    port, log = free_port(), folder / "redis.log"
    options = {"port": str(port), "bind": "127.0.0.1", "save": "", "appendonly": "no", "dir": str(folder)}
    command = [program, *(part for name, value in options.items() for part in (f"--{name}", value))]
    pid = spawn(command, log)
    wait_until(lambda: accepts_connections(port), pid, what="Redis", log=log)
    return {"url": f"redis://127.0.0.1:{port}/0", "pid": pid, "program": "redis-server"}


def postgres_bin() -> Path:
    """Folder of the newest PostgreSQL server programs."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    if versions:
        return versions[-1]
    on_path = shutil.which("postgres")
    if on_path is None:
        raise ServiceError("No PostgreSQL server is installed; `make system` installs one.")
    return Path(on_path).parent


def start_postgres(folder: Path) -> dict[str, Any]:
    """Initialize and start PostgreSQL on a free port of 127.0.0.1, without durability, for one run."""
    programs, prefix = postgres_bin(), as_postgres_user()
    data, password = postgres_data_folder(folder, prefix), secrets.token_urlsafe(18)
    log, password_file = folder / "postgres.log", data.with_name(f"{data.name}.password")
    password_file.write_text(password)
    if prefix:
        shutil.chown(password_file, "postgres")
    initdb = [
        *prefix,
        str(programs / "initdb"),
        "--pgdata",
        str(data),
        "--username=podium",
        "--auth=md5",  # each request of a test's live server connects anew, and scram costs its client 5 ms each time
        f"--pwfile={password_file}",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
    ]
    checked(*initdb)
    password_file.unlink()
    port = free_port()
    settings = {
        "port": port,
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "max_connections": 100,
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    pid = spawn([*prefix, str(programs / "postgres"), "-D", str(data), *options], log)
    pid_file = data / "postmaster.pid"
    wait_until(lambda: pid_file.exists() and "ready" in pid_file.read_text(), pid, what="PostgreSQL", log=log)
    url = f"postgres://podium:{password}@127.0.0.1:{port}/postgres"
    return {"url": url, "pid": pid, "program": "postgres", "data": str(data)}


def as_postgres_user() -> list[str]:
    """The words to put before PostgreSQL's programs, which refuse to run as root."""
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        raise ServiceError("PostgreSQL does not run as root, and there is no user `postgres` to run it as.") from None
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]


def postgres_data_folder(folder: Path, prefix: list[str]) -> Path:
    """An empty data folder for PostgreSQL's user: in the run's folder, else in /tmp."""
    reachable = subprocess.run([*prefix, "test", "-x", str(folder)], check=False).returncode == 0
    parent = folder if reachable else Path(tempfile.gettempdir())
    data = Path(tempfile.mkdtemp(prefix="postgres-", dir=parent))
    if prefix:
        shutil.chown(data, "postgres")
    return data


def unmount_below(folder: Path) -> None:
    """Unmount what an engine leaves mounted in its folder; else the rest of it could not be removed."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in sorted((mount for mount in mounts if mount.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)


def spawn(command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> int:
    """Start a server in its own session, so that Ctrl-C does not reach it first; returns its pid.

    It outlives the process of pytest-xdist that started it, so there is no Popen to hold on to.
    """
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawnp(command[0], command, {**os.environ, **(environment or {})}, file_actions=files, setsid=True)


def stop_process(pid: int, program: str) -> None:
    """End a server of ours; another program that has got its number since is left alone."""
    try:
        process = psutil.Process(pid)
        if process.name() != program:
            return
        process.send_signal(signal.SIGINT)  # PostgreSQL would wait for its clients after SIGTERM
        if not has_ended(process, STOP_TIMEOUT_S):
            process.kill()
            has_ended(process, STOP_TIMEOUT_S)
    except psutil.NoSuchProcess:
        return


def has_ended(process: psutil.Process, timeout_s: float) -> bool:
    """Wait for the end. A zombie has ended, too: where nobody reaps orphans it stays one for ever."""
    give_up = time.monotonic() + timeout_s
    while time.monotonic() < give_up:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            with contextlib.suppress(ChildProcessError):  # it was started by another process of the run
                os.waitpid(process.pid, os.WNOHANG)
            return True
        time.sleep(0.02)
    return False
