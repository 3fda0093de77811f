"""Boards: order, ties, what never ranks, which submission counts, pages, export, history."""

import csv
import math
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.entries import entry_rank
from competitions.leaderboards.ranking.values import column_values
from competitions.leaderboards.reading import board as reading
from competitions.leaderboards.reading.export import csv_lines
from competitions.leaderboards.services import board_rebuild
from competitions.runs.models import Run
from competitions.submissions.services import submission_disqualify, submission_reinstate
from competitions.submissions.states import Reason
from core.spreadsheets import safe_cell
from tests.boards import many
from tests.refusals import refuses
from tests.scenario import Scenario


def rows(board: Leaderboard) -> list[tuple[int | None, str]]:
    return [(row.rank, row.entry.team.name) for row in reading.all_rows(board)]


def score_team(site: Scenario, name: str, value: float, *, is_baseline: bool = False) -> None:
    team = site.join(name, is_baseline=is_baseline)
    site.score(site.submit(team=team), value)


def test_lower_is_better_ties_share_a_rank_and_a_baseline_takes_none(site: Scenario) -> None:
    for name, value in [("bb", 0.2), ("dd", 0.3), ("aa", 0.1), ("cc", 0.2)]:
        score_team(site, name, value)
    score_team(site, "constant", 0.05, is_baseline=True)
    assert rows(site.phase.leaderboard) == [(None, "constant"), (1, "aa"), (2, "bb"), (2, "cc"), (4, "dd")]


def test_higher_is_better_turns_the_order_around(site: Scenario) -> None:
    Column.objects.update(sorting=Column.Sorting.DESC)
    for name, value in [("low", 0.1), ("high", 0.9)]:
        score_team(site, name, value)
    assert rows(site.phase.leaderboard) == [(1, "high"), (2, "low")]


def test_the_rank_follows_the_shown_value_where_the_column_says_so(site: Scenario) -> None:
    score_team(site, "first", 0.12341)
    score_team(site, "second", 0.12339)
    assert [rank for rank, _ in rows(site.phase.leaderboard)] == [1, 1]
    Column.objects.update(rank_by_shown=False)
    board_rebuild(site.phase.leaderboard)
    assert rows(site.phase.leaderboard) == [(1, "second"), (2, "first")]


def ties_broken(site: Scenario) -> Leaderboard:
    """The board as one of Codabench's is imported: exact values, then a second column, then time."""
    board: Leaderboard = site.phase.leaderboard
    Leaderboard.objects.filter(pk=board.pk).update(breaks_ties=True)
    Column.objects.filter(leaderboard=board).update(rank_by_shown=False, precision=2)
    Column.objects.create(leaderboard=board, key="f1", title="F1", index=1, sorting="desc", precision=2)
    board.refresh_from_db()
    return board


def scored_twice(site: Scenario, name: str, mae: float, f1: float | None = None, *, hours: int = 0) -> None:
    submission = site.submit(team=site.join(name), at=site.now + timedelta(hours=hours))
    scores = {"mae": mae} | ({} if f1 is None else {"f1": f1})
    site.answer(submission, {"outcome": "finished", "scores": scores})


def test_what_looks_equal_is_told_apart_by_ten_digits_then_other_columns_then_time(site: Scenario) -> None:
    board = ties_broken(site)
    scored_twice(site, "late", 0.72, 0.5, hours=2)
    scored_twice(site, "early", 0.72, 0.5, hours=1)
    scored_twice(site, "first column", 0.7199999, 0.1, hours=3)
    scored_twice(site, "second column", 0.72 + 1e-12, 0.9, hours=4)
    expected = [(1, "first column"), (2, "second column"), (3, "early"), (4, "late")]
    assert rows(board) == expected
    cursor, read = None, []
    while True:
        page = reading.board_page(board, size=1, cursor=cursor)
        read += [(row.rank, row.entry.team.name) for row in page.rows]
        if (cursor := page.next_cursor) is None:
            break
    assert read == expected
    assert [entry_rank(entry) for entry in Entry.objects.order_by(*Entry.IN_ORDER)] == [1, 2, 3, 4]


