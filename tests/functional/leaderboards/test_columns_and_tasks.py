"""Boards with several columns and tasks: what is computed and measured, sorting, and the average rank."""

from __future__ import annotations

import csv
import sys
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Cell, Entry
from competitions.leaderboards.ranking.relative_ranks import ranks
from competitions.leaderboards.ranking.values import column_values
from competitions.leaderboards.reading import board as reading
from competitions.leaderboards.reading.export import csv_lines
from competitions.leaderboards.services import board_rebuild
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.teams.models import Team
from tests.answers import read_result
from tests.scenario import Scenario, lease

Scores = dict[str, float]


@pytest.fixture
def board(site: Scenario) -> Leaderboard:
    """Two tasks; columns acc (primary) and f1, higher is better."""
    first = site.phase.tasks.get()
    second = first.__class__.objects.create(
        competition=site.competition,
        name="Second",
        scoring_program=first.scoring_program,
        input_data=first.input_data,
        reference_data=first.reference_data,
    )
    site.phase.tasks.add(second)
    leaderboard: Leaderboard = site.phase.leaderboard
    leaderboard.columns.all().delete()
    for index, key in enumerate(("acc", "f1")):
        Column.objects.create(leaderboard=leaderboard, key=key, title=key, index=index, is_primary=key == "acc")
    return leaderboard


def computed(board: Leaderboard, computation: str, *sources: str, **fields: Any) -> Column:
    described = {"key": computation, "title": computation, "index": 9, "kind": "computed", "precision": 2} | fields
    return Column.objects.create(leaderboard=board, computation=computation, sources=list(sources), **described)


def scored(site: Scenario, *by_task: Scores, team: Team | None = None, wall_s: float = 1.0) -> Submission:
    """A submission taken through all its tasks, each with these scores."""
    submission = site.submit(team=team)
    for scores in by_task:
        run = site.claim()
        stages = [{"name": "scoring", "wall_s": wall_s, "memory_peak_bytes": wall_s * 100}]
        body = {"outcome": "finished", "scores": scores, "stages": stages}
        reports.run_complete(**lease(run), result=read_result(body, columns=list(scores)), now=site.now)
    submission.refresh_from_db()
    return submission


def score_values(submission: Submission) -> dict[str, Any]:
    values: dict[str, Any] = submission.scores.get().values
    return values


def test_a_row_appears_when_every_task_is_scored_and_keeps_each_tasks_score(site: Scenario, board: Leaderboard) -> None:
    submission = site.submit()
    for number, acc in enumerate((0.5, 0.7)):
        run = site.claim()
        body = {"outcome": "finished", "scores": {"acc": acc, "f1": 0.1}}
        reports.run_complete(**lease(run), result=read_result(body, columns=["acc", "f1"]), now=site.now)
        assert Entry.objects.count() == number
    runs = list(submission.runs.all())
    assert score_values(submission) == pytest.approx(
        {"acc": 0.6, "f1": 0.1}
        | {f"acc@{run.task_id}": run.scores["acc"] for run in runs}
        | {f"f1@{run.task_id}": 0.1 for run in runs}
    )


@pytest.mark.parametrize(("computation", "value"), [("avg", 0.45), ("sum", 1.8), ("min", 0.2), ("max", 0.8)])
def test_a_computed_column_is_taken_over_all_tasks_of_its_sources(
    site: Scenario, board: Leaderboard, computation: str, value: float
) -> None:
    computed(board, computation, "acc", "f1")
    submission = scored(site, {"acc": 0.8, "f1": 0.2}, {"acc": 0.4, "f1": 0.4})
    assert score_values(submission)[computation] == pytest.approx(value)


def test_what_is_computed_from_a_missing_score_is_missing_and_never_ranks(site: Scenario, board: Leaderboard) -> None:
    column = computed(board, "avg", "acc", "nowhere")
    submission = scored(site, {"acc": 0.8, "f1": 0.2}, {"acc": 0.4, "f1": 0.4})
    assert "avg" not in score_values(submission)
    board.columns.filter(is_primary=True).update(is_primary=False)
    Column.objects.filter(pk=column.pk).update(is_primary=True)
    board_rebuild(board)
    assert not board.entries.exists()


