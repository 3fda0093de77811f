"""Navigation on a board: pages, rows, teams by name, the first row and the baselines."""

from __future__ import annotations

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import Cell, Entry
from competitions.leaderboards.reading.board import (
    ROWS_ABOVE,
    all_rows,
    baseline_entries,
    board_page,
    first_entry,
    page_around,
    search,
    team_entry,
)
from tests.boards import many
from tests.pages import page_words
from tests.permissions import user_client
from tests.scenario import Scenario, person, scenario

SIZE = 17


def whole(board: Leaderboard) -> list[tuple[int | None, int]]:
    return [(row.rank, row.entry.pk) for row in all_rows(board)]


def backwards(board: Leaderboard, sort: str = "") -> list[tuple[int | None, int]]:
    """The whole board, read from its last page to its first."""
    page = board_page(board, size=SIZE, sort=sort)
    while page.next_cursor:
        page = board_page(board, cursor=page.next_cursor, size=SIZE, sort=sort)
    rows = [(row.rank, row.entry.pk) for row in page.rows]
    while page.previous_cursor:
        page = board_page(board, before=page.previous_cursor, size=SIZE, sort=sort)
        rows = [(row.rank, row.entry.pk) for row in page.rows] + rows
    return rows


def test_pages_read_backwards_are_the_whole_board_with_the_same_ranks(site: Scenario) -> None:
    board = many(site, 120)
    assert backwards(board) == whole(board)


def test_so_are_pages_in_the_order_of_another_column(site: Scenario) -> None:
    board = many(site, 60)
    Cell.objects.bulk_create(
        Cell(entry=entry, leaderboard=board, key="rmse", sort_value=entry.pk % 7, is_baseline=entry.is_baseline)
        for entry in Entry.objects.filter(leaderboard=board)
    )
    forwards = board_page(board, size=100, sort="rmse")
    assert backwards(board, "rmse") == [(row.rank, row.entry.pk) for row in forwards.rows]


def test_a_page_around_a_row_begins_a_few_rows_above_it_with_the_ranks_of_the_board(site: Scenario) -> None:
    board = many(site, 120)
    rows = whole(board)
    for at in (0, 3, 60, 119):
        page = page_around(board, Entry.objects.get(pk=rows[at][1]), size=30)
        first = max(0, at - ROWS_ABOVE)
        assert [(row.rank, row.entry.pk) for row in page.rows] == rows[first : first + 30]
        assert (page.previous_cursor is None) == (first == 0)


def test_a_page_around_a_row_takes_few_queries_on_a_large_board(site: Scenario) -> None:
    board = many(site, 300)
    entry = Entry.objects.get(pk=whole(board)[150][1])
    with CaptureQueriesContext(connection) as queries:
        page_around(board, entry)
    assert len(queries) <= 5


def test_a_team_is_found_by_its_name_or_a_member_whatever_their_case(site: Scenario) -> None:
    for name, user in (
        ("Gradient Descenders", "ann.Xqz"),
        ("gradient boosters", "ben.Xqz"),
        ("100% Gradients", "cem.Xqz"),
        ("Overfitters", "Dora.Xqz+1"),
    ):
        site.score(site.submit(team=site.join(name, user=person(user))), 0.5)
    site.join("Gradient without a score")
    elsewhere = scenario()
    elsewhere.score(elsewhere.submit(team=elsewhere.join("Gradients elsewhere", user=person("elsewhere.Xqz"))), 0.5)

    page = reverse("web:leaderboard", args=[site.competition.slug])
    for client in (Client(), user_client(site.member())):
        client.get(page)
        with CaptureQueriesContext(connection) as queries:
            shown = client.get(page, {"q": "a.xqz"})
        assert "with Dora.Xqz+1" in page_words(shown)
        assert len(queries) <= 10

    def found(text: str) -> list[tuple[str, str]]:
        return [(result.entry.team.name, result.member) for result in search(site.phase.leaderboard, text)]

    beginning, inside = [("gradient boosters", ""), ("Gradient Descenders", "")], [("100% Gradients", "")]
    assert found("GRADIENT") == beginning + inside, "those that begin with it come first"
    assert found("radie") == inside + beginning
    assert found("100%") == inside
    assert found("%") == found("___") == found("....") == [], "no pattern, of any kind"
    assert found("ra") == [], "two letters are looked for at the beginning"
    assert found("DORA.xq") == [("Overfitters", "Dora.Xqz+1")], "by its member"
    assert {name for name, _ in found(".xqz")} == {
        "100% Gradients",
        "gradient boosters",
        "Gradient Descenders",
        "Overfitters",
    }


def test_the_first_row_and_the_baselines_are_read_by_index(site: Scenario) -> None:
    for name, value, is_baseline in [("second", 0.2, False), ("first", 0.1, False), ("mean", 0.05, True)]:
        site.score(site.submit(team=site.join(name, is_baseline=is_baseline)), value)
    board = site.phase.leaderboard
    leader = first_entry(board)
    assert leader is not None
    assert (leader.team.name, [entry.team.name for entry in baseline_entries(board)]) == ("first", ["mean"])
    assert team_entry(board, leader.team_id) == leader
