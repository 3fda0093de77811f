"""Boards that grow both ways, with concurrent reconcilers, workers and people, on PostgreSQL."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from competitions.catalog.models import Phase, Task
from competitions.compute import wakeups
from competitions.leaderboards.growing import joining
from competitions.leaderboards.growing.missing_runs import boards_fill, cells_queue, datasets_begin_to_count
from competitions.leaderboards.models import Entry
from competitions.runs.models import Run
from competitions.submissions import datasets
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.services import NewSubmission, submission_create, submission_disqualify
from competitions.submissions.states import Kind, State
from core.background import jobs
from tests.growing import DATASET, grow, joined, order, settle, submit_code, submit_dataset, work
from tests.races import at_once, gap_before_writing, without_row_locks
from tests.scenario import Scenario, scenario, zip_bytes

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """Three algorithms that count."""
    monkeypatch.setattr(wakeups, "wake", lambda name: True)
    assert connection.vendor == "postgresql"
    site = scenario(now=timezone.now())
    grow(site)
    site.join("Ben")
    site.join("Cay")
    for team in site.teams:
        submit_code(site, team)
    work(site, {("Ben", "Task test-dev"): 0.2, ("Cay", "Task test-dev"): 0.1})
    return site


def test_six_reconcilers_queue_each_cell_once(site: Scenario) -> None:
    for name in "abc":
        joined(site, name=name)
    outcomes = at_once(6, lambda number: str(boards_fill(now=timezone.now())))
    assert sum(int(count) * times for count, times in outcomes.items()) == 9
    assert Run.objects.filter(fills_board=True).count() == 9


def test_the_same_cell_is_queued_once_by_eight_threads(site: Scenario) -> None:
    dataset = joined(site)
    submission = Entry.objects.get(team=site.team).score.submission

    def queue(number: int) -> str:
        return str(cells_queue(submission_id=submission.pk, tasks=[dataset.task_id], now=timezone.now()))

    assert at_once(8, queue) == Counter({"0": 7, "1": 1})
    assert Run.objects.filter(fills_board=True).count() == 1


@pytest.mark.parametrize("lock", [True, False], ids=["locked", "control: the race is real"])
def test_the_last_place_is_given_to_one_dataset(site: Scenario, lock: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = [submit_dataset(site, team) for team in site.teams]
    work(site, {})
    Phase.objects.filter(pk=site.phase.pk).update(max_datasets=1)
    named, gap = joining.dataset_name, gap_before_writing(3, lock=lock)

    def slowly(submission: Submission) -> str:
        gap()
        return named(submission)

    monkeypatch.setattr(joining, "dataset_name", slowly)

    def join(number: int) -> str:
        submission = Submission.objects.select_related("phase", "file").get(pk=sent[number].pk)
        return "waits" if joining.dataset_join(submission=submission, now=timezone.now()) is None else "joined"

    with contextlib.nullcontext() if lock else without_row_locks():
        outcomes = at_once(3, join)
    assert outcomes == (Counter(joined=1, waits=2) if lock else Counter(joined=3))
    assert Dataset.objects.count() == Task.objects.filter(dataset__isnull=False).count() == outcomes["joined"]


def test_a_dataset_joins_once_however_many_reconcilers_find_it(site: Scenario) -> None:
    submission = submit_dataset(site)
    work(site, {})
    outcomes = at_once(6, lambda number: str(joining.datasets_join(now=timezone.now())))
    assert outcomes == Counter({"0": 5, "1": 1})

    def join(number: int) -> None:
        jobs.perform(joining.JOINING_JOB, submission.pk)

    at_once(3, join)
    assert Dataset.objects.get().submission == submission


def test_one_team_takes_its_last_place_for_a_dataset_once(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(max_datasets_per_team=1)
    phase, user = Phase.objects.get(pk=site.phase.pk), site.member()
    uploads = [site.upload(zip_bytes({**DATASET, "n": str(number)}), "d.zip", user=user) for number in range(8)]

    def submit(number: int) -> None:
        submission_create(
            NewSubmission(user=user, phase=phase, upload=uploads[number], kind=Kind.DATASET), now=site.now
        )

    assert at_once(8, submit) == Counter(accepted=1, no_place_for_dataset=7)


def test_filling_counting_withdrawing_and_scoring_at_once_leave_the_board_whole(site: Scenario) -> None:
    dataset_rows = [joined(site, team, name=f"of {team.name}") for team in site.teams]
    boards_fill(now=timezone.now())
    late = site.join("Dan")
    submit_code(site, late)
    acts: list[Any] = [
        lambda: work(site, {}),
        lambda: work(site, {}),
        lambda: boards_fill(now=timezone.now()),
        lambda: boards_fill(now=timezone.now()),
        lambda: datasets_begin_to_count(now=timezone.now()),
        lambda: datasets.dataset_withdraw(submission=dataset_rows[0].submission, by=site.member(), now=site.now),
        lambda: submission_disqualify(submission=dataset_rows[1].submission, reason="no", now=timezone.now()),
    ]

    def act(number: int) -> None:
        acts[number]()

    assert at_once(len(acts), act) == Counter(accepted=len(acts))
    site.now = timezone.now()
    settle(site, {})
    left = Dataset.objects.on_board(Phase.objects.get(pk=site.phase.pk)).get()
    assert left == dataset_rows[2]
    assert Run.objects.filter(fills_board=True, task=left.task, state=State.FINISHED).count() == 4
    assert not Run.objects.exclude(state__in=[State.FINISHED, State.CANCELLED]).exists()
    assert len(order(site)) == 4
    assert set(Submission.objects.values_list("status", flat=True)) == {State.FINISHED}
