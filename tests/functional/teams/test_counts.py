"""The number of teams that every page of a competition shows."""

from __future__ import annotations

import pytest

from competitions.catalog.models import Competition
from competitions.teams.merging import merge_accept, merge_propose
from competitions.teams.services import team_leave, team_save
from tests.scenario import Scenario

pytestmark = pytest.mark.django_db


def number(competition: Competition) -> int:
    return Competition.objects.get(pk=competition.pk).team_count


def test_a_team_counts_in_its_competition_alone_until_it_goes(site: Scenario) -> None:
    other = Competition.objects.create(slug="other", title="Other", queue=site.queue)
    assert (number(site.competition), number(other)) == (1, 0)
    second = site.join()
    assert number(site.competition) == 2
    team_leave(team=second, by=site.member(second))
    assert (number(site.competition), number(other)) == (1, 0)


def test_baselines_and_merged_teams_do_not_count(site: Scenario) -> None:
    first, second, third = site.team, site.join(), site.join()
    assert site.join(is_baseline=True).is_baseline
    assert number(site.competition) == 3
    third.is_baseline = True
    team_save(team=third)
    assert number(site.competition) == 2
    captain = site.member(first)
    proposal = merge_propose(team=first, by=captain, other_name=second.name, now=site.now)
    merge_accept(proposal=proposal, by=site.member(second), now=site.now)
    assert number(site.competition) == 1
