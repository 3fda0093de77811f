"""A small competition on the real site, and real worker processes that serve it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Column, Competition, Leaderboard, Phase, Task
from competitions.compute.models import Queue, issue_token
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.runs.models import Run
from competitions.runs.planning import runs_add
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL, Kind
from competitions.teams.models import Team
from tests.integration.workers.harness import MIB, SCORER, zipped
from tests.waiting import wait_for

METADATA = "command: python3 $program/main.py\n"
ANSWER = "open('/app/output/answer.txt', 'w').write('0.25')\n"


class SmallSite:
    """One queue, one competition, one phase with one task; code submissions say their own command."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.queue = Queue.objects.create(name=f"q-{uuid.uuid4().hex[:8]}")
        self.token = issue_token(self.queue)
        now = datetime.now(UTC)
        self.user = User.objects.create(username="captain", email="captain@example.org")
        self.competition = Competition.objects.create(
            slug="small", title="Small", is_published=True, queue=self.queue, docker_image="podium/runtime:1"
        )
        self.task = Task.objects.create(
            competition=self.competition,
            name="task",
            scoring_program=self.resource(
                Resource.Kind.SCORING_PROGRAM, {"main.py": SCORER, "metadata.yaml": METADATA}
            ),
            reference_data=self.resource(Resource.Kind.REFERENCE_DATA, {"labels.txt": "labels"}),
            input_data=self.resource(Resource.Kind.INPUT_DATA, {"x.txt": "input"}),
        )
        self.phase = Phase.objects.create(
            competition=self.competition,
            slug="p",
            name="Phase",
            opens_at=now - timedelta(days=1),
            accepts_code=True,
            memory_bytes=128 * MIB,
            output_bytes=16 * MIB,
            output_files=100,
            time_limit_s=60,
            pids=64,
        )
        self.phase.tasks.add(self.task)
        board = Leaderboard.objects.create(phase=self.phase)
        Column.objects.create(leaderboard=board, key="score", title="Score", is_primary=True)
        self.team = Team.objects.create(competition=self.competition, name="Team", captain=self.user)

    def resource(self, kind: str, files: dict[str, str | bytes]) -> Resource:
        """A stored archive."""
        owner = self.user
        return Resource.objects.create(
            owner=owner, kind=kind, name=kind, file=store_bytes(zipped(files)), file_name=f"{kind}.zip"
        )

    def submit(self, source: str = ANSWER, count: int = 1) -> list[Run]:
        """Queue code submissions and wake the workers."""
        return self._submit(Kind.CODE, {"main.py": source, "metadata.yaml": METADATA}, count)

    def submit_predictions(self) -> list[Run]:
        """Queue a submission of predictions and wake the workers."""
        return self._submit(Kind.PREDICTION, {"answer.txt": "0.25"}, 1)

    def _submit(self, kind: Kind, files: dict[str, str | bytes], count: int) -> list[Run]:
        now = datetime.now(UTC)
        stored = store_bytes(zipped(files))
        runs = []
        for _ in range(count):
            submission = Submission.objects.create(
                phase=self.phase,
                team=self.team,
                submitted_by=self.user,
                kind=kind,
                file=stored,
                file_name=f"{kind}.zip",
                received_at=now,
                created_at=now,
                checked_at=now,
            )
            with transaction.atomic():
                runs += runs_add(submission=submission, tasks=[self.task], priority=0, now=now)
        return runs


def ended(runs: list[Run], seconds: float = 240.0) -> list[Run]:
    """The runs once all have ended."""
    keys = [run.pk for run in runs]

    def finished() -> list[Run]:
        rows = list(Run.objects.filter(pk__in=keys).order_by("queued_at", "pk"))
        return rows if all(row.state in FINAL for row in rows) else []

    ended_runs: list[Run] = wait_for(finished, seconds, f"runs end; they are {[run.state for run in runs]}")
    return ended_runs


class WorkerProcess:
    """One `podium-worker run` of its own, whose log goes to a file."""

    def __init__(self, site: SmallSite, folder: Path, *, name: str, options: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.log = folder / f"{name}.log"
        self.data_dir = folder / name
        token_file = folder / "token"
        token_file.write_text(site.token)
        token_file.chmod(0o600)
        self._argv = [
            sys.executable, "-m", "workers.cli", "run", "--site", site.url, "--token-file", str(token_file),
            "--data-dir", str(self.data_dir), "--name", name, "--broker", f"filesystem://{settings.DATA_DIR}/broker",
            "--gpus", "none", "--reserve-gib", "0", "--self-test", "never", *options,
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> WorkerProcess:
        """Start and wait until it is ready."""
        before = self.events().count("worker_ready")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._argv, stdout=log, stderr=log, env=dict(os.environ))
        wait_for(lambda: self.events().count("worker_ready") > before, 120, f"worker ready: {self.text()[-2000:]}")
        return self

    @property
    def runs(self) -> list[Path]:
        """Folders of the runs that it holds."""
        return list((self.data_dir / "runs").iterdir())

    def text(self) -> str:
        """The log so far."""
        return self.log.read_text() if self.log.exists() else ""

    def events(self) -> list[str]:
        """The events of the log, in order."""
        return [json.loads(line)["event"] for line in self.text().splitlines() if line.startswith("{")]

    def end(self, number: int = signal.SIGTERM, seconds: float = 20.0) -> int | None:
        """Send a signal and wait for the end."""
        if self.process is None:
            return None
        self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"still there after {seconds:g} s: {self.text()[-3000:]}") from error