def test_a_sum_too_large_for_a_float_is_no_value_and_the_answer_is_taken(site: Scenario, board: Leaderboard) -> None:
    computed(board, "avg", "acc", "f1")
    computed(board, "sum", "acc")
    computed(board, "max", "acc", "sum")
    submission = scored(site, {"acc": 0.5, "f1": 1.7e308}, {"acc": 0.5, "f1": 1.7e308})
    assert submission.status == State.FINISHED
    tasks = [run.task_id for run in submission.runs.all()]
    each_task = {f"acc@{task}": 0.5 for task in tasks} | {f"f1@{task}": 1.7e308 for task in tasks}
    assert score_values(submission) == {"acc": 0.5, "sum": 1.0, "max": 1.0} | each_task
    too_large = scored(site, {"acc": 1.7e308, "f1": 0.5}, {"acc": 1.7e308, "f1": 0.5})
    assert too_large.status == State.FINISHED
    assert not too_large.scores.exists()
    assert not {"acc", "avg", "sum", "max"} & set(column_values(too_large, list(board.columns.all())))


def test_columns_computed_in_a_circle_have_no_value(site: Scenario, board: Leaderboard) -> None:
    computed(board, "avg", "sum")
    computed(board, "sum", "avg")
    assert (
        set(column_values(scored(site, {"acc": 0.8, "f1": 0.2}, {"acc": 0.4, "f1": 0.4}), list(board.columns.all())))
        & {
            "avg",
            "sum",
        }
        == set()
    )


@pytest.mark.parametrize("sources", [[], ["avg"], "acc", [1]])
def test_a_computed_column_without_usable_sources_is_refused(board: Leaderboard, sources: Any) -> None:
    column = Column(leaderboard=board, key="avg", title="avg", kind="computed", computation="avg", sources=sources)
    with pytest.raises(ValidationError, match=r"keys of the columns that it is computed from|from itself"):
        column.full_clean()


def test_a_measurement_that_does_not_exist_is_refused_by_name(board: Leaderboard) -> None:
    with pytest.raises(ValidationError, match="wall_s"):
        Column(leaderboard=board, key="speed", title="Speed", kind="meter").full_clean()


def test_times_of_several_tasks_add_up_and_peaks_do_not(site: Scenario, board: Leaderboard) -> None:
    for key in ("wall_s", "memory_peak_bytes"):
        Column.objects.create(leaderboard=board, key=key, title=key, kind="meter", sorting="asc", index=5)
    submission = scored(site, {"acc": 0.8, "f1": 0.2}, {"acc": 0.4, "f1": 0.4}, wall_s=2.0)
    assert (score_values(submission)["wall_s"], score_values(submission)["memory_peak_bytes"]) == (4.0, 200.0)


def test_workers_are_asked_for_scores_alone(site: Scenario, board: Leaderboard) -> None:
    computed(board, "avg", "acc", "f1")
    Column.objects.create(leaderboard=board, key="wall_s", title="Time", kind="meter")
    site.submit()
    assert site.claim().receipt["columns"] == ["acc", "f1"]


def three(site: Scenario) -> None:
    for name, acc, f1 in [("aa", 0.9, 0.1), ("bb", 0.8, 0.3), ("cc", 0.7, 0.2)]:
        scored(site, {"acc": acc, "f1": f1}, {"acc": acc, "f1": f1}, team=site.join(name))


def test_the_average_rank_follows_every_change_of_the_board(site: Scenario, board: Leaderboard) -> None:
    column = computed(board, "avg_rank", "acc", "f1", sorting="asc")
    board.columns.update(is_primary=False)
    Column.objects.filter(pk=column.pk).update(is_primary=True)
    three(site)
    shown = [(row.rank, row.entry.team.name, row.entry.values["avg_rank"]) for row in reading.all_rows(board)]
    assert shown == [(1, "bb", 1.5), (2, "aa", 2.0), (3, "cc", 2.5)]
    scored(site, {"acc": 1.0, "f1": 1.0}, {"acc": 1.0, "f1": 1.0}, team=site.join("dd"))
    assert [row.entry.team.name for row in reading.all_rows(board)] == ["dd", "bb", "aa", "cc"]


def test_equal_values_share_a_rank_and_missing_ones_are_behind_all() -> None:
    assert ranks([0.2, None, 0.1, 0.2]) == [2.0, 4.0, 1.0, 2.0]


