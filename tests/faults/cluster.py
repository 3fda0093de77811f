"""A whole site in small: two web processes, reconciler, two worker hosts, all real.

It also checks what must be true after each fault.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import URLError
from urllib.request import urlopen

from django.conf import settings
from django.db import OperationalError, connections, transaction
from docker.errors import APIError

from tests import migrated, services
from tests.conftest import use_broker, use_database
from tests.faults.parts import IMAGE, Broker, Database, OwnEngine, Part, WorkerHost, free_port
from tests.faults.proxy import Proxy
from tests.services import REPOSITORY
from tests.waiting import wait_for

LEASE_S = 6
HEARTBEAT_S = 2
RECONCILE_S = 1.0
METADATA = "command: sh $program/main.sh\n"
PROGRAM = "echo begun; sleep {seconds}; echo {answer} > /app/output/answer.txt\n"
SCORER = 'sleep 0.4; printf \'{"score": %s}\' "$(cat /app/input/res/answer.txt)" > /app/output/scores.json\n'


def trials() -> int:
    """Trials of each fault: one, or as many as `PODIUM_FAULT_TRIALS` says, as in `make soak`."""
    return int(os.environ.get("PODIUM_FAULT_TRIALS", "1"))


class Cluster:
    """The parts, a competition on them, and a stream of submissions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = Database(folder)
        self.broker = Broker(folder)
        self.engine = OwnEngine(folder)
        self._numbers = itertools.count(1)
        self.environment = dict(os.environ) | {
            "DATABASE_URL": self.database.url,
            "PODIUM_BROKER_URL": self.broker.url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PODIUM_CACHE_URL": self.broker.cache_url,
            "PODIUM_DATA_DIR": str(settings.DATA_DIR),
            "PODIUM_SECRET_KEY": settings.SECRET_KEY,
            "PODIUM_ALLOWED_HOSTS": "127.0.0.1",
            "PODIUM_LEASE_S": str(LEASE_S),
            "PODIUM_HEARTBEAT_S": str(HEARTBEAT_S),
            "PODIUM_RECONCILE_S": str(RECONCILE_S),
            "PODIUM_WORKER_POLL_S": "1",
            "PODIUM_RETRY_PAUSES_S": "0,1,2",
            "PODIUM_LOG_LEVEL": "WARNING",
        }
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        web = [
            sys.executable,
            "-m",
            "gunicorn",
            "config.wsgi",
            "--preload",
            "--pythonpath",
            "platform",
            "--bind",
            f"127.0.0.1:{port}",
            "--workers",
            "2",
            "--threads",
            "6",
            "--worker-tmp-dir",
            "/dev/shm",
        ]
        self.web = Part("web", folder, web, self.environment)
        self.reconciler = Part("reconciler", folder, [sys.executable, "manage.py", "reconciler"], self.environment)

    def start(self) -> None:
        """Make the tables, seed, and start everything."""
        self.start_site()
        self.start_hosts()

    def start_site(self) -> None:
        """Make the tables, seed, and start web and reconciler."""
        migrated.postgres(self.database.url)
        collect = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
        subprocess.run(collect, cwd=REPOSITORY, env=self.environment, check=True)
        use_broker(self.broker.url)
        self._seed()
        self.start_web()
        self.reconciler.start()
        self.token_file = self.folder / "token"
        self.token_file.write_text(self.token)
        self.token_file.chmod(0o600)

    def start_hosts(self) -> None:
        """Start two worker hosts, each behind a proxy."""
        self.proxies = [Proxy(self.url) for _ in range(2)]
        self.hosts = [
            WorkerHost(
                f"host-{number}",
                self.folder,
                site=proxy.url,
                token_file=self.token_file,
                broker=self.broker.url,
                engine=self.engine.url,
            )
            for number, proxy in enumerate(self.proxies)
        ]
        for host in self.hosts:
            host.start()

    def _seed(self) -> None:
        from accounts.models import User
        from competitions.catalog.models import Column, Competition, Leaderboard, Phase, Task
        from competitions.compute.models import Queue, issue_token
        from competitions.teams.models import Team

        self.queue = Queue.objects.create(name=f"faults-{uuid.uuid4().hex[:6]}")
        self.token = issue_token(self.queue)
        self.user = User.objects.create(username="captain", email="captain@example.org")
        competition = Competition.objects.create(
            slug="faults", title="Faults", is_published=True, queue=self.queue, docker_image=IMAGE
        )
        task = Task.objects.create(
            competition=competition,
            name="task",
            scoring_program=self._resource("scoring_program", SCORER),
            reference_data=self._resource("reference_data", "labels"),
            input_data=self._resource("input_data", "input"),
        )
        mib = 1 << 20
        self.phase = Phase.objects.create(
            competition=competition,
            slug="p",
            name="Phase",
            opens_at=datetime.now(UTC) - timedelta(days=1),
            accepts_code=True,
            memory_bytes=64 * mib,
            output_bytes=4 * mib,
            output_files=20,
            time_limit_s=60,
            pids=32,
            scoring_memory_bytes=64 * mib,
        )
        self.phase.tasks.add(task)
        board = Leaderboard.objects.create(phase=self.phase)
        Column.objects.create(leaderboard=board, key="score", title="Score", is_primary=True)
        self.team = Team.objects.create(competition=competition, name="Team", captain=self.user)

    def _resource(self, kind: str, source: str) -> Any:  # Django is not set up when this is imported
        from competitions.resources.models import Resource
        from competitions.resources.storage import store_bytes
        from tests.scenario import zip_bytes

        stored = store_bytes(zip_bytes({"main.sh": source, "metadata.yaml": METADATA}))
        return Resource.objects.create(owner=self.user, kind=kind, name=kind, file=stored, file_name=f"{kind}.zip")

    def start_web(self) -> None:
        """Start the web server and wait until it is ready."""
        self.web.start()
        wait_for(self._web_is_ready, 90, f"the web server is ready: {self.web.text()[-1500:]}")

    def _web_is_ready(self) -> bool:
        try:
            with urlopen(f"{self.url}/readyz", timeout=60):
                return True
        except (URLError, OSError):
            return False

    def other_team(self) -> Any:
        """Another team, of another person."""
        from accounts.models import User
        from competitions.teams.models import Team

        number = next(self._numbers)
        captain = User.objects.create(username=f"captain{number}", email=f"captain{number}@example.org")
        return Team.objects.create(competition=self.phase.competition, name=f"Team {number}", captain=captain)

    def submit(self, count: int = 3, *, seconds: float = 1.2, team: Any = None) -> dict[uuid.UUID, float]:
        """Queue code submissions of a team, each with an answer of its own; the expected score by run."""
        from competitions.resources.storage import store_bytes
        from competitions.runs.planning import runs_add
        from competitions.submissions.models import Submission
        from tests.scenario import zip_bytes

        expected: dict[uuid.UUID, float] = {}
        for _ in range(count):
            answer = next(self._numbers) / 1000
            source = PROGRAM.format(seconds=seconds, answer=answer)
            stored = store_bytes(zip_bytes({"main.sh": source, "metadata.yaml": METADATA}))
            now = datetime.now(UTC)
            submission = Submission.objects.create(
                phase=self.phase,
                team=team or self.team,
                submitted_by=self.user,
                kind="code",
                file=stored,
                file_name="code.zip",
                received_at=now,
                created_at=now,
                checked_at=now,
            )
            with transaction.atomic():
                runs = runs_add(submission=submission, tasks=self.phase.tasks.all(), priority=0, now=now)
            expected |= {run.pk: answer for run in runs}
        return expected

    def states(self, runs: dict[uuid.UUID, float]) -> dict[uuid.UUID, str]:
        """The state of each run; a database that is away is waited for."""
        from competitions.runs.models import Run

        until = time.monotonic() + 120
        while True:
            try:
                return dict(Run.objects.filter(pk__in=runs).values_list("pk", "state"))
            except OperationalError:
                connections.close_all()
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def holder(self, runs: dict[uuid.UUID, float], *states: str) -> tuple[uuid.UUID, WorkerHost]:
        """The first of these runs that is in one of the states, and the host that holds it."""
        from competitions.runs.models import Run

        def found() -> tuple[uuid.UUID, str] | None:
            return Run.objects.filter(pk__in=runs, state__in=states).values_list("pk", "worker__name").first()

        every_s = 0.004 if states == ("leased",) else 0.02  # one is leased for a moment
        run, name = wait_for(found, 120, lambda: f"a run is {' or '.join(states)}; {self.described(runs)}", every_s)
        return run, next(host for host in self.hosts if host.name == name)

    def described(self, runs: dict[uuid.UUID, float]) -> str:
        """For the message of a failure: runs, and the ends of the workers' logs."""
        logs = "\n".join(f"{host.name}: {host.part.text()[-1500:]}" for host in self.hosts)
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT state, wait_event, now() - query_start, left(query, 200) FROM pg_stat_activity")
            queries = "\n".join(map(str, cursor.fetchall()))
        return f"they are {self.states(runs)}\n{logs}\nweb: {self.web.text()[-1500:]}\n{queries}"

    def other(self, host: WorkerHost) -> WorkerHost:
        """The other host."""
        return next(candidate for candidate in self.hosts if candidate is not host)

    def container(self, run: uuid.UUID) -> str:
        """The running container of a run."""
        filters = {"label": f"podium.run={run}", "status": "running"}
        api = self.engine.client().api
        return str(wait_for(lambda: api.containers(quiet=True, filters=filters), 120, "its container runs")[0]["Id"])

    def kill_container(self, runs: dict[uuid.UUID, float], stage: str) -> None:
        """Kill a container of one of these runs in this stage, or the next one if it ends before that."""
        api = self.engine.client().api
        filters = {"label": f"podium.stage={stage}", "status": "running"}

        def killed() -> bool:
            for row in api.containers(filters=filters):
                if uuid.UUID(row["Labels"]["podium.run"]) in runs:
                    with contextlib.suppress(APIError):
                        api.kill(row["Id"])
                        return True
            return False

        wait_for(killed, 120, lambda: f"a container is killed in the stage {stage}; {self.described(runs)}", 0.05)

    def wake(self, runs: dict[uuid.UUID, float]) -> None:
        """End the sleep of those of these programs that run: their time is up."""
        api = self.engine.client().api
        for row in api.containers(filters={"label": "podium.stage=ingestion", "status": "running"}):
            if uuid.UUID(row["Labels"]["podium.run"]) not in runs:
                continue
            with contextlib.suppress(APIError):  # it has ended meanwhile
                table = api.top(row["Id"])
                command, pid = table["Titles"].index("CMD"), table["Titles"].index("PID")
                for process in table["Processes"]:
                    if process[command].startswith("sleep "):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(int(process[pid]), signal.SIGKILL)

    def has_ended(self, runs: dict[uuid.UUID, float]) -> bool:
        """True once all of these runs have ended."""
        return set(self.states(runs).values()) <= {"finished", "failed", "cancelled"}

    def finish(self, runs: dict[uuid.UUID, float], seconds: float = 60.0) -> None:
        """Wake these programs until all of the runs have ended."""

        def ended() -> bool:
            self.wake(runs)
            return self.has_ended(runs)

        wait_for(ended, seconds, lambda: f"all runs end; {self.described(runs)}", 0.3)

    def see_through(self, runs: dict[uuid.UUID, float], seconds: float = 60.0) -> None:
        """Wait until all of these runs have ended."""
        wait_for(lambda: self.has_ended(runs), seconds, lambda: f"all runs end; {self.described(runs)}")

    def verdict(self, runs: dict[uuid.UUID, float]) -> Verdict:
        """The fates of the runs: how many were lost, doubled, wrongly blamed, wrongly charged."""
        from competitions.leaderboards.models import Score
        from competitions.runs.models import Attempt, Run

        rows = list(Run.objects.filter(pk__in=runs).select_related("submission"))
        scores = list(Score.objects.filter(submission__runs__in=runs).values_list("submission", flat=True))
        answered = list(Attempt.objects.filter(run__in=runs, outcome="finished").values_list("run", flat=True))
        return Verdict(
            lost=sum(row.state != "finished" or row.scores != {"score": runs[row.pk]} for row in rows),
            doubled=len(scores) - len(set(scores)) + len(answered) - len(set(answered)),
            blamed=sum(row.state == "failed" and row.reason != "infrastructure" for row in rows),
            charged=sum(row.submission.is_charged and row.state != "finished" for row in rows),
            attempts={row.pk: row.attempt for row in rows},
        )

    def leftovers(self) -> list[str]:
        """Everything on engine and hosts that should be gone."""
        leftovers = self.engine.leftovers()
        for host in self.hosts:
            leftovers += host.leftovers()
        return leftovers

    def assert_clean(self) -> None:
        """Nothing is left once everything has ended."""
        left: list[str] = []

        def clean() -> bool:
            left[:] = self.leftovers()
            return not left

        wait_for(clean, 120, lambda: f"nothing is left; there is {left}", 0.2)

    def whole(self) -> None:
        """Everything runs and is welcome again, whatever the last fault did."""
        from competitions.compute.models import ComputeWorker

        for proxy in self.proxies:
            proxy.mode = ""
        for host in self.hosts:
            if not host.part.is_alive():
                host.start()
        if not self.reconciler.is_alive():
            self.reconciler.start()
        ComputeWorker.objects.update(quarantined_at=None, infrastructure_failures=0, failed_teams=[])

    def stop(self) -> None:
        """End everything, whatever state it is in."""
        stops: list[Callable[[], None]] = [host.stop for host in getattr(self, "hosts", [])]
        stops += [proxy.stop for proxy in getattr(self, "proxies", [])]
        connections.close_all()
        for stop in [
            *stops,
            self.reconciler.kill,
            self.web.kill,
            self.engine.stop,
            self.broker.kill,
            self.database.stop,
        ]:
            stop()


S = TypeVar("S", bound=Cluster)


@contextmanager
def whole_site(make: Callable[[Path], S], name: str, blocker: Any) -> Iterator[S]:
    """A site for a whole suite, with a folder of this name; `blocker` is pytest-django's."""
    folder = services.run_folder() / name
    folder.mkdir()
    site = make(folder)
    with blocker.unblock():
        use_database(site.database.url)
        try:
            site.start()
            yield site
        finally:
            site.stop()


class Verdict:
    """Counts over the runs of one trial; all but `attempts` must be 0."""

    def __init__(self, *, lost: int, doubled: int, blamed: int, charged: int, attempts: dict[uuid.UUID, int]) -> None:
        self.lost, self.doubled, self.blamed, self.charged, self.attempts = lost, doubled, blamed, charged, attempts

    @property
    def is_good(self) -> bool:
        """Nothing lost, doubled, wrongly blamed or wrongly charged."""
        return not (self.lost or self.doubled or self.blamed or self.charged)

    def __repr__(self) -> str:
        return f"lost={self.lost} doubled={self.doubled} blamed={self.blamed} charged={self.charged} attempts={self.attempts}"
