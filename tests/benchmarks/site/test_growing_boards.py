"""Growing boards: cost of one more result, of the page, and of an idle reconciler, at two sizes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from competitions.catalog.models import Phase, Task
from competitions.leaderboards.growing.missing_runs import boards_fill, datasets_begin_to_count
from competitions.leaderboards.services import board_follow, board_rebuild
from competitions.resources.storage import store_bytes
from competitions.runs.models import Run
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import Kind, State
from competitions.teams.models import Team
from tests.growing import grow, main_board
from tests.scenario import Scenario, person, scenario

pytestmark = pytest.mark.django_db(transaction=True)


def filled(algorithms: int, datasets: int) -> Scenario:
    """A board with every cell run."""
    site = scenario(now=timezone.now())
    phase = grow(site)
    Phase.objects.filter(pk=phase.pk).update(max_datasets=200)
    own, user, file = phase.tasks.get(), person(), store_bytes(b"x")
    teams = Team.objects.bulk_create(
        Team(competition=site.competition, name=f"Team {number}", captain=user, created_at=site.now)
        for number in range(algorithms)
    )
    at: dict[str, Any] = {"received_at": site.now, "created_at": site.now, "finished_at": site.now}
    same: dict[str, Any] = at | {
        "phase": phase,
        "submitted_by": user,
        "file": file,
        "file_name": "f.zip",
        "status": State.FINISHED,
    }
    sent = Submission.objects.bulk_create(Submission(team=team, kind=Kind.CODE, **same) for team in teams)
    data = Submission.objects.bulk_create(Submission(team=teams[0], kind=Kind.DATASET, **same) for _ in range(datasets))
    tasks = Task.objects.bulk_create(
        Task(competition=site.competition, name=f"Dataset {number}", scoring_program=own.scoring_program)
        for number in range(datasets)
    )
    Dataset.objects.bulk_create(
        Dataset(submission=submission, task=task, name=task.name, joined_at=site.now, counts_from=site.now)
        for submission, task in zip(data, tasks, strict=True)
    )
    Run.objects.bulk_create(
        [
            Run(
                submission=submission,
                task=task,
                team_id=submission.team_id,
                queue=site.queue,
                queued_at=site.now,
                not_before=site.now,
                finished_at=site.now,
                state=State.FINISHED,
                scores={"mae": ((submission.pk * 37 + task.pk * 11) % 997) / 997},
                fills_board=task != own,
            )
            for submission in sent
            for task in (own, *tasks)
        ],
        batch_size=1000,
    )
    board_rebuild(main_board(site))
    return site


def median_ms(act: Callable[[], Any], times: int = 7) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        act()
        taken.append((time.perf_counter() - started) * 1000)
    return sorted(taken)[times // 2]


@pytest.mark.parametrize(("algorithms", "datasets"), [(20, 10), (100, 50), (100, 200)])
def test_a_growing_board(algorithms: int, datasets: int) -> None:
    site = filled(algorithms, datasets)
    submission = Submission.objects.filter(phase=site.phase, kind=Kind.CODE).latest("pk")
    result = median_ms(lambda: board_follow(Submission, Submission.objects.get(pk=submission.pk)))
    idle = median_ms(lambda: (boards_fill(now=site.now), datasets_begin_to_count(now=site.now)))
    client, url = Client(), reverse("web:leaderboard", args=[site.competition.slug])

    def first_page() -> None:
        board_follow(Submission, Submission.objects.get(pk=submission.pk))  # a new version: nothing of it is kept
        client.get(url)

    page = median_ms(first_page) - result
    with CaptureQueriesContext(connection) as queries:
        client.get(url, {"sets": "2"})
    print(
        f"\n{algorithms} algorithms x {datasets} datasets: one more result {result:.0f} ms, page {page:.0f} ms, "
        f"{len(queries)} queries, idle round {idle:.0f} ms"
    )
