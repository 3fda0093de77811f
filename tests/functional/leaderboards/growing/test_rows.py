"""Boards that grow: average ranks, cells that are missing, and what pages and exports say of them."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from competitions.catalog.changes.change import change_impact
from competitions.catalog.models import Phase, Task
from competitions.catalog.readiness import competition_warnings
from competitions.leaderboards.models import Cell, Entry
from competitions.leaderboards.reading.columns import DATASETS_PER_PAGE
from competitions.leaderboards.reading.export import csv_lines
from competitions.leaderboards.services import board_rebuild
from competitions.runs.models import Run
from competitions.runs.queue.ranking import enter_queue
from competitions.runs.services import submission_rerun
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.quota import allowances
from competitions.submissions.states import State
from tests.growing import cells, joined, main_board, order, reconcile, settle, submit_code, work
from tests.scenario import Scenario

OWN = "Task test-dev"


def test_a_row_stays_while_its_cells_run_and_after_they_failed(three: Scenario) -> None:
    joined(three, name="hard")
    reconcile(three)
    before = order(three)
    assert len(before) == 3
    submission = Submission.objects.get(runs__in=cells(submission__team=three.teams[1]))
    charged = allowances(team_id=three.teams[1].pk, phase=Phase.objects.get(pk=three.phase.pk), now=three.now)
    settle(three, {("Ben", "hard"): "time_limit"})
    submission.refresh_from_db()
    assert (submission.status, submission.reason, submission.is_charged) == (State.FINISHED, "", True)
    assert len(order(three)) == 3
    assert allowances(team_id=three.teams[1].pk, phase=three.phase, now=three.now) == charged


def test_ranks_are_averages_over_datasets_and_wait_until_all_have_run(three: Scenario) -> None:
    assert order(three) == [("Ada", 1), ("Ben", 2), ("Cay", 3)]
    owner = three.join("Dan")  # no algorithm, only a dataset
    joined(three, owner, name="new")
    reconcile(three)
    scores = {("Ada", "new"): 0.9, ("Ben", "new"): 0.2, ("Cay", "new"): 0.1}
    work(three, scores, limit=2)
    reconcile(three)
    assert order(three) == [("Ada", 1), ("Ben", 2), ("Cay", 3)], "nobody is behind for a cell that was not run yet"
    settle(three, scores)
    assert order(three) == [("Ada", 2), ("Ben", 2), ("Cay", 2)]


def test_a_failed_cell_is_behind_all_and_one_that_the_platform_failed_is_waited_for(three: Scenario) -> None:
    joined(three, three.join("Dan"), name="new")
    reconcile(three)
    scores: dict[tuple[str, str], float | str] = {
        ("Ada", "new"): "memory_limit",
        ("Ben", "new"): 0.1,
        ("Cay", "new"): 0.2,
    }
    run = cells(submission__team=three.teams[2]).get()
    Run.objects.filter(pk=run.pk).update(state=State.FAILED, reason="infrastructure")
    settle(three, scores)
    assert Dataset.objects.get().counts_from is None
    submission_rerun(submission=run.submission, actor="o", now=three.now)
    settle(three, scores | {("Cay", OWN): 0.3})
    assert Dataset.objects.get().counts_from is not None
    assert order(three) == [("Ben", 1.5), ("Ada", 2), ("Cay", 2.5)]


def test_whoever_comes_later_gains_nothing_by_cells_that_are_missing(three: Scenario) -> None:
    joined(three, three.join("Dan"), name="new")
    settle(three, {("Ada", "new"): 0.1, ("Ben", "new"): 0.2, ("Cay", "new"): 0.3})
    late = three.join("Eve")
    submit_code(three, late)
    work(three, {("Eve", OWN): 0.05})
    assert dict(order(three))["Eve"] == 2.5  # first of 4 on the own dataset, behind all three on the other
    settle(three, {("Eve", "new"): 0.05})
    assert order(three)[0] == ("Eve", 1)


def test_a_team_s_own_dataset_counts_for_others_alone(three: Scenario) -> None:
    joined(three, three.teams[2], name="of Cay")
    settle(three, {("Ada", "of Cay"): 0.4, ("Ben", "of Cay"): 0.3, ("Cay", "of Cay"): 0.0})
    assert order(three) == [("Ada", 1.5), ("Ben", 1.5), ("Cay", 3)]
    rows = Client().get(reverse("api:leaderboard", args=[three.competition.slug, three.phase.slug])).json()["rows"]
    assert {row["team"]: row["cells"][0]["is_own"] for row in rows} == {"Ada": False, "Ben": False, "Cay": True}
    page = Client().get(reverse("web:leaderboard", args=[three.competition.slug])).content.decode()
    assert OWN not in page, "its scores are those of the board's own column"
    assert page.count("0.1000") == 1


def test_the_order_in_which_cells_end_makes_no_difference(three: Scenario) -> None:
    joined(three, three.join("Dan"), name="one")
    joined(three, three.join("Eve"), name="two")
    reconcile(three)
    scores = {("Ada", "one"): 0.3, ("Ben", "one"): 0.2, ("Cay", "one"): 0.1, ("Ada", "two"): 0.2, ("Ben", "two"): 0.1}
    for run in cells().order_by("-pk"):  # by their random numbers
        Run.objects.filter(pk=run.pk).update(not_before=three.now + timedelta(days=1))
        dispatch_one(three, run, scores)
    settle(three, scores)
    means = {"Ada": (1 + 3 + 2) / 3, "Ben": (2 + 2 + 1) / 3, "Cay": (3 + 1 + 3) / 3}
    assert dict(order(three)) == {name: round(mean, 4) for name, mean in means.items()}


def dispatch_one(site: Scenario, run: Run, scores: Any) -> None:
    Run.objects.filter(pk=run.pk).update(not_before=site.now, priority=100)
    enter_queue(Run.objects.filter(pk=run.pk), now=site.now)
    work(site, scores, limit=1)


def test_a_row_that_was_not_run_yet_stays_in_the_board_sorted_by_that_dataset(three: Scenario) -> None:
    dataset = joined(three)
    reconcile(three)
    key = f"mae@{dataset.task_id}"
    assert Cell.objects.filter(key=key).count() == 3
    work(three, {}, limit=1)
    answer = (
        Client().get(reverse("api:leaderboard", args=[three.competition.slug, three.phase.slug]), {"sort": key}).json()
    )
    assert [row["rank"] for row in answer["rows"]] == [1, None, None]
    assert [row["cells"][0]["state"] for row in answer["rows"]] == ["scored", "waiting", "waiting"]


def test_json_csv_and_page_say_how_far_each_cell_is(three: Scenario) -> None:
    dataset = joined(three, three.teams[1], name="=new")
    settle(three, {("Ada", "=new"): "time_limit", ("Ben", "=new"): 0.25, ("Cay", "=new"): 0.125})
    answer = Client().get(reverse("api:leaderboard", args=[three.competition.slug, three.phase.slug])).json()
    (column,) = answer["datasets"]
    assert (column["task"], column["name"], column["team"]) == (dataset.task_id, "=new", "Ben")
    key = f"mae@{dataset.task_id}"
    states = {
        row["team"]: (row["cells"][0]["state"], row["cells"][0]["reason"], row["scores"].get(key))
        for row in answer["rows"]
    }
    assert states == {
        "Ada": ("failed", "time_limit", None),
        "Ben": ("scored", None, "0.2500"),
        "Cay": ("scored", None, "0.1250"),
    }
    lines = list(csv_lines(main_board(three)))
    assert f"{key} =new" in lines[0]
    place = lines[0].split(",").index(f"{key} =new")
    assert sorted(line.split(",")[place] for line in lines[1:]) == ["0.1250", "0.2500", "failed"]
    page = Client().get(reverse("web:leaderboard", args=[three.competition.slug])).content.decode()
    assert "over the time limit: behind all" in page
    assert "it does not count for its rank" in page


def add_like(dataset: Dataset, number: int) -> None:
    """Put as many further datasets on the board, with the same results of each algorithm."""
    first = Dataset.objects.select_related("submission", "task").get(pk=dataset.pk)
    submissions = Submission.objects.bulk_create(duplicate(first.submission) for _ in range(number))
    tasks = Task.objects.bulk_create(duplicate(first.task, key=uuid4()) for _ in range(number))
    Dataset.objects.bulk_create(
        duplicate(first, submission=submission, task=task) for submission, task in zip(submissions, tasks, strict=True)
    )
    finished = cells(task=first.task)
    Run.objects.bulk_create(duplicate(run, pk=uuid4(), task=task) for run in finished for task in tasks)


def duplicate(row: Any, **changed: Any) -> Any:
    """The row again, not saved yet, with other values."""
    again = copy(row)
    for name, value in {"pk": None, **changed}.items():
        setattr(again, name, value)
    return again


def test_pages_cost_the_same_with_one_dataset_and_with_many(three: Scenario) -> None:
    dataset = joined(three, name="first")
    settle(three, {})
    client = Client()
    client.force_login(three.member())
    url = reverse("web:leaderboard", args=[three.competition.slug])
    counts = []
    for more in (0, DATASETS_PER_PAGE + 4):
        add_like(dataset, more)
        board_rebuild(main_board(three))
        with CaptureQueriesContext(connection) as queries:
            page = client.get(url).content.decode()
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 10
    assert f"Submitted datasets 1 to 20 of {DATASETS_PER_PAGE + 5}" in page
    second = client.get(url, {"sets": "2", "sort": f"mae@{Dataset.objects.order_by('pk')[0].task_id}"}).content.decode()
    assert "Submitted datasets 21 to 25 of 25" in second
    assert client.get(url, {"sets": "9" * 18}).status_code == 200
    assert client.get(url, {"sets": "x"}).status_code == 200


def test_the_submission_s_page_tells_of_the_dataset_and_of_the_cells(three: Scenario) -> None:
    dataset = joined(three)
    client = Client()
    client.force_login(three.member())
    page = client.get(reverse("web:submission", args=[dataset.submission_id])).content.decode()
    assert "0 of 3 algorithms have been run on it" in page
    settle(three, {})
    submission = Entry.objects.get(team=three.team).score.submission
    run = cells(submission=submission).get()
    address = reverse("web:submission", args=[submission.pk])
    page = client.get(address).content.decode()
    assert "On submitted datasets" in page
    assert f'id="run-{run.pk}"' not in page
    assert f'id="run-{run.pk}"' in client.get(address, {"run": str(run.pk)}).content.decode()
    withdrawn = client.post(reverse("web:submission-withdraw", args=[dataset.submission_id]), follow=True)
    assert "no longer on the board" in withdrawn.content.decode()
    again = client.post(reverse("api:submission-withdraw", args=[dataset.submission_id]))
    assert (again.status_code, again.json()["code"]) == (409, "dataset_withdrawn")


def test_the_organizer_is_told_what_filling_costs(three: Scenario) -> None:
    phase = Phase.objects.get(pk=three.phase.pk)
    (sentence,) = change_impact(phase, {"max_datasets": 10, "time_limit_s": 3000}, three.now)[-1:]
    assert "(now 3): at most 3,600 s a run, 3.0 hours a dataset, 30.0 hours for all 10." in sentence
    client = Client()
    client.force_login(three.organizer)
    page = client.get(reverse("admin:catalog_phase_change", args=[phase.pk])).content.decode()
    assert "hours for all 50" in page


def test_a_warning_says_that_a_board_lacks_an_average_rank(three: Scenario) -> None:
    def codes() -> set[str]:
        return {warning.code for warning in competition_warnings(three.competition)}

    assert not codes() & {"no_average_rank", "check_is_a_task"}
    three.phase.tasks.add(Task.objects.get(name="Check"))
    main_board(three).columns.filter(key="rank").delete()
    assert {"no_average_rank", "check_is_a_task"} <= codes()
