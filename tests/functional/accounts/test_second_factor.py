"""Organizers and administrators have a second factor where the site requires it."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added
from django.core import mail
from django.core.cache import cache
from django.test import Client

from accounts.models import ApiToken, Scope, User, token_create
from competitions.catalog.organizers import organizer_add
from competitions.notifications.models import Notification
from competitions.organize.inviting import organizer_invite
from tests.permissions import user_client
from tests.scenario import Scenario, person

ACTIVATE = "/accounts/2fa/"


@pytest.fixture(autouse=True)
def required(settings: Any) -> None:
    settings.REQUIRE_STAFF_MFA = True
    cache.clear()


def with_second_factor(user: User) -> User:
    Authenticator.objects.create(user=user, type=Authenticator.Type.TOTP, data={"secret": "x"})
    return user


@pytest.mark.parametrize("path", ["/", "/admin/", "/profile/", "/organize/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_staff_without_one_are_led_to_the_page_where_they_turn_it_on(site: Scenario, path: str, method: str) -> None:
    client = user_client(site.organizer)
    answer = getattr(client, method)(path)
    assert (answer.status_code, answer["Location"]) == (302, ACTIVATE)
    page = client.get(ACTIVATE, follow=True).content.decode()
    assert "sign in with a second factor" in page
    assert client.get("/docs/participants/").status_code != 302, "the page links to its help"
    assert all(words in page for words in ("Authenticator app", "Security keys", ">E-mail notifications</a>"))


def test_whoever_organizes_without_being_staff_needs_one(site: Scenario, settings: Any) -> None:
    settings.HOSTS = "everybody"
    member, slug = site.member(), site.competition.slug
    theirs = site.submit(team=site.join("others"))
    client = user_client(member)
    assert [client.get(path).status_code for path in ("/host/", "/profile/", "/")] == [200, 200, 200]
    refused = client.post("/host/begin/", {"start": "empty"})
    assert (refused.status_code, refused["Location"]) == (302, ACTIVATE)
    organizer_add(competition=site.competition, person=member.username, by=site.organizer)
    workspace = f"/host/competitions/{slug}/"
    for path in (workspace, f"/submissions/{theirs.pk}/file/", f"/competitions/{slug}/", "/"):
        assert client.get(path)["Location"] == ACTIVATE, path
    assert client.get(f"/api/v1/competitions/{slug}/document/").json()["code"] == "second_factor_required"
    EmailAddress.objects.create(user=member, email=member.email, verified=True)
    token = Client().post("/api/api-token-auth/", {"username": member.username, "password": "x"})
    assert (token.status_code, ApiToken.objects.get(user=member).scopes) == (200, ["read", "submit", "team"])
    with_second_factor(member)
    assert client.get(workspace).status_code == 200


@pytest.mark.parametrize("has_one", [False, True])
def test_an_invitation_to_organize_says_that_a_second_factor_comes_first(site: Scenario, *, has_one: bool) -> None:
    guest = with_second_factor(person()) if has_one else person()
    organizer_invite(competition=site.competition, person=guest.username, by=site.organizer, now=site.now)
    page = user_client(guest).get("/host/").content.decode()
    for text in (page, Notification.objects.get(user=guest).text, mail.outbox[-1].body):
        assert ("set up an authenticator app or a passkey" in text) is not has_one


@pytest.mark.parametrize("is_second_factor", [True, False])
def test_a_new_second_factor_ends_the_tokens_that_the_password_gave(site: Scenario, is_second_factor: bool) -> None:
    member = site.member()
    EmailAddress.objects.create(user=member, email=member.email, verified=True)
    token = Client().post("/api/api-token-auth/", {"username": member.username, "password": "x"}).json()["token"]
    if is_second_factor:
        authenticator_added.send(sender=Authenticator, user=with_second_factor(member))
    answer = Client().get("/api/v1/competitions/", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == (401 if is_second_factor else 200)


@pytest.mark.django_db
def test_a_superuser_needs_one_also_without_the_mark_of_staff() -> None:
    assert user_client(person(is_superuser=True)).get("/profile/")["Location"] == ACTIVATE


def test_the_api_says_so_to_a_browsers_session_and_takes_tokens(site: Scenario) -> None:
    refused = user_client(site.organizer).get("/api/v1/competitions/")
    assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_required")
    _, secret = token_create(user=site.organizer, name="t", scopes=[Scope.READ], expires_at=site.now.replace(year=2040))
    headers = {"Authorization": f"Bearer {secret}"}
    assert Client().get("/api/v1/competitions/", headers=headers).status_code == 200


def test_no_token_is_given_for_the_password_alone(site: Scenario) -> None:
    EmailAddress.objects.create(user=site.organizer, email=site.organizer.email, verified=True)
    credentials = {"username": site.organizer.username, "password": "x"}
    refused = Client().post("/api/api-token-auth/", credentials)
    assert (refused.status_code, refused.json()["code"]) == (403, "second_factor_required")


def test_whoever_has_one_goes_on_and_so_do_those_who_need_none(site: Scenario, settings: Any) -> None:
    assert user_client(with_second_factor(site.organizer)).get("/admin/").status_code == 200
    assert user_client(site.member()).get("/profile/").status_code == 200
    robot = person(is_staff=True, is_robot=True)
    EmailAddress.objects.create(user=robot, email=robot.email, verified=True)
    assert Client().post("/api/api-token-auth/", {"username": robot.username, "password": "x"}).status_code == 200
    settings.REQUIRE_STAFF_MFA = False
    assert user_client(person(is_staff=True)).get("/admin/").status_code == 200


def test_recovery_codes_are_not_a_second_factor_by_themselves(site: Scenario) -> None:
    Authenticator.objects.create(user=site.organizer, type=Authenticator.Type.RECOVERY_CODES, data={})
    assert user_client(site.organizer).get("/admin/").status_code == 302
