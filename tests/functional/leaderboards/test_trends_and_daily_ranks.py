"""The past of a board: each team's improvements, and the ranks as the day began."""

from __future__ import annotations

from datetime import timedelta

import pytest

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import DailyRank
from competitions.leaderboards.ranking import entries
from competitions.leaderboards.reading.daily_ranks import daily_ranks_note, earlier_ranks
from competitions.leaderboards.services import board_freeze, board_rebuild
from tests.scenario import Scenario

Rule = Leaderboard.Rule


def score_hourly(site: Scenario, *values: float) -> None:
    for hours, value in enumerate(values):
        site.score(site.submit(at=site.now + timedelta(hours=hours)), value)


def trend(site: Scenario) -> list[float]:
    return [value for _, value in site.phase.leaderboard.entries.get().trend]


def test_a_row_keeps_the_scores_that_improved_on_the_teams_own(site: Scenario) -> None:
    score_hourly(site, 0.5, 0.6, 0.4, 0.4, 0.3)
    assert trend(site) == [0.5, 0.4, 0.3]
    assert site.phase.leaderboard.entries.get().trend[0][0] == site.now.timestamp()


def test_a_row_keeps_few_of_many_improvements(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MOST", 2)
    score_hourly(site, 0.5, 0.4, 0.3, 0.2)
    assert trend(site) == [0.3, 0.2]


@pytest.mark.parametrize("rule", [Rule.SELECTED, Rule.ADD, Rule.ADD_AND_DELETE])
def test_where_teams_choose_no_trend_tells_of_what_they_did_not_choose(site: Scenario, rule: Rule) -> None:
    Leaderboard.objects.filter(pk=site.phase.leaderboard.pk).update(rule=rule)
    score_hourly(site, 0.5, 0.4)
    assert [entry.trend for entry in site.phase.leaderboard.entries.all()] in ([], [[]])


def test_a_frozen_board_keeps_what_came_later_out_of_the_trend(site: Scenario) -> None:
    score_hourly(site, 0.5, 0.4, 0.3)
    board_freeze(board=site.phase.leaderboard, at=site.now + timedelta(minutes=90))
    assert trend(site) == [0.5, 0.4]


def test_ranks_are_noted_once_a_day_and_only_where_the_board_changed(site: Scenario) -> None:
    other = site.join("other")
    site.score(site.submit(), 0.5)
    site.score(site.submit(team=other), 0.4)
    board = site.phase.leaderboard
    assert daily_ranks_note(now=site.now) == 1
    site.score(site.submit(at=site.now + timedelta(hours=1)), 0.3)
    assert daily_ranks_note(now=site.now + timedelta(hours=2)) == 0  # the same day
    noted = Leaderboard.objects.get(pk=board.pk)
    assert earlier_ranks(noted, [site.team.pk, other.pk]) == {site.team.pk: 2, other.pk: 1}
    Leaderboard.objects.filter(pk=board.pk).update(updated_at=site.now + timedelta(hours=3))
    assert daily_ranks_note(now=site.now + timedelta(days=1)) == 1
    assert earlier_ranks(Leaderboard.objects.get(pk=board.pk), [site.team.pk]) == {site.team.pk: 1}
    assert daily_ranks_note(now=site.now + timedelta(days=2)) == 0  # nothing came since


def test_noting_ranks_has_the_pages_drawn_anew(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    before = Leaderboard.objects.get(pk=site.phase.leaderboard.pk).version
    daily_ranks_note(now=site.now)
    assert Leaderboard.objects.get(pk=site.phase.leaderboard.pk).version > before


def test_no_rank_is_noted_of_a_sealed_board_or_of_one_where_a_team_has_several_rows(site: Scenario) -> None:
    site.score(site.submit(phase=site.sealed), 0.5)
    Leaderboard.objects.filter(phase=site.phase).update(rule=Rule.ALL)
    site.score(site.submit(), 0.5)
    board_rebuild(site.phase.leaderboard)
    assert daily_ranks_note(now=site.now) == 0
    assert not DailyRank.objects.exists()
