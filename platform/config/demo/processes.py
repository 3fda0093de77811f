"""Start, watch and stop the demo's web server, reconciler, background and compute worker."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from django.conf import settings

from core.background.jobs import Queue


def web_command(port: int) -> list[str]:
    """The web server: one process, which is enough for a site without a front."""
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "config.wsgi",
        "--chdir",
        str(settings.BASE_DIR),
        "--pythonpath",
        "platform",
    ]
    command += ["--bind", f"127.0.0.1:{port}", "--workers", "1", "--threads", "16", "--worker-tmp-dir", "/dev/shm"]
    return [*command, "--worker-class", WORKER_CLASS]


def background_command(*queues: Queue) -> list[str]:
    """The command of a background process for these queues: one thread, so killing it blocks nothing."""
    command = [sys.executable, "-m", "celery", "--app", "core.celery", "--workdir", str(settings.BASE_DIR / "platform")]
    command += ["--skip-checks", "worker", "--pool", "solo", "--queues", ",".join(queues), "--loglevel", "WARNING"]
    return [*command, "--without-gossip", "--without-mingle", "--without-heartbeat"]


WORKER_CLASS: Final = "core.serving.worker.LoopWorker"
USUAL_PORTS: Final = range(8000, 8020)
WEB_PATIENCE_S: Final = 180.0


class ProcessFailed(Exception):
    """A process ended by itself; the message says where its log is."""


def free_port(chosen_port: int | None) -> int:
    """The chosen port of 127.0.0.1, else the first free one of a few, so that addresses stay the same.

    Raises `ProcessFailed` when there is none.
    """
    ports = [chosen_port] if chosen_port else list(USUAL_PORTS)
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    taken = f"Port {chosen_port}" if chosen_port else f"Each port from {ports[0]} to {ports[-1]}"
    raise ProcessFailed(f"{taken} of 127.0.0.1 is taken by another program. Name a free one: make demo PORT=9000")


class Processes:
    """Children of the demo. Leaving the block stops them, the worker first."""

    def __init__(self, *, port: int, token_file: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.port, self.token_file = port, token_file
        self.logs = Path(settings.DATA_DIR) / "logs"
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.logs.mkdir(parents=True, exist_ok=True)
        manage = str(settings.BASE_DIR / "manage.py")
        python = sys.executable
        worker = [python, "-m", "workers.cli", "run", "--site", self.url, "--token-file", str(self.token_file)]
        worker += ["--data-dir", str(Path(settings.DATA_DIR) / "worker"), "--broker", settings.BROKER_URL]
        worker += ["--self-test", "never"]  # a demo trusts its own baselines
        self.start("web", web_command(self.port))
        self.start("reconciler", [python, manage, "reconciler"])
        for queue in Queue:
            self.start(queue.value, background_command(queue))
        self.start("worker", worker)
        self.wait_for_web()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self.running.values()):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 15
        for process in self.running.values():
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, name: str, command: list[str]) -> None:
        environment = os.environ | self.environment()
        with (self.logs / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                env=environment,
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C reaches the demo alone, which stops them in order
            )

    def environment(self) -> dict[str, str]:
        """Settings of the children. A public demo has an address beside the one that its worker uses."""
        local = {"PODIUM_SITE_URL": self.url, "DJANGO_SETTINGS_MODULE": "config.settings"}
        if not settings.PUBLIC_DEMO:
            return local
        public = {"PODIUM_SITE_URL": os.environ.get("PODIUM_SITE_URL", self.url), "PODIUM_SSL_REDIRECT": "false"}
        return local | public | {"PODIUM_ALLOWED_HOSTS": ",".join({*settings.ALLOWED_HOSTS, "127.0.0.1"})}

    def check(self) -> None:
        """Restart background processes that were killed; raise `ProcessFailed` if another child ended."""
        for name, process in list(self.running.items()):
            if process.poll() is None:
                continue
            if name in list(Queue) and process.returncode < 0:
                self.start(name, background_command(Queue(name)))
            else:
                raise ProcessFailed(f"The {name} ended with code {process.returncode}; see {self.logs / name}.log.")

    def wait_for_web(self) -> None:
        deadline = time.monotonic() + WEB_PATIENCE_S
        while time.monotonic() < deadline:
            self.check()
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        raise ProcessFailed(
            f"The web server did not answer within {WEB_PATIENCE_S:.0f} s; see {self.logs / 'web.log'}."
        )
