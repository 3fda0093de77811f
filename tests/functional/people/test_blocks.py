"""Blocking people, and reports of public profiles."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Block, Profile, ProfileReport, Scope, User, token_create
from accounts.people import blocks
from accounts.people.profiles import (
    OWN_PROFILE,
    REPORT_WITHOUT_TEXT,
    REPORTS_A_DAY,
    TOO_MANY_PROFILE_REPORTS,
    profile_hide,
    profile_report,
)
from competitions.discussions.following import follow_set
from competitions.notifications.models import Notification
from competitions.people.documents import DOCUMENTS
from competitions.teams.merging import merge_propose
from competitions.teams.models import Invitation
from competitions.teams.services import invite
from tests.background import run_background
from tests.functional.discussions.world import open_topic, reply
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person

SECOND = timedelta(seconds=1)


@pytest.fixture
def other(site: Scenario) -> User:
    return site.member(site.join("Others"))


def set_block(client: Client, user: User, *, block: str = "yes") -> int:
    return client.post(reverse("web:person-block", args=[user.get_username()]), {"block": block}).status_code


def api_client(user: User, *scopes: Scope) -> Client:
    _, secret = token_create(user=user, name="t", scopes=list(scopes), expires_at=timezone.now() + timedelta(days=1))
    return Client(headers={"Authorization": f"Bearer {secret}"})


def told(user: User) -> list[str]:
    return list(Notification.objects.filter(user=user).values_list("kind", flat=True))


def test_nobody_is_told_of_posts_of_whom_they_block_and_hears_again_after(site: Scenario, other: User) -> None:
    member = site.member()
    topic = open_topic(site)
    follow_set(user=member, competition=site.competition, topic=topic, is_on=True)
    client = user_client(member)
    assert set_block(client, other) == 302
    reply(topic, other, f"@{member.username}, look.", at=site.now + SECOND)
    run_background()
    assert not {"reply", "mention"} & set(told(member))
    assert set_block(client, other, block="no") == 302
    reply(topic, other, f"@{member.username}, again.", at=site.now + 2 * SECOND)
    run_background()
    assert "mention" in told(member)


def test_posts_of_whom_a_reader_blocks_are_folded_for_that_reader_alone(site: Scenario, other: User) -> None:
    topic = open_topic(site)
    reply(topic, other, "Loud words.", at=site.now + SECOND)
    address = reverse("web:topic", args=[site.competition.slug, topic.pk])
    client = user_client(site.member())
    blocks.block(by=site.member(), username=other.username, now=site.now)
    text = body_text(client.get(address))
    assert text.count("By somebody you have blocked. Show</summary>") == 1
    assert "Loud words." in text.split("By somebody you have blocked")[1].split("</details>")[0]
    assert "whom you block" not in body_text(user_client(other).get(address))
    for form in (f"{address.rstrip('/')}.md", f"{address.rstrip('/')}.atom"):
        own, public = (body_text(each.get(form)) for each in (client, Client()))
        assert ("Loud words." in own, "Loud words." in public) == (False, True)
        assert "Which seed?" in own
    assert "whom you block" not in body_text(Client().get(address))


def test_invitations_and_merges_of_whom_one_blocks_are_not_told_and_look_alike_to_them(
    site: Scenario, other: User
) -> None:
    invited, team = person(), other.memberships.get().team
    site.join("Alone", user=invited)
    invited.memberships.get().team.__class__.objects.filter(pk=invited.memberships.get().team_id).update(
        is_personal=True
    )
    for reader in (invited, site.member()):
        blocks.block(by=reader, username=other.username, now=site.now)
    invite(team=team, by=other, person=invited.username, now=site.now)
    merge_propose(team=team, by=other, other_name=site.team.name, now=site.now)
    assert (told(invited), told(site.member())) == ([], [])
    page = reverse("web:team", args=[site.competition.slug])
    sent = body_text(user_client(other).get(page))
    assert invited.username in sent
    assert team.name not in body_text(user_client(invited).get(page))
    assert team.name not in body_text(user_client(site.member()).get(page))
    assert Invitation.objects.filter(user=invited).count() == 1
    blocks.unblock(by=invited, username=other.username)
    assert team.name in body_text(user_client(invited).get(page))


def test_blocks_have_bounds_and_are_listed_and_exported(
    site: Scenario, other: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = site.member()
    client = user_client(member)
    assert (set_block(client, other), set_block(client, other)) == (302, 302)
    assert Block.objects.count() == 1
    assert f"@{other.username}" in body_text(client.get(reverse("web:blocks")))
    for name in (member.username, "nobody-at-all", person(is_robot=True).username):
        with refuses(blocks.NOBODY_TO_BLOCK):
            blocks.block(by=member, username=name, now=site.now)
    monkeypatch.setattr(blocks, "MOST_BLOCKED", 1)
    with refuses(blocks.TOO_MANY_BLOCKED):
        blocks.block(by=member, username=person().username, now=site.now)
    assert [row["person__username"] for row in DOCUMENTS["blocks"](member, site.now)] == [other.username]
    assert list(DOCUMENTS["blocks"](other, site.now)) == []  # who is blocked does not learn it
    assert not blocks.unblock(by=member, username="nobody-at-all")
    with pytest.raises(IntegrityError), transaction.atomic():
        Block.objects.create(by=member, person=member, created_at=site.now)


def test_a_profile_is_reported_hidden_and_released_by_administrators_alone(site: Scenario, other: User) -> None:
    profile = Profile.objects.create(user=other, is_public=True, is_indexed=True, about="Buy pills.")
    page = reverse("web:person", args=[other.username])
    reporter = user_client(site.member())
    assert reporter.post(f"{page}report/", {"text": " "}).status_code == 422
    assert reporter.post(f"{page}report/", {"text": "Spam."}).status_code == 302
    assert reporter.post(f"{page}report/", {"text": "Spam again."}).status_code == 302
    report = ProfileReport.objects.get()
    assert report.text == "Spam."
    assert [row["text"] for row in DOCUMENTS["profile-reports"](site.member(), site.now)] == ["Spam."]
    with refuses(OWN_PROFILE):
        profile_report(profile=profile, by=other, text="x", now=site.now)

    listed = reverse("admin:accounts_profilereport_changelist")

    def act(user: User, action: str) -> int:
        return user_client(user).post(listed, {"action": action, "_selected_action": [report.pk]}).status_code

    root = person(is_staff=True, is_superuser=True)
    assert "Spam." in body_text(user_client(root).get(listed))
    assert act(site.organizer, "hide") in (302, 403)
    assert Client().get(page).status_code == 200
    act(root, "hide")
    report.refresh_from_db()
    assert (Client().get(page).status_code, report.settled_by) == (404, root)
    client = user_client(other)
    refused = client.post(reverse("accounts:public"), {"is_public": "on"})
    assert "An administrator has hidden your profile" in body_text(refused)
    assert client.post(reverse("accounts:public"), {"name": "Ada"}).status_code == 302  # what nobody sees may change
    assert Profile.objects.get(user=other).hidden_at is not None
    act(root, "release")
    assert client.post(reverse("accounts:public"), {"is_public": "on"}).status_code == 302
    assert Client().get(page).status_code == 200


def test_a_dismissed_report_leaves_the_profile_and_reports_are_counted(site: Scenario, other: User) -> None:
    profile = Profile.objects.create(user=other, is_public=True)
    member, root = site.member(), person(is_staff=True, is_superuser=True)
    profile_report(profile=profile, by=member, text="Odd.", now=site.now)
    report = ProfileReport.objects.get()
    address = reverse("admin:accounts_profilereport_changelist")
    user_client(root).post(address, {"action": "dismiss", "_selected_action": [report.pk]})
    report.refresh_from_db()
    assert (report.settled_by, Profile.objects.get(user=other).is_public) == (root, True)
    with refuses(REPORT_WITHOUT_TEXT):
        profile_report(profile=profile, by=root, text="x" * 501, now=site.now)
    others = [Profile.objects.create(user=person(), is_public=True) for _ in range(REPORTS_A_DAY)]
    for each in others[1:]:
        profile_report(profile=each, by=member, text="Odd.", now=site.now)
    with refuses(TOO_MANY_PROFILE_REPORTS):
        profile_report(profile=others[0], by=member, text="Odd.", now=site.now)
    profile_hide(profile=others[0], by=root, now=site.now)
    assert user_client(member).get(reverse("web:person-report", args=[others[0].user.username])).status_code == 404


def test_a_program_blocks_lists_and_unblocks_for_the_person_of_its_token(site: Scenario, other: User) -> None:
    member, path = site.member(), f"/api/v1/blocks/{other.username}/"
    client, reading = api_client(member, Scope.READ, Scope.TEAM), api_client(member, Scope.READ)
    assert [client.put(path).json()["username"] for _ in range(2)] == [other.username] * 2, "twice is once"
    assert [row["username"] for row in client.get("/api/v1/blocks/").json()["results"]] == [other.username]
    assert list(blocks.blocked_by(member)) == [other.pk]
    assert user_client(other).get("/api/v1/blocks/").json()["results"] == [], "who is blocked is not told"
    for username in (member.username, "nobody"):
        refused = client.put(f"/api/v1/blocks/{username}/")
        assert (refused.status_code, refused.json()["code"]) == (422, "nobody_to_block")
    assert reading.delete(path).json()["code"] == "scope_missing"
    assert list(blocks.blocked_by(member)) == [other.pk]
    assert [client.delete(path).status_code for _ in range(2)] == [204, 404]
    assert not Block.objects.exists()
