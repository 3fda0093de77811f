"""A board that grows, with three teams, for the tests of this folder."""

from __future__ import annotations

import pytest

from competitions.teams.models import Team
from tests.growing import grow, settle, submit_code
from tests.scenario import Scenario
from tests.shared_rows import shared

OWN = "Task test-dev"


@shared
def growing_site(common_site: Scenario) -> Scenario:
    """The site's own team is "Ada"; "Ben" and "Cay" take part beside it."""
    site = common_site
    grow(site)
    Team.objects.filter(pk=site.team.pk).update(name="Ada")
    site.team.refresh_from_db()
    site.join("Ben")
    site.join("Cay")
    return site


@pytest.fixture
def site(growing_site: Scenario) -> Scenario:
    """A board that grows, and what else the test asks for."""
    return growing_site


@shared
def three(growing_site: Scenario) -> Scenario:
    """Three algorithms: Ada 0.1, Ben 0.2, Cay 0.3 on the organizers' dataset."""
    site = growing_site
    for team in site.teams:
        submit_code(site, team)
    settle(site, {("Ada", OWN): 0.1, ("Ben", OWN): 0.2, ("Cay", OWN): 0.3})
    return site
