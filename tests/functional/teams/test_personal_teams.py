"""People who join alone can submit at once, in a team named after them that they can replace."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import Scope, User, token_create
from competitions.teams import services
from competitions.teams.models import Invitation, Team
from competitions.teams.refusals import ALREADY_IN_TEAM, IN_ANOTHER_TEAM, OWN_TEAM_STAYS
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person

pytestmark = pytest.mark.django_db


def joined(site: Scenario, name: str = "") -> User:
    """A new person who has accepted the rules in the browser."""
    user = person(name)
    answer = user_client(user).post(reverse("web:join", args=[site.competition.slug]), {"rules_version": "1"})
    assert answer.status_code == 302
    return user


def users_team(site: Scenario, user: User) -> Team:
    return services.require_team(user=user, competition=site.competition)


def invitation_to(site: Scenario, user: User) -> Invitation:
    return services.invite(team=site.team, by=site.member(), person=user.username, now=site.now)


def accept(site: Scenario, user: User, invitation: Invitation) -> Team:
    return services.invitation_accept(invitation=invitation, by=user, now=site.now)


def test_whoever_joins_in_the_browser_or_by_the_api_has_a_team_and_submits(site: Scenario) -> None:
    ada, ben = joined(site, "ada"), person("ben")
    _, secret = token_create(user=ben, name="t", scopes=list(Scope.values), expires_at=site.now.replace(year=2031))
    url = reverse("api:registration", args=[site.competition.slug])
    answer = user_client(ben).post(url, {"rules_version": 1}, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 201, answer.content
    for user, name in ((ada, "ada"), (ben, "ben")):
        team = users_team(site, user)
        assert (team.name, team.is_personal, team.captain) == (name, True, user)
        assert site.submit(team=team).status == "queued"


def test_a_name_that_is_taken_or_too_short_is_told_apart(site: Scenario) -> None:
    site.join("cleo")
    assert users_team(site, joined(site, "cleo")).name.startswith("cleo ")
    short = joined(site, "d")
    assert users_team(site, short).name == f"d {short.pk}"


def test_creating_or_renaming_it_gives_it_a_name_and_makes_it_a_team_like_others(site: Scenario) -> None:
    user = joined(site)
    team = services.team_create(user=user, competition=site.competition, name="Orbitals", now=site.now)
    assert (team.pk, team.name, team.is_personal) == (users_team(site, user).pk, "Orbitals", False)
    with refuses(ALREADY_IN_TEAM):
        services.team_create(user=user, competition=site.competition, name="Others", now=site.now)


def test_whoever_an_organizer_approves_has_one_at_once(site: Scenario) -> None:
    site.competition.registration_policy = "approval"
    site.competition.save()
    user = person()
    registration = services.register(user=user, competition=site.competition, rules_version=1, now=site.now)
    services.registration_decide(registration=registration, approve=True, by=site.organizer, now=site.now)
    assert users_team(site, user).is_personal


def test_whoever_was_invited_is_asked_first(site: Scenario) -> None:
    user = person()
    services.register(user=user, competition=site.competition, rules_version=1, now=site.now)
    invitation_to(site, user)
    assert services.join_alone(user=user, competition=site.competition, now=site.now) is None


def test_it_goes_when_its_person_accepts_an_invitation(site: Scenario) -> None:
    user = joined(site)
    alone = users_team(site, user)
    assert accept(site, user, invitation_to(site, user)) == site.team
    assert users_team(site, user) == site.team
    assert not Team.objects.filter(pk=alone.pk).exists()


@pytest.mark.parametrize("kind", ["with submissions", "with a name"])
def test_what_would_be_lost_stays(site: Scenario, kind: str) -> None:
    user = joined(site)
    invitation = invitation_to(site, user)
    refusal = ALREADY_IN_TEAM
    if kind == "with submissions":
        site.submit(team=users_team(site, user))
        refusal = OWN_TEAM_STAYS
    else:
        services.team_rename(team=users_team(site, user), by=user, name="Ours")
    with refuses(refusal):
        accept(site, user, invitation)
    assert users_team(site, user) != site.team


def test_it_is_a_team_like_others_once_somebody_else_is_in_it(site: Scenario) -> None:
    captain, other = joined(site), joined(site)
    invitation = services.invite(team=users_team(site, captain), by=captain, person=other.username, now=site.now)
    accept(site, other, invitation)
    assert not users_team(site, captain).is_personal
    with refuses(IN_ANOTHER_TEAM):
        invitation_to(site, captain)
