"""A row that is taken off a board leaves a line, and nothing is said of sealed boards."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import RemovedRow
from competitions.leaderboards.picks import pick_add, pick_remove
from competitions.leaderboards.ranking.rules import Rule
from competitions.submissions.services import submission_disqualify, submission_reinstate
from tests.scenario import Scenario

REASON = "It was trained on the test labels"


def page(site: Scenario, client: Client) -> str:
    return client.get(f"/competitions/{site.competition.slug}/leaderboard/?phase={site.phase.slug}").text


def test_a_disqualified_row_leaves_its_reason_until_it_is_reinstated(site: Scenario, client: Client) -> None:
    worse, best = (site.score(site.submit(at=site.now + timedelta(hours=hour)), 0.3 - 0.1 * hour) for hour in (0, 1))
    assert "taken off" not in page(site, client)
    submission_disqualify(submission=worse, reason=REASON, now=site.now)  # it stood nowhere
    assert not RemovedRow.objects.exists()
    submission_disqualify(submission=best, reason=REASON, now=site.now)
    assert f"Disqualified submission #{best.pk}: {REASON}" in page(site, client)
    submission_reinstate(submission=best, reason="The labels were another set's", now=site.now)
    assert "taken off" not in page(site, client)


def test_a_row_that_its_team_takes_off_leaves_a_line_and_a_better_one_does_not(site: Scenario, client: Client) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(rule=Rule.ADD_AND_DELETE_MULTIPLE)
    board = Leaderboard.objects.select_related("phase").get(phase=site.phase)
    first, second = (site.score(site.submit(at=site.now + timedelta(hours=hour)), 0.3) for hour in (0, 1))
    for submission in (first, second):
        pick_add(board=board, submission=submission, by=site.member(), now=site.now)
    assert not RemovedRow.objects.exists()
    pick_remove(board=board, submission=first, by=site.member(), now=site.now)
    shown = page(site, client)
    assert "1 row was taken off" in shown
    assert "by the team itself" in shown
    pick_add(board=board, submission=first, by=site.member(), now=site.now)
    assert not RemovedRow.objects.exists()


@pytest.mark.parametrize(("visibility", "lines"), [("phase", 1), ("sealed", 0)])
def test_a_choice_for_a_sealed_board_is_told_to_nobody(site: Scenario, visibility: str, lines: int) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(rule=Rule.ADD_AND_DELETE_MULTIPLE, visibility=visibility)
    board = Leaderboard.objects.select_related("phase").get(phase=site.phase)
    submission = site.score(site.submit(), 0.3)
    pick_add(board=board, submission=submission, by=site.member(), now=site.now)
    pick_remove(board=board, submission=submission, by=site.member(), now=site.now)
    assert RemovedRow.objects.count() == lines