def test_the_page_says_what_equal_scores_mean(site: Scenario, client: Client) -> None:
    score_team(site, "first", 0.5)
    address = f"/competitions/{site.competition.slug}/leaderboard/?phase={site.phase.slug}"
    assert "equal scores share a rank." in " ".join(client.get(address).content.decode().split())
    board_rebuild(ties_broken(site))
    page = " ".join(client.get(address).content.decode().split())
    assert "share a rank" not in page
    assert "between equal scores the other columns decide, then who was earlier." in page


def test_a_row_without_a_value_is_behind_those_that_have_one_and_a_hidden_column_orders_nothing(site: Scenario) -> None:
    board = ties_broken(site)
    for number, (name, f1) in enumerate([("none", None), ("low", 0.1), ("high", 0.9)]):
        scored_twice(site, name, 0.5, f1, hours=number)
    assert [name for _, name in rows(board)] == ["high", "low", "none"]
    Column.objects.filter(key="f1").update(is_hidden=True)
    board_rebuild(board)
    assert [name for _, name in rows(board)] == ["none", "low", "high"]


BROKEN: list[dict[str, Any]] = [
    {},
    {"mae": math.nan},
    {"mae": math.inf},
    {"mae": -math.inf},
    {"mae": None},
    {"mae": "0"},
]


@pytest.mark.parametrize("sorting", list(Column.Sorting))
def test_a_missing_or_infinite_score_never_ranks(site: Scenario, sorting: Column.Sorting) -> None:
    Column.objects.update(sorting=sorting)
    score_team(site, "honest", 5.0)
    team = site.join("broken")
    submission = site.submit(team=team)
    for broken in BROKEN:
        run = Run(submission=submission, scores=broken)
        submission._prefetched_objects_cache = {"runs": [run]}  # type: ignore[attr-defined]
        assert column_values(submission, list(site.phase.leaderboard.columns.all())) == {}, broken
    site.answer(submission, {"outcome": "failed", "reason": Reason.SCORING_ERROR})
    assert rows(site.phase.leaderboard) == [(1, "honest")]


def test_the_best_counts_or_the_last_as_the_board_says(site: Scenario) -> None:
    for hours, value in [(0, 0.3), (1, 0.1), (2, 0.2)]:
        site.score(site.submit(at=site.now + timedelta(hours=hours)), value)
    board: Leaderboard = site.phase.leaderboard
    assert board.entries.get().values == {"mae": 0.1}
    assert board.entries.get().last_at == site.now + timedelta(hours=2)
    Leaderboard.objects.filter(pk=board.pk).update(rule=Leaderboard.Rule.LAST)
    board_rebuild(board)
    assert board.entries.get().values == {"mae": 0.2}


def test_a_disqualified_submission_leaves_the_board_and_comes_back(site: Scenario) -> None:
    first, best = site.score(site.submit(), 0.3), site.score(site.submit(), 0.1)
    assert submission_disqualify(submission=best, reason="trained on test data", now=site.now)
    assert not submission_disqualify(submission=best, reason="again", now=site.now)
    board: Leaderboard = site.phase.leaderboard
    assert board.entries.get().values == {"mae": 0.3}
    assert [milestone.score.submission_id for milestone in board.milestones.all()] == [first.pk]
    assert submission_reinstate(submission=best, reason="it was not", now=site.now)
    assert board.entries.get().values == {"mae": 0.1}
    assert board.milestones.count() == 2


def test_every_change_raises_the_version_that_pages_are_cached_by(site: Scenario) -> None:
    versions = []
    for _ in range(3):
        site.score(site.submit(), 0.5)
        versions.append(Leaderboard.objects.get(phase=site.phase).version)
    assert versions == sorted(set(versions))


