"""Invitation links: also without an account, limited in time and number, under the usual rules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
import time_machine
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.teams import links, refusals
from competitions.teams.merging import merge_accept, merge_propose
from competitions.teams.models import InvitationLink, Membership, Team
from competitions.teams.services import register
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person


@pytest.fixture
def now(site: Scenario) -> Any:
    with time_machine.travel(site.now, tick=False):
        yield site.now


def made(site: Scenario, now: datetime, *, max_uses: int = 2, days: int = 7) -> InvitationLink:
    return links.link_make(team=site.team, by=site.team.captain, max_uses=max_uses, days=days, now=now)


def link_url(link: InvitationLink) -> str:
    return reverse("web:link", args=[links.signed_token(link)])


def registered(site: Scenario, name: str) -> User:
    user = person(name)
    register(user=user, competition=site.competition, rules_version=1, now=site.now)
    return user


def members(team: Team) -> int:
    return Membership.objects.filter(team=team).count()


def test_a_captain_makes_a_link_by_which_others_join(site: Scenario, now: datetime) -> None:
    captain = user_client(site.team.captain)
    made_url = reverse("web:link-make", args=[site.competition.slug])
    captain.post(made_url, {"people": "2", "days": "7"})
    link = InvitationLink.objects.get()
    assert link_url(link) in captain.get(reverse("web:team", args=[site.competition.slug])).content.decode()
    guest = registered(site, "guest")
    visitor = user_client(guest)
    assert "Join the team" in visitor.get(link_url(link)).content.decode()
    assert members(site.team) == 1, "looking joins nobody"
    assert visitor.post(link_url(link)).status_code == 302
    assert Membership.objects.get(user=guest).team == site.team
    link.refresh_from_db()
    assert link.uses == 1


def test_who_has_no_account_signs_up_and_comes_back(site: Scenario, now: datetime) -> None:
    link, visitor = made(site, now), Client()
    page = visitor.get(link_url(link)).content.decode()
    assert site.team.name in page
    assert "You need an account" in page
    password = "quite a long secret 11"
    form = {"username": "new", "email": "new@example.net", "password1": password, "password2": password}
    assert f"{reverse('account_signup')}?next={quote(link_url(link))}" in page
    visitor.post(reverse("account_signup"), form | {"next": link_url(link)})
    confirm = next(word for word in mail.outbox[-1].body.split() if "/confirm-email/" in word)
    answer = visitor.post(confirm, follow=False)
    assert answer["Location"] == link_url(link), "back to the link"
    assert "Read the rules" in visitor.get(link_url(link)).content.decode()
    rules = reverse("web:join", args=[site.competition.slug])
    assert visitor.post(rules, {"rules_version": "1"})["Location"] == link_url(link)
    assert not Membership.objects.filter(user__username="new").exists(), "no team of their own was made on the way"
    visitor.post(link_url(link))
    assert Membership.objects.get(user__username="new").team == site.team
    assert visitor.post(reverse("account_logout")).status_code == 302


@pytest.mark.parametrize("ending", ["expired", "revoked", "used up", "merged"])
def test_a_link_that_is_over_lets_nobody_in(site: Scenario, now: datetime, ending: str) -> None:
    link, guest, later = made(site, now, max_uses=1), registered(site, "guest"), now
    if ending == "expired":
        later = now + timedelta(days=7)
    elif ending == "revoked":
        links.link_revoke(link=link, by=site.team.captain, now=now)
    elif ending == "used up":
        links.link_accept(link=link, by=registered(site, "first"), now=now)
    else:
        other = site.join("Other")
        merge_accept(
            proposal=merge_propose(team=other, by=other.captain, other_name=site.team.name, now=now),
            by=site.team.captain,
            now=now,
        )
    before = Membership.objects.count()
    with time_machine.travel(later, tick=False):
        for answer in (user_client(guest).get(link_url(link)), user_client(guest).post(link_url(link))):
            assert answer.status_code == 410
            assert "Ask the captain for a new one" in answer.content.decode()
    with refuses(refusals.LINK_OVER):
        links.link_accept(link=link, by=guest, now=later)
    assert Membership.objects.count() == before


def test_the_rules_of_invitations_hold_for_links(site: Scenario, now: datetime) -> None:
    link = made(site, now)
    with refuses(refusals.NOT_REGISTERED):
        links.link_accept(link=link, by=person("stranger"), now=now)
    with refuses(refusals.ALREADY_IN_TEAM):
        links.link_accept(link=link, by=site.join("Other").captain, now=now)
    site.competition.max_team_size = 1
    site.competition.save(update_fields=["max_team_size"])
    with refuses(refusals.TEAM_FULL):
        links.link_accept(link=link, by=registered(site, "guest"), now=now)
    link.refresh_from_db()
    assert (link.uses, members(site.team)) == (0, 1)


def test_a_link_that_somebody_made_up_does_not_exist(site: Scenario, now: datetime) -> None:
    link = made(site, now)
    for token in (link.key.hex, f"{link.key.hex}:forged", links.signed_token(link)[:-1], "x"):
        assert Client().get(reverse("web:link", args=[token])).status_code == 404
    site.competition.is_published = False
    site.competition.save(update_fields=["is_published"])
    assert Client().get(link_url(link)).status_code == 404


def test_only_captains_make_and_revoke_links_and_not_without_end(site: Scenario, now: datetime) -> None:
    link, other = made(site, now), site.join("Other")
    with refuses(refusals.NOT_CAPTAIN):
        links.link_make(team=site.team, by=other.captain, max_uses=1, days=1, now=now)
    with refuses(refusals.NOT_CAPTAIN):
        links.link_revoke(link=link, by=other.captain, now=now)
    for people, days in ((0, 1), (site.competition.max_team_size + 1, 1), (1, 0), (1, links.MOST_DAYS + 1)):
        with refuses(refusals.LINK_OUT_OF_BOUNDS):
            made(site, now, max_uses=people, days=days)
    for _ in range(links.MOST_LIVE - 1):
        made(site, now)
    with refuses(refusals.TOO_MANY_LINKS):
        made(site, now)
