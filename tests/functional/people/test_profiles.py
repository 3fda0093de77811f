"""Public profiles: off by default, what is listed, who sees it, and in how many queries."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.attempts import Limit
from accounts.links import require_github_name, require_orcid, require_web_site
from accounts.models import Profile, User
from accounts.people import profiles
from competitions.catalog.models import Competition
from competitions.catalog.services import phase_reveal
from tests.permissions import body_text, user_client
from tests.scenario import Scenario, scenario

MAX_QUERIES = 10
AFTER = timedelta(days=60)
LISTS = {"shows_competitions": True, "shows_ranks": True, "shows_teams": True}


def switched_on(user: User, **fields: Any) -> Profile:
    return Profile.objects.create(user=user, is_public=True, **(LISTS | fields))


def page(user: User, client: Client | None = None) -> str:
    answer = (client or Client()).get(reverse("web:person", args=[user.username]))
    return body_text(answer) if answer.status_code == 200 else f"{answer.status_code}"


def test_nothing_is_shown_until_it_is_switched_on_and_every_other_account_is_the_same_404(site: Scenario) -> None:
    member, client = site.member(), Client()
    address = reverse("web:person", args=[member.username])
    nobody = client.get(reverse("web:person", args=["nobody-at-all"])).content.decode().replace("nobody-at-all", "NAME")
    assert not Profile.objects.exists()
    profile = Profile(user=member)

    def hidden() -> bool:
        answer = client.get(address)
        return (answer.status_code, answer.content.decode().replace(member.username, "NAME")) == (404, nobody)

    assert hidden()
    profile.save()
    assert hidden(), "a profile that is off"
    Profile.objects.update(is_public=True)
    assert not hidden()
    for change in ({"is_active": False}, {"is_active": True, "is_robot": True}):
        User.objects.filter(pk=member.pk).update(**change)
        assert hidden(), change


def test_the_settings_page_checks_and_stores_what_is_shown(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    member = site.member()
    User.objects.filter(pk=member.pk).update(email="secret@example.org", first_name="Hidden")
    client, address = user_client(member), reverse("accounts:public")
    wrong = {
        "is_public": "on",
        "orcid": "0000-0002-1825-0098",
        "github": "-x",
        "website": "http://x.org",
        "name": "Admin ",
    }
    answer = client.post(address, wrong)
    assert answer.status_code == 422
    for text in ("does not fit the others", "single hyphens", "begins with https://", "Choose another"):
        assert text in answer.content.decode(), text
    right = {
        "is_public": "on",
        "orcid": "https://orcid.org/0000-0002-1825-0097",
        "github": "https://github.com/ada/",
        "website": "https://example.org/?a=<b>",
        "name": "Ada <b>",
        "about": "Hi <script>\nThere",
    }
    assert client.post(address, right).status_code == 302
    shown = page(member)
    for text in (
        "Ada &lt;b&gt;",
        "Hi &lt;script&gt;<br>There",
        "orcid.org/0000-0002-1825-0097",
        'github.com/ada"',
        'content="noindex"',
    ):
        assert text in shown, text
    for text in ("secret@example.org", "Hidden", site.competition.title, site.team.name):
        assert text not in shown, text
    assert client.get(reverse("web:person", args=[member.username])).headers["X-Robots-Tag"] == "noindex"
    assert client.post(address, right | {"is_indexed": "on"}).status_code == 302
    assert "noindex" not in page(member)
    assert client.post(address, {"is_indexed": "on"}).status_code == 302
    assert page(member) == "404"
    monkeypatch.setattr(profiles, "CHANGES", Limit(0, 3600))
    assert client.post(address, right).status_code in (302, 429)
    assert page(member) == "404"


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (require_orcid, ["0000-0002-1825-0097", "0000-0002-1694-233X"], ["000000021825009", "\u0660000-0002-1825-0097"]),
        (require_github_name, ["a", "a-b"], ["a--b", "-a", "a-", "a/b", "a" * 40, "a\n"]),
        (require_web_site, ["https://example.org/a"], ["http://example.org", "https://a@b.org", "javascript:alert(1)", "https://a b.org"]),
    ],
)  # fmt: skip
def test_links_are_checked(check: Any, right: list[str], wrong: list[str]) -> None:
    for text in right:
        check(text)
    for text in wrong:
        with pytest.raises(ValidationError):
            check(text)


def test_final_ranks_are_those_that_everybody_sees(site: Scenario) -> None:
    member = site.member()
    switched_on(member)
    site.score(site.submit(), 0.25)
    site.score(site.submit(phase=site.sealed), 0.123)
    with time_machine.travel(site.now, tick=False):
        assert "No final ranks yet." in page(member), "phases run"
    with time_machine.travel(site.now + AFTER, tick=False):
        shown = page(member)
        assert "Final ranks" in shown
        assert "test-dev" in shown
        assert "test-challenge" not in shown, "it is sealed"
        phase_reveal(phase=site.sealed, now=site.now + AFTER)
        assert "test-challenge" in page(member)
        document = Client().get(reverse("api:person", args=[member.username])).json()
        assert {row["phase"]: row["rank"] for row in document["ranks"]} == {"test-dev": 1, "test-challenge": 1}
        assert document["competitions"] == [site.competition.slug]
        site.phase.leaderboards.update(is_hidden=True)
        assert "test-dev" not in page(member)
        Competition.objects.update(is_published=False)
        for client in (None, user_client(site.organizer), user_client(member)):
            assert site.competition.title not in page(member, client)
            assert site.team.name not in page(member, client)


def test_names_lead_to_the_profile_only_where_it_is_on(site: Scenario) -> None:
    site.score(site.submit(), 0.25)
    member = site.member()
    link = reverse("web:person", args=[member.username])
    board = reverse("web:leaderboard", args=[site.competition.slug])
    team = reverse("web:public-team", args=[site.competition.slug, site.team.key])
    client = user_client(member)

    def linked() -> list[bool]:
        return [link in Client().get(address).content.decode() for address in (board, team)]

    assert linked() == [False, False]
    assert client.post(reverse("accounts:public"), {"is_public": "on"}).status_code == 302
    assert linked() == [True, True]
    User.objects.filter(pk=member.pk).update(is_active=False)
    profiles.profile_switched.send(sender=Profile, user=member)
    assert linked() == [False, False]


def test_a_full_profile_takes_few_queries(
    site: Scenario, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    member = site.member()
    switched_on(member)
    for other in (site, *(scenario() for _ in range(4))):
        if other is not site:
            other.join(user=member)
        team = other.teams[-1] if other is not site else other.team
        other.score(other.submit(team=team), 0.25)
        other.phase.leaderboards.update(has_sealed_keys=True)
    client = user_client(site.organizer)
    with time_machine.travel(site.now + AFTER, tick=False), django_assert_max_num_queries(MAX_QUERIES):
        page(member, client)