def test_pages_put_together_are_the_whole_board_with_the_same_ranks(site: Scenario) -> None:
    board = many(site, 240)
    whole = [(row.rank, row.entry.pk) for row in reading.all_rows(board)]
    paged: list[tuple[int | None, int]] = []
    cursor = None
    while True:
        page = reading.board_page(board, cursor=cursor, size=17)
        paged += [(row.rank, row.entry.pk) for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert paged == whole
    for rank, pk in whole:
        assert entry_rank(Entry.objects.get(pk=pk)) == rank


def test_a_page_takes_the_same_number_of_queries_at_any_size(site: Scenario) -> None:
    counts = []
    for size in (0, 300):
        board = many(site, size) if size else site.phase.leaderboard
        with CaptureQueriesContext(
            connection,
        ) as queries:
            reading.board_page(board)
        counts.append(len(queries))
    assert counts == [1, 1]


@pytest.mark.parametrize("cursor", ["x", "AAAA", "bm9uc2Vuc2U", "W10", "ü"])
def test_a_cursor_from_elsewhere_is_refused(site: Scenario, cursor: str) -> None:
    with refuses(reading.INVALID_CURSOR):
        reading.board_page(site.phase.leaderboard, cursor=cursor)


def test_the_export_has_every_row_and_no_formula(site: Scenario) -> None:
    score_team(site, "=HYPERLINK(0)", 0.2)
    score_team(site, "plain", 0.1)
    lines = list(csv.DictReader(csv_lines(site.phase.leaderboard)))
    assert [(line["rank"], line["team"], line["mae"]) for line in lines] == [
        ("1", "plain", "0.1000"),
        ("2", "'=HYPERLINK(0)", "0.2000"),
    ]


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\tx"])
def test_cells_that_a_spreadsheet_would_run_are_quoted(text: str) -> None:
    assert safe_cell(text) == "'" + text


def test_the_history_holds_the_scores_that_were_best_when_they_came(site: Scenario) -> None:
    for hours, value in [(0, 0.5), (1, 0.7), (2, 0.35), (2, 0.3), (3, 0.32)]:  # two at once, as those that are migrated
        site.score(site.submit(at=site.now + timedelta(hours=hours)), value)
    best = [milestone.score.values["mae"] for milestone in reading.best_over_time(site.phase.leaderboard)]
    assert best == [0.5, 0.35, 0.3]


def test_a_score_that_was_received_earlier_but_scored_later_stands_at_its_own_time(site: Scenario) -> None:
    early = site.submit(at=site.now)
    run = site.claim()
    site.score(site.submit(at=site.now + timedelta(hours=1)), 0.3)
    from competitions.runs.leases import reports
    from tests.answers import read_result
    from tests.scenario import lease

    result = read_result({"outcome": "finished", "scores": {"mae": 0.4}}, columns=["mae"])
    reports.run_complete(**lease(run), result=result, now=site.now)
    best = [milestone.score.submission_id for milestone in reading.best_over_time(site.phase.leaderboard)]
    assert best[0] == early.pk
    assert len(best) == 2


def test_a_cursor_whose_row_has_moved_says_so_and_the_page_begins_anew(site: Scenario, client: Client) -> None:
    later = site.join("Later")
    for team, value in ((site.team, 0.2), (later, 0.4)):
        site.score(site.submit(team=team), value)
    board = site.phase.leaderboard
    cursor = str(reading.Cursor.of(Entry.objects.get(leaderboard=board, team=later)))
    assert not reading.board_page(board, cursor=cursor).rows
    site.now += timedelta(minutes=1)
    site.score(site.submit(team=later), 0.1)
    api = f"/api/v1/competitions/{site.competition.slug}/phases/{site.phase.slug}/leaderboard/"
    refused = client.get(api, {"cursor": cursor})
    assert (refused.status_code, refused.json()["code"]) == (409, "board_changed")
    page = client.get(
        f"/competitions/{site.competition.slug}/leaderboard/", {"cursor": cursor, "phase": site.phase.slug}
    )
    assert (page.status_code, page["Location"].partition("?")[2]) == (302, f"phase={site.phase.slug}")
