"""Where one score stands, as its team sees it."""

from __future__ import annotations

from competitions.catalog.models import Column
from competitions.disclosure.readers import reader_of
from competitions.leaderboards.reading.positions import ScorePosition, position_of
from competitions.leaderboards.services import board_rebuild
from competitions.submissions.models import Submission
from tests.scenario import Scenario


def position(site: Scenario, submission: Submission) -> ScorePosition | None:
    found = Submission.objects.select_related("phase__competition").get(pk=submission.pk)
    return position_of(found, reader_of(site.member()))


def test_a_score_is_placed_among_the_other_teams_and_compared_with_the_own_best_and_the_first(site: Scenario) -> None:
    for name, value in [("first", 0.1), ("second", 0.2)]:
        site.score(site.submit(team=site.join(name)), value)
    best, worse = site.score(site.submit(), 0.3), site.score(site.submit(), 0.4)
    found = position(site, best)
    assert found is not None
    assert (found.value, found.place, found.counts) == ("0.3000", 3, True)
    assert (found.to_own_best, found.is_own_best, found.to_leader) == ("-0.1000", True, "+0.2000")
    found = position(site, worse)
    assert found is not None
    assert (found.place, found.counts, found.to_own_best, found.is_own_best) == (3, False, "+0.1000", False)


def test_the_first_has_nobody_to_be_compared_with(site: Scenario) -> None:
    found = position(site, site.score(site.submit(), 0.3))
    assert found is not None
    assert (found.place, found.to_own_best, found.to_leader) == (1, "", "")


def test_a_baseline_takes_no_place(site: Scenario) -> None:
    baseline = site.join("constant", is_baseline=True)
    found = position(site, site.score(site.submit(team=baseline), 0.3))
    assert found is not None
    assert found.place is None


def test_a_sealed_score_and_a_hidden_column_have_no_position(site: Scenario) -> None:
    assert position(site, site.score(site.submit(phase=site.sealed), 0.3)) is None
    made = site.score(site.submit(), 0.3)
    Column.objects.filter(leaderboard__phase=site.phase).update(is_hidden=True)
    board_rebuild(site.phase.leaderboard)
    assert position(site, made) is None


def test_differences_have_no_more_digits_than_the_board(site: Scenario) -> None:
    site.score(site.submit(team=site.join("first")), 0.10004)
    found = position(site, site.score(site.submit(), 0.30006))
    assert found is not None
    assert found.to_leader == "+0.2001"
