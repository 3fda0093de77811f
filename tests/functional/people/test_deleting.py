"""The end of an account: what stops it, what goes, and that boards, receipts and posts stay."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import ApiToken, Profile, User, token_create
from competitions.catalog.models import CompetitionOrganizer, Leaderboard
from competitions.catalog.services import phase_reveal
from competitions.discussions.following import follow_set
from competitions.discussions.models import Post, Subscription
from competitions.leaderboards.sealing import commit_closed_boards
from competitions.organize.drafts import draft_begin
from competitions.organize.models import CompetitionDraft
from competitions.people import deleting
from competitions.people.deleting import (
    HAND_OVER_FIRST,
    WAITING_TIME,
    deletion_ask,
    deletion_withdraw,
    deletions_perform,
    obstacles,
)
from competitions.people.exports import export_begin, export_perform
from competitions.people.models import AccountDeletion, DataExport
from competitions.runs.models import Run
from competitions.teams.models import Membership, Registration, Team
from files.manifest import manifest_faults
from tests.functional.discussions.world import open_topic, reply
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person

SECOND = timedelta(seconds=1)


def end(user: User, site: Scenario) -> None:
    """Delete the account at once, as after the waiting time."""
    deletion_ask(user=user, now=site.now)
    assert deletions_perform(now=site.now + WAITING_TIME) == 1


def test_it_waits_a_week_and_can_be_taken_back(site: Scenario) -> None:
    member = site.member()
    deletion_ask(user=member, now=site.now)
    assert mail.outbox[-1].to == [member.email]
    assert deletion_ask(user=member, now=site.now + SECOND).due_at == site.now + WAITING_TIME, "the first wish counts"
    assert deletions_perform(now=site.now + WAITING_TIME - SECOND) == 0
    assert deletion_withdraw(user=member)
    assert deletions_perform(now=site.now + WAITING_TIME) == 0
    assert User.objects.get(pk=member.pk).is_active


def test_the_page_asks_for_the_password_again(site: Scenario) -> None:
    member, address = site.member(), reverse("web:account-delete")
    member.set_password("a long enough password")
    member.save()
    client = user_client(member)
    answer = client.post(address)
    assert answer["Location"].startswith(reverse("account_reauthenticate"))
    assert not AccountDeletion.objects.exists()
    client.post(answer["Location"], {"password": "wrong"})
    assert client.post(address)["Location"] != address
    client.post(answer["Location"], {"password": "a long enough password"})
    client.post(address)
    assert AccountDeletion.objects.filter(user=member).exists()
    assert "Keep my account" in client.get(address).content.decode()
    client.post(reverse("web:account-delete-withdraw"))
    assert not AccountDeletion.objects.exists()


def test_who_leads_hands_over_first_also_when_it_changed_meanwhile(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    captain, second = site.member(), person()
    User.objects.filter(pk=site.organizer.pk).update(is_superuser=True)
    site.organizer.refresh_from_db()
    with refuses(HAND_OVER_FIRST, match=f"only organizer of “{site.competition}”.*only administrator"):
        deletion_ask(user=site.organizer, now=site.now)
    deletion_ask(user=captain, now=site.now)
    Membership.objects.create(team=site.team, user=second, competition=site.competition, joined_at=site.now)
    assert deletions_perform(now=site.now + WAITING_TIME) == 0
    assert f"captain of “{site.team}”" in mail.outbox[-1].body
    mails = len(mail.outbox)
    assert deletions_perform(now=site.now + 2 * WAITING_TIME) == 0
    assert len(mail.outbox) == mails, "they are told once"
    monkeypatch.setattr(deleting, "LOOKED_AT_ONCE", 1)
    end(second_wish := person(), site)
    assert not User.objects.get(pk=second_wish.pk).is_active, "whoever is held up holds up nobody else"
    assert f"captain of “{site.team}”" in user_client(captain).get(reverse("web:account-delete")).content.decode()
    AccountDeletion.objects.create(user=site.organizer, asked_at=site.now, due_at=site.now, held_up_at=site.now)
    assert deletions_perform(now=site.now + 2 * WAITING_TIME + SECOND) == 0
    Team.objects.filter(pk=site.team.pk).update(captain=second)
    assert deletions_perform(now=site.now + 2 * WAITING_TIME + 2 * SECOND) == 1, "those that are held up take turns"
    assert list(site.team.members.all()) == [second]
    CompetitionOrganizer.objects.create(competition=site.competition, user=second)
    assert obstacles(site.organizer) == ["You are the only administrator of this site: make somebody else one."]


def test_a_board_that_names_the_person_is_drawn_anew(site: Scenario) -> None:
    site.score(site.submit(), 0.25)
    drawn = Leaderboard.objects.get(phase=site.phase).version
    end(site.member(), site)
    assert Leaderboard.objects.get(phase=site.phase).version > drawn


def test_boards_receipts_and_posts_stay_and_nothing_says_who_it_was(site: Scenario) -> None:
    member, other = site.member(), site.join("Others")
    User.objects.filter(pk=member.pk).update(first_name="Ada", last_name="Lovelace", affiliation="Analytical Engines")
    Team.objects.filter(pk=site.team.pk).update(name=member.username, is_personal=True)
    site.score(site.submit(), 0.25)
    sealed = site.score(site.submit(phase=site.sealed), 0.5)
    site.score(site.submit(team=other, phase=site.sealed), 0.75)
    after = site.now + timedelta(days=60)
    commit_closed_boards(now=after)
    digest = site.sealed.leaderboard.commitment.digest
    topic = open_topic(site, text="My words.")
    reply(topic, site.member(other), at=site.now)
    follow_set(user=member, competition=site.competition, topic=None, is_on=True)
    receipts = {run.pk: run.receipt for run in Run.objects.all()}
    _, secret = token_create(user=member, name="t", scopes=["read"], expires_at=timezone.now() + timedelta(days=9))
    Profile.objects.create(user=member, is_public=True)
    EmailAddress.objects.get_or_create(user=member, email=member.email)
    export_perform(export_begin(user=member, now=site.now).pk)
    member.is_staff = True
    draft_begin(owner=member, start=CompetitionDraft.Start.CODE, now=site.now)
    signed_in, name, address = user_client(member), member.username, member.email
    end(member, site)
    member.refresh_from_db()
    assert (str(member), member.first_name, member.affiliation, member.is_active) == ("Deleted account", "", "", False)
    for rows in (ApiToken, Profile, EmailAddress, Registration, Membership, Subscription, DataExport):
        assert not rows.objects.filter(user=member).exists(), rows
    assert not CompetitionDraft.objects.filter(owner=member).exists()
    assert signed_in.get(reverse("web:me")).status_code == 302
    assert Client(headers={"Authorization": f"Bearer {secret}"}).get(reverse("api:me")).status_code == 401
    assert receipts == {run.pk: run.receipt for run in Run.objects.all()}
    assert Post.objects.get(topic=topic, is_opening=True).body == "My words."
    phase_reveal(phase=site.sealed, now=after)
    manifest: Any = Client().get(reverse("web:manifest", args=[site.competition.slug, site.sealed.slug, "main"]))
    document = json.loads(manifest.content if not manifest.streaming else b"".join(manifest.streaming_content))
    assert manifest_faults(document, digest=digest) == []
    assert document["rows"][0]["submission"] == sealed.pk
    pages = [
        reverse("web:topic", args=[site.competition.slug, topic.pk]),
        reverse("web:leaderboard", args=[site.competition.slug]),
        reverse("web:discussion", args=[site.competition.slug]),
        reverse("web:public-team", args=[site.competition.slug, site.team.key]),
    ]
    with time_machine.travel(after, tick=False):
        for page in pages:
            text = user_client(site.organizer).get(page).content.decode()
            assert "eleted account" in text, page
            words = "|".join(map(re.escape, (name, address, "Ada", "Lovelace")))
            assert not re.findall(rf">(?:{words})<|@(?:{words})\b", text), page
    assert Client().get(reverse("web:person", args=[name])).status_code == 404


def test_an_administrator_begins_the_end_of_an_account_with_its_refusals_and_staff_does_not(site: Scenario) -> None:
    user, root = person(), person(is_staff=True, is_superuser=True)
    listed = reverse("admin:accounts_user_changelist")

    def act(by: User, *chosen: User) -> str:
        form = {"action": "begin_deletion", "_selected_action": [each.pk for each in chosen]}
        return user_client(by).post(listed, form, follow=True).content.decode()

    act(site.organizer, user)
    assert not AccountDeletion.objects.exists()
    text = act(root, user, site.organizer)
    assert f"{user.username} is deleted on" in text
    assert "only organizer of" in text
    deletion = AccountDeletion.objects.get()
    assert deletion.user == user
    assert "an administrator of the site began it" in mail.outbox[-1].body
    waiting = reverse("admin:people_accountdeletion_changelist")
    form = {"action": "withdraw", "_selected_action": [deletion.pk]}
    user_client(site.organizer).post(waiting, form)
    assert AccountDeletion.objects.exists()
    user_client(root).post(waiting, form)
    assert not AccountDeletion.objects.exists()
