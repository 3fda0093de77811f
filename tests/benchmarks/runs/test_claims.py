"""The cost of a claim with 10² to 10⁵ waiting runs of one, a hundred or as many teams. PostgreSQL.

make bench ONLY=tests/benchmarks/runs
"""

from __future__ import annotations

import statistics
import time
from datetime import timedelta

import pytest
from django.db import connection, transaction

from competitions.compute import wakeups
from competitions.compute.models import ComputeWorker
from competitions.organize.workspace.usage import queue_usage
from competitions.runs import dispatch
from competitions.runs.accounting.usage import Month
from competitions.runs.models import Run, SlotUse, TeamTurn
from competitions.runs.queue.positions import queue_positions
from competitions.submissions.models import Submission
from competitions.teams.models import Team
from tests.scenario import Scenario, scenario

pytestmark = pytest.mark.django_db(transaction=True)
CLAIMS = 40


def fill(site: Scenario, waiting: int, teams: int) -> None:
    """Waiting runs in bulk, spread over the teams."""
    pattern = site.submit()
    run = pattern.runs.get()
    Team.objects.bulk_create(
        Team(competition=site.competition, name=f"Bench {n}", captain=site.team.captain) for n in range(teams)
    )
    ids = list(Team.objects.filter(name__startswith="Bench ").values_list("pk", flat=True))
    fields = ("phase_id", "submitted_by_id", "kind", "file_id", "file_name", "received_at", "created_at")
    shared = {name: getattr(pattern, name) for name in fields}
    submissions = Submission.objects.bulk_create(
        (Submission(team_id=ids[n % teams], **shared) for n in range(waiting)), batch_size=5000
    )
    Run.objects.bulk_create(
        (
            Run(
                submission=submission,
                task=run.task,
                team_id=submission.team_id,
                queue=run.queue,
                plan=run.plan,
                needs=run.needs,
                queued_at=site.now + timedelta(milliseconds=n),
                not_before=site.now,
            )
            for n, submission in enumerate(submissions)
        ),
        batch_size=5000,
    )
    TeamTurn.objects.bulk_create(
        (TeamTurn(queue=run.queue, team_id=team, priority=0, waiting_since=site.now) for team in ids), batch_size=5000
    )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def times_of_claims(site: Scenario, worker: ComputeWorker, *, free_gpus: int = 0) -> list[float]:
    """Milliseconds of claims one after the other; each is rolled back, so that all meet the same queue."""
    milliseconds = []
    for _ in range(CLAIMS):
        began = time.perf_counter()
        with transaction.atomic():
            assert dispatch.run_claim(worker=worker, free_gpus=free_gpus, now=site.now + timedelta(hours=1)) is not None
            milliseconds.append((time.perf_counter() - began) * 1000)
            transaction.set_rollback(True)
    return milliseconds


@pytest.mark.parametrize("share", ["one team", "100 teams", "a team for each run"])
def test_claims(share: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeups, "wake", lambda name: True)
    print(f"\n{share}: claim p50 / p95 in ms, places of a page in ms")
    for waiting in (100, 1000, 10_000, 100_000):
        site = scenario(max_submissions_per_day=None)
        fill(site, waiting, {"one team": 1, "100 teams": 100}.get(share, waiting))
        times = times_of_claims(site, site.worker())
        own_runs = Run.objects.filter(team=site.team, queue=site.queue).select_related("queue")
        began = time.perf_counter()
        queue_positions(own_runs, now=site.now)
        places_ms = (time.perf_counter() - began) * 1000
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"  {waiting:>7} waiting: {statistics.median(times):6.1f} / {p95:6.1f}   {places_ms:7.1f}")
        connection.cursor().execute("TRUNCATE submissions_submission, runs_run, runs_teamturn, teams_team CASCADE")


@pytest.mark.parametrize("slots", [0, 1000, 10_000, 100_000])
def test_claims_with_limited_gpu_hours(slots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims of a worker with a GPU, with and without a limit, where so many slots were used this month."""
    monkeypatch.setattr(wakeups, "wake", lambda name: True)
    site = scenario(max_submissions_per_day=None)
    fill(site, 1000, 100)
    Run.objects.update(gpus=1)
    ended_at = site.now - timedelta(minutes=1)
    rows = (
        SlotUse(
            queue=site.queue,
            competition=site.competition,
            gpus=1,
            waits_since=ended_at,
            started_at=ended_at - timedelta(minutes=1),
            ended_at=ended_at,
        )
        for _ in range(slots)
    )
    SlotUse.objects.bulk_create(rows, batch_size=5000)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    worker = site.worker(gpus=1)
    free = statistics.median(times_of_claims(site, worker, free_gpus=1))
    site.queue.gpu_hours_per_competition = 10**6
    site.queue.save()
    limited = statistics.median(times_of_claims(site, worker, free_gpus=1))
    began = time.perf_counter()
    queue_usage(site.queue, Month.at(site.now), now=site.now)
    page_ms = (time.perf_counter() - began) * 1000
    print(
        f"\n{slots:>7} slots this month: {free:.1f} ms without a limit, {limited:.1f} ms with one, {page_ms:.0f} ms for a page"
    )
