"""The number of a competition's teams."""

from datetime import timedelta

import pytest
import time_machine
from django.core.cache import cache

from competitions.catalog.models import Competition
from competitions.teams import counts
from competitions.teams.counts import team_count
from competitions.teams.models import Team
from tests.scenario import NOON, Scenario

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_counted(site: Scenario) -> None:
    cache.clear()


def make_teams(site: Scenario, *names: str) -> None:
    for name in names:
        Team.objects.create(competition=site.competition, name=name, captain=site.member())


def number(competition: Competition) -> int:
    (row,) = Competition.objects.filter(pk=competition.pk).annotate(number=team_count()).values_list("number")
    return int(row[0])


def test_a_new_team_counts_at_once_in_its_competition_alone(site: Scenario) -> None:
    other = Competition.objects.create(slug="other", title="Other", queue=site.queue)
    assert number(site.competition) == 1
    make_teams(site, "Second")
    assert (number(site.competition), number(other)) == (2, 0)


def test_a_large_number_is_counted_again_after_a_minute(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "LARGE", 3)
    make_teams(site, "Second", "Third")
    assert number(site.competition) == 3
    make_teams(site, "Fourth")
    assert number(site.competition) == 3
    with time_machine.travel(NOON + timedelta(seconds=61)):
        assert number(site.competition) == 4
