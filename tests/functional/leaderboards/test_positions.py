"""The place of one score, as its team sees it."""

from __future__ import annotations

from competitions.catalog.models import Column
from competitions.disclosure.readers import reader_for
from competitions.leaderboards.reading.results import ScorePosition, score_position
from competitions.leaderboards.services import board_rebuild
from competitions.submissions.models import Submission
from tests.scenario import Scenario


def position(site: Scenario, submission: Submission) -> ScorePosition | None:
    stored = Submission.objects.select_related("phase__competition").get(pk=submission.pk)
    return score_position(stored, reader_for(site.member()))


def test_a_score_is_placed_among_the_other_teams_and_compared_with_the_own_best_and_the_first(site: Scenario) -> None:
    for name, value in [("first", 0.1), ("second", 0.2)]:
        site.score(site.submit(team=site.join(name)), value)
    best, worse = site.score(site.submit(), 0.3), site.score(site.submit(), 0.4)
    score_position = position(site, best)
    assert score_position is not None
    assert (score_position.value, score_position.place, score_position.counts) == ("0.3000", 3, True)
    assert (score_position.to_own_best, score_position.is_own_best, score_position.to_leader) == (
        "\N{MINUS SIGN}0.1000",
        True,
        "+0.2000",
    )
    score_position = position(site, worse)
    assert score_position is not None
    assert (score_position.place, score_position.counts, score_position.to_own_best, score_position.is_own_best) == (
        3,
        False,
        "+0.1000",
        False,
    )


def test_the_first_has_nobody_to_be_compared_with(site: Scenario) -> None:
    score_position = position(site, site.score(site.submit(), 0.3))
    assert score_position is not None
    assert (score_position.place, score_position.to_own_best, score_position.to_leader) == (1, "", "")


def test_a_baseline_takes_no_place(site: Scenario) -> None:
    baseline = site.join("constant", is_baseline=True)
    score_position = position(site, site.score(site.submit(team=baseline), 0.3))
    assert score_position is not None
    assert score_position.place is None


def test_a_sealed_score_and_a_hidden_column_have_no_position(site: Scenario) -> None:
    assert position(site, site.score(site.submit(phase=site.sealed), 0.3)) is None
    submission = site.score(site.submit(), 0.3)
    Column.objects.filter(leaderboard__phase=site.phase).update(is_hidden=True)
    board_rebuild(site.phase.leaderboard)
    assert position(site, submission) is None


def test_differences_have_no_more_digits_than_the_board(site: Scenario) -> None:
    site.score(site.submit(team=site.join("first")), 0.10004)
    score_position = position(site, site.score(site.submit(), 0.30006))
    assert score_position is not None
    assert score_position.to_leader == "+0.2001"
