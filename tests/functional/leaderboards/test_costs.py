"""Scores of a board against a cost: who is the best at its cost, the viewer's weights and limits."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.models import Entry
from tests.scenario import Scenario
from tests.shared_rows import shared

ROWS = {"quick": (0.30, 10.0), "good": (0.10, 500.0), "slow": (0.20, 900.0), "middle": (0.20, 100.0)}


@shared
def address(common_site: Scenario) -> str:
    """The page of a board with four rows and the measured time as a column."""
    site = common_site
    Column.objects.create(
        leaderboard=site.phase.leaderboard,
        key="wall_s",
        kind="meter",
        title="Time",
        unit="s",
        sorting="asc",
        precision=0,
    )
    for name, (mae, wall_s) in ROWS.items():
        site.score(site.submit(team=site.join(name)), mae)
        row = Entry.objects.get(team__name=name)
        row.values |= {"wall_s": wall_s}
        row.save()
    Leaderboard.objects.update(version=5)
    return reverse("web:costs", args=[site.competition.slug, site.phase.slug, "main"])


def read_rows(page: str) -> list[tuple[str, bool]]:
    """Teams in the table's order, and if each is the best at its cost."""
    rows = re.findall(r"<tr[^>]*><td class=\"num\">.*?</tr>", page, re.DOTALL)
    return [(re.findall(r"/entries/\d+/\">([^<]+)</a>", row)[0], "✓" in row) for row in rows]


def test_rows_that_no_other_beats_at_both_are_marked(address: str, client: Client) -> None:
    rows = read_rows(client.get(address).text)
    assert rows == [("good", True), ("slow", False), ("middle", True), ("quick", True)]


def test_the_viewer_sets_weight_and_limit_in_the_address(address: str, client: Client) -> None:
    assert [name for name, _ in read_rows(client.get(f"{address}?weight=100").text)] == [
        "quick",
        "middle",
        "good",
        "slow",
    ]
    page = client.get(f"{address}?most=500").text
    assert {name for name, _ in read_rows(page)} == {"good", "middle", "quick"}
    assert "1 costs more" in page


@pytest.mark.parametrize("query", ["cost=rmse", "cost=hidden", "most=nan", "most=abc", "weight=500", "weight=1e9"])
def test_what_is_no_cost_limit_or_weight_is_said_and_the_rows_are_shown(
    address: str, client: Client, query: str
) -> None:
    response = client.get(f"{address}?{query}")
    assert response.status_code == 200
    assert "message error" in response.text
    assert len(read_rows(response.text)) == 4


def test_a_hidden_column_is_no_cost_and_a_sealed_board_has_no_page(address: str, client: Client) -> None:
    Column.objects.filter(key="wall_s").update(is_hidden=True)
    Leaderboard.objects.update(version=6)
    assert "Nothing on this leaderboard tells a cost" in client.get(f"{address}?cost=wall_s").text
    Leaderboard.objects.update(visibility="sealed")
    assert client.get(address).status_code == 403