def test_a_board_is_sorted_by_any_column_or_task_with_the_ranks_in_it(site: Scenario, board: Leaderboard) -> None:
    three(site)
    task = site.phase.tasks.latest("pk")
    for key in ("f1", f"f1@{task.pk}"):
        page = reading.board_page(board, sort=key)
        assert [(row.rank, row.entry.team.name) for row in page.rows] == [(1, "bb"), (2, "cc"), (3, "aa")]


def test_pages_of_a_sorted_board_put_together_are_the_whole(site: Scenario, board: Leaderboard) -> None:
    for number in range(7):
        value = (number % 3) / 10
        scored(site, *[{"acc": 0.5, "f1": value}] * 2, team=site.join(f"t{number}", is_baseline=number == 3))
    whole = [(row.rank, row.entry.pk) for row in reading.board_page(board, sort="f1").rows]
    paged, cursor = [], None
    while True:
        page = reading.board_page(board, sort="f1", cursor=cursor, size=2)
        paged += [(row.rank, row.entry.pk) for row in page.rows]
        if (cursor := page.next_cursor) is None:
            break
    assert paged == whole
    assert len(whole) == 7


def test_a_sorted_page_takes_one_query_at_any_size(site: Scenario, board: Leaderboard) -> None:
    for number in range(3):
        scored(site, *[{"acc": 0.5, "f1": 0.1 * number}] * 2, team=site.join(f"t{number}"))
        with CaptureQueriesContext(connection) as queries:
            reading.board_page(board, sort="f1")
        assert len(queries) == 1


def test_a_row_without_the_value_sorts_last_and_has_no_rank(site: Scenario, board: Leaderboard) -> None:
    three(site)
    from competitions.leaderboards.ranking.entries import cells_write

    for team, values in (("bb", {"acc": 0.8}), ("aa", {"acc": 0.8, "f1": -sys.float_info.max})):
        entry = Entry.objects.get(leaderboard=board, team__name=team)
        entry.values = values
        entry.save()
        cells_write(entry, list(board.columns.all()))
    assert [(row.rank, row.entry.team.name) for row in reading.board_page(board, sort="f1").rows] == [
        (1, "cc"),
        (2, "aa"),
        (None, "bb"),
    ]


@pytest.mark.parametrize("sort", ["nowhere", "hidden", "acc@0"])
def test_sorting_by_what_is_not_shown_is_refused(site: Scenario, board: Leaderboard, sort: str) -> None:
    Column.objects.create(leaderboard=board, key="hidden", title="hidden", is_hidden=True)
    three(site)
    page = Client().get(reverse("web:leaderboard", args=[site.competition.slug]), {"sort": sort})
    answer = Client().get(reverse("api:leaderboard", args=[site.competition.slug, site.phase.slug]), {"sort": sort})
    assert (page.status_code, answer.status_code, answer.json()["code"]) == (400, 400, "unknown_sort")


@pytest.mark.parametrize("is_transposed", [False, True])
def test_page_api_and_export_show_each_task_where_the_board_says_so(
    site: Scenario, board: Leaderboard, is_transposed: bool
) -> None:
    Leaderboard.objects.filter(pk=board.pk).update(shows_tasks=True, is_transposed=is_transposed)
    submission = scored(site, {"acc": 0.8125, "f1": 0.2}, {"acc": 0.4375, "f1": 0.4})
    runs = {run.task.name: run for run in Run.objects.filter(submission=submission).select_related("task")}
    page = Client().get(reverse("web:leaderboard", args=[site.competition.slug])).content.decode()
    answer = Client().get(reverse("api:leaderboard", args=[site.competition.slug, site.phase.slug])).json()
    (line,) = csv.DictReader(csv_lines(Leaderboard.objects.select_related("phase__competition").get(pk=board.pk)))
    for name, run in runs.items():
        key, value = f"acc@{run.task_id}", f"{run.scores['acc']:.4f}"
        assert f"acc: {name}" in page
        assert value in page
        assert answer["rows"][0]["scores"][key] == line[key] == value
    assert ("transposed" in page) is is_transposed


def test_a_board_of_one_column_keeps_nothing_to_sort_by(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    assert not Cell.objects.exists()
