"""A site of the first release, with data in it, is migrated to today's tables and goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import REPOSITORY

# The last migration of each app as it was released in 0.1.0.
RELEASED = {
    "accounts": "0001_initial", "resources": "0001_initial", "compute": "0001_initial", "catalog": "0001_initial",
    "teams": "0001_initial", "submissions": "0001_initial", "leaderboards": "0001_initial",
}  # fmt: skip
FILL = """
import sys, uuid
from datetime import UTC, datetime, timedelta
sys.path[:0] = ["platform"]
import django
django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
released = {released!r}
executor = MigrationExecutor(connection)
others = [leaf for leaf in executor.loader.graph.leaf_nodes() if leaf[0] not in released and leaf[0] != "audit"]
executor.migrate([*released.items(), *others])
old = MigrationExecutor(connection).loader.project_state([*released.items(), *others]).apps
def make(model, **fields):
    return old.get_model(model).objects.create(**fields)
now = datetime.now(UTC)
user = make("accounts.User", username="captain", email="captain@example.org", password="x")
from competitions.compute.models import digest
queue = make("compute.Queue", name="default", token_digest=digest("secret"))
make("compute.ComputeWorker", queue=queue, name="box", instance="i", version="0.1.0", registered_at=now, last_seen_at=now)
stored = make("resources.StoredFile", sha256="0" * 64, size_bytes=1)
program = make("resources.Resource", owner=user, kind="scoring_program", name="p", file=stored, file_name="p.zip")
competition = make("catalog.Competition", slug="old", title="Old", queue=queue, is_published=True)
task = make("catalog.Task", competition=competition, name="t", scoring_program=program)
phase = make("catalog.Phase", competition=competition, slug="p", name="P", opens_at=now - timedelta(days=1))
phase.tasks.add(task)
board = make("leaderboards.Leaderboard", phase=phase)
make("leaderboards.Column", leaderboard=board, key="mae", title="MAE", sorting="asc", is_primary=True)
team = make("teams.Team", competition=competition, name="Team", captain=user)
def submission(status):
    return make("submissions.Submission", phase=phase, team=team, submitted_by=user, kind="prediction", file=stored, file_name="f",
                received_at=now, created_at=now, status=status)
def run(of, **fields):
    return make("submissions.Run", submission=of, task=task, team=team, queue=queue, queued_at=now, not_before=now, **fields)
run(submission("queued"))
run(submission("leased"), state="leased", lease_id=uuid.uuid4(), lease_expires_at=now - timedelta(seconds=1))
run(submission("finished"), state="finished", scores={{"mae": 0.5}}, finished_at=now)
"""
GO_ON = """
import sys
from datetime import UTC, datetime, timedelta
sys.path[:0] = ["platform"]
import django
django.setup()
from competitions.compute.models import ComputeWorker, queue_by_token
from competitions.submissions.dispatch import run_claim, run_complete
from competitions.submissions.models import Run, Submission
from competitions.submissions.reconciler import expire_leases
from competitions.submissions.results import read_result
now = datetime.now(UTC)
assert queue_by_token("secret").name == "default"
assert expire_leases(now=now) == 1
worker = ComputeWorker.objects.select_related("queue").get()
for n in range(2):
    run = run_claim(worker=worker, free_gpus=0, now=now + timedelta(seconds=n))
    assert run is not None, list(Run.objects.values("state", "not_before"))
    result = read_result({"outcome": "finished", "scores": {"mae": 0.25}}, columns=["mae"])
    run_complete(run_id=str(run.pk), attempt=run.attempt, lease_id=str(run.lease_id), result=result, now=now)
assert list(Submission.objects.values_list("status", flat=True)) == ["finished"] * 3
print("went on")
"""


@pytest.fixture(params=["sqlite", "postgres"])
def environment(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> dict[str, str]:
    """Settings of a site of its own, on one of the two databases."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PODIUM", "DATABASE"))}
    kept |= {"DJANGO_SETTINGS_MODULE": "config.settings", "PODIUM_DATA_DIR": str(tmp_path / "data")}
    if request.param == "postgres":
        import psycopg2

        connection = psycopg2.connect(postgres_url)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE upgrades")
        connection.close()
        kept |= {
            "DATABASE_URL": postgres_url.rpartition("/")[0] + "/upgrades", "PODIUM_BROKER_URL": f"filesystem://{tmp_path / 'b'}",
            "PODIUM_SECRET_KEY": "k" * 40, "PODIUM_ALLOWED_HOSTS": "localhost",
        }  # fmt: skip
    return kept


def test_a_site_of_the_first_release_is_migrated_and_goes_on(environment: dict[str, str]) -> None:
    def run(*argv: str) -> str:
        done = subprocess.run(
            [sys.executable, *argv], cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    run("-c", FILL.format(released=RELEASED))
    run("manage.py", "migrate", "-v0")
    assert "went on" in run("-c", GO_ON)
