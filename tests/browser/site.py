"""The site for the browser: database, Gunicorn, reconciler and workers, in a separate folder."""

from __future__ import annotations

import contextlib
import email
import email.policy
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from config.demo.processes import background_command
from core.background.jobs import Queue
from tests.services import REPOSITORY, free_port

PREPARE_TIMEOUT_S = 600.0  # filling it is a minute of a core, which a busy machine may not have
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
# People of the identity provider: one is new here, the other has the address of somebody who has an account.
ELSEWHERE = (
    {"sub": "nina", "preferred_username": "nina", "email": "nina@example.org", "email_verified": True},
    {"sub": "samuel", "preferred_username": "samuel", "email": "sam@example.org", "email_verified": True},
)
LINK = re.compile(r"https?://\S+")
BETWEEN_MAILS = f"\n{'-' * 79}\n"  # of Django's backend that writes files


class SiteFailed(Exception):
    """A process of the site ended or did not start; the message has the end of its log."""


class BrowserSite:
    """Starts the site's processes, each with a log in the folder, and stops them."""

    def __init__(self, folder: Path, *, database_url: str, redis_url: str) -> None:
        self.folder = folder
        self.port, self.identity_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        redis = redis_url.rpartition("/")[0]
        broker = f"{redis}/5"
        self.broker = broker
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PODIUM_")} | {
            "DJANGO_SETTINGS_MODULE": "tests.browser.settings",
            "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'platform'}",
            "DATABASE_URL": database_url,
            "PODIUM_BROKER_URL": broker,
            "PODIUM_CACHE_URL": f"{redis}/6",
            "PODIUM_REQUIRE_STAFF_MFA": "false",
            "PODIUM_SECRET_KEY": "the browser tests' key, which protects nothing and nobody",
            "PODIUM_DATA_DIR": str(folder),
            "PODIUM_ALLOWED_HOSTS": "127.0.0.1,localhost",
            "PODIUM_SITE_URL": self.url,
            "PODIUM_HEARTBEAT_S": "2",
            "PODIUM_EMAIL_URL": f"filemail:///{folder / 'mail'}",
            "PODIUM_OIDC_NAME": "Example University",
            "PODIUM_OIDC_ID": "podium",
            "PODIUM_OIDC_SECRET": "between the two",
            "PODIUM_OIDC_ISSUER": f"http://127.0.0.1:{self.identity_port}",
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def prepare(self) -> None:
        """Static files, and what the tests visit."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.browser.seeding", str(self.folder)],
            env=self.environment,
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PREPARE_TIMEOUT_S,
        )
        if done.returncode:
            raise SiteFailed(f"The site could not be filled:\n{(done.stdout + done.stderr)[-4000:]}")

    def start(self) -> None:
        """All processes; returns when the site answers."""
        python = sys.executable
        self._start(
            "web", [python, "-m", "gunicorn", "config.wsgi", "--preload", "--bind", f"127.0.0.1:{self.port}", "--workers", "2",
                    "--worker-class", "core.serving.worker.LoopWorker", "--threads", "4",
                    "--worker-tmp-dir", "/dev/shm", "--access-logfile", "-"],
        )  # fmt: skip
        self._start("reconciler", [python, str(REPOSITORY / "manage.py"), "reconciler"])
        self._start("background", background_command(*Queue))
        claims = [f"--user-claims={json.dumps(person)}" for person in ELSEWHERE]
        self._start("identity", [python, "-m", "oidc_provider_mock", "--port", str(self.identity_port), *claims])
        self._wait_for_web()
        self._start(
            "worker", [python, "-m", "workers.cli", "run", "--site", self.url, "--token-file", str(self.folder / "queue_token"),
                       "--data-dir", str(self.folder / "worker"), "--broker", self.broker, "--name", "browser-tests",
                       "--gpus", "none", "--reserve-gib", "0", "--self-test", "never"],
        )  # fmt: skip

    def _start(self, name: str, command: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                env=self.environment,
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_for_web(self) -> None:
        give_up = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < give_up:
            if self.running["web"].poll() is not None:
                break
            with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
                urllib.request.urlopen(f"{self.url}/readyz", timeout=60).close()
                return
            time.sleep(0.05)
        raise SiteFailed(f"The site does not answer:\n{(self.folder / 'web.log').read_text()[-4000:]}")

    def stop(self) -> None:
        """End all processes, the worker first."""
        for process in reversed(self.running.values()):
            process.send_signal(signal.SIGTERM)
        for process in self.running.values():
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def link_mailed_to(self, address: str, part: str) -> str:
        """The first link containing `part` in a mail to this address; waits for the mail."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            link = next((link for link in self.links_mailed_to(address) if part in link), None)
            if link is not None:
                return link
            time.sleep(0.1)
        raise AssertionError(f"No link with {part!r} was mailed to {address}.")

    def links_mailed_to(self, address: str) -> list[str]:
        """Every link in mails to this address, oldest mail first; mails of one second may share a file."""
        links = []
        for path in sorted((self.folder / "mail").glob("*.log"), key=lambda path: path.stat().st_mtime_ns):
            for text in path.read_text().split(BETWEEN_MAILS):
                message = email.message_from_string(text.lstrip("\n"), policy=email.policy.default)
                if address in str(message["To"]):
                    links += LINK.findall(message.get_content())
        return links
