"""A board that grows, with three teams, for the tests of this folder."""

from __future__ import annotations

import pytest

from competitions.teams.models import Team
from tests.growing import grow, settle, submit_code
from tests.scenario import Scenario

OWN = "Task test-dev"


@pytest.fixture
def site(site: Scenario) -> Scenario:
    """The site's own team is "Ada"; "Ben" and "Cay" take part beside it."""
    grow(site)
    Team.objects.filter(pk=site.team.pk).update(name="Ada")
    site.team.refresh_from_db()
    site.join("Ben")
    site.join("Cay")
    return site


@pytest.fixture
def three(site: Scenario) -> Scenario:
    """Three algorithms: Ada 0.1, Ben 0.2, Cay 0.3 on the organizers' dataset."""
    for team in site.teams:
        submit_code(site, team)
    settle(site, {("Ada", OWN): 0.1, ("Ben", OWN): 0.2, ("Cay", OWN): 0.3})
    return site
