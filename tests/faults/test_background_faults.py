"""Background processes that are killed at work: each submission is checked once in the end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from config.demo.processes import Processes, background_command
from core.background.jobs import Queue
from tests import migrated, services
from tests.bombs import zip_of_zeros
from tests.conftest import use_broker, use_database
from tests.faults.parts import Broker, Database, Part, free_port
from tests.scenario import CODE, zip_bytes
from tests.services import REPOSITORY
from tests.waiting import wait_for

LEASE_S = 3.0
UNPACKED_MIB = 1200  # takes a second or more to read


class Background:
    """A database, a broker, a reconciler and a background process."""

    def __init__(self, folder: Path) -> None:
        from django.conf import settings

        self.database, self.broker = Database(folder), Broker(folder)
        self.environment = environment = dict(os.environ) | {
            "DATABASE_URL": self.database.url,
            "PODIUM_BROKER_URL": self.broker.url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PODIUM_DATA_DIR": str(settings.DATA_DIR),
            "PODIUM_SECRET_KEY": settings.SECRET_KEY,
            "PODIUM_ALLOWED_HOSTS": "127.0.0.1",
            "PODIUM_BACKGROUND_LEASE_S": str(LEASE_S),
            "PODIUM_RECONCILE_S": "1",
            "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/platform",
        }
        self.process = Part("background", folder, background_command(Queue.SHORT), environment)
        self.reconciler = Part("reconciler", folder, [self.process.argv[0], "manage.py", "reconciler"], environment)

    def stop(self) -> None:
        """End everything, whatever state it is in."""
        from django.db import connections

        connections.close_all()
        for stop in (self.process.kill, self.reconciler.kill, self.broker.kill, self.database.stop):
            stop()


@pytest.fixture(scope="module")
def background(django_db_blocker: Any) -> Iterator[Background]:
    """The parts, of which the reconciler runs."""
    folder: Path = services.run_folder() / "background-faults"
    folder.mkdir()
    background = Background(folder)
    with django_db_blocker.unblock():
        use_database(background.database.url)
        use_broker(background.broker.url)
        try:
            migrated.postgres(background.database.url)
            background.reconciler.start()
            yield background
        finally:
            background.stop()


def submitted(content: bytes) -> Any:
    """A code submission whose check is asked for."""
    from competitions.submissions.services import NewSubmission, submission_create
    from competitions.submissions.states import Kind
    from tests.scenario import scenario

    site = scenario(now=datetime.now(UTC), prediction_format=None)
    upload = site.upload(content, "code.zip")
    return submission_create(
        NewSubmission(user=site.member(), phase=site.phase, upload=upload, kind=Kind.CODE), now=datetime.now(UTC)
    )


def submission_status(submission: Any) -> str:
    from competitions.submissions.models import Submission

    return str(Submission.objects.values_list("status", flat=True).get(pk=submission.pk))


def is_claimed(submission: Any) -> bool:
    from competitions.submissions.models import FileCheck

    return FileCheck.objects.filter(submission=submission, claimed_until__isnull=False).exists()


def kill_all(background: Background) -> None:
    """The whole process group, as when the host loses power."""
    background.process.kill()


def kill_child(background: Background) -> None:
    """The process that reads the file, which the one that does the work has forked."""
    worker = psutil.Process(background.process.pid)
    for child in wait_for(worker.children, 120, "the file is read"):
        child.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_all, kill_child], ids=["the whole process", "the process that reads the file"])
def test_a_check_whose_process_is_killed_is_done_by_the_next(
    background: Background, kill: Callable[[Background], None]
) -> None:
    padding = os.urandom(64 * UNPACKED_MIB)
    content = zip_of_zeros("weights.bin", UNPACKED_MIB, {"metadata.yaml": b"command: x\n", "padding.bin": padding})
    background.process.start()
    try:
        submission = submitted(content)
        wait_for(lambda: is_claimed(submission), 120, lambda: f"its check begins: {background.process.text()[-2000:]}")
        kill(background)
        assert submission_status(submission) == "checking"
        if not background.process.is_alive():
            background.process.start()
        wait_for(
            lambda: submission_status(submission) == "failed",
            120,
            lambda: f"it is checked: {background.process.text()[-2000:]}",
            0.1,
        )
        assert submission.runs.get().code == "zip_crc_error"
        submission.refresh_from_db()
        assert submission.file_check.attempts > 1
        assert [event.target for event in submission.runs.get().events.all()] == ["failed"], "decided once"
    finally:
        background.process.kill()


def test_processes_that_wait_for_work_and_are_killed_again_and_again_keep_no_check_waiting(
    background: Background, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whichever process waits for the next message: the one that was started, or one of its pool."""
    from core.models import Turn

    for name, value in background.environment.items():
        monkeypatch.setenv(name, value)
    processes = Processes(port=free_port(), token_file=tmp_path / "token")
    processes.logs = tmp_path
    processes.start("background", background_command(Queue.SHORT))
    try:
        for _ in range(2):
            submission = submitted(zip_bytes(CODE))
            wait_for(lambda: submission_status(submission) == "queued", 120, "it is checked", 0.05)  # noqa: B023  # called at once
            wait_for(lambda: not Turn.objects.filter(claimed_until__isnull=False).exists(), 120, "nothing is worked on")
            started = processes.running["background"]
            waiting = [child.pid for child in psutil.Process(started.pid).children()] or [started.pid]
            for pid in waiting:
                os.kill(pid, signal.SIGKILL)
            if started.pid in waiting:
                started.wait(20)
            processes.check()
    finally:
        os.killpg(processes.running["background"].pid, signal.SIGKILL)
        processes.running["background"].wait(20)


def test_a_broker_that_forgot_everything_and_a_process_that_comes_late_lose_nothing(background: Background) -> None:
    submissions = [submitted(zip_bytes(CODE)) for _ in range(5)]
    background.broker.kill()
    background.broker.start()
    submissions += [submitted(zip_bytes(CODE)) for _ in range(2)]
    background.process.start()
    try:
        done = lambda: {submission_status(submission) for submission in submissions} == {"queued"}  # noqa: E731
        wait_for(done, 120, lambda: f"all are checked: {background.process.text()[-2000:]}", 0.1)
    finally:
        background.process.kill()
