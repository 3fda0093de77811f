"""Webhooks: who is told what, how it is signed, tried again and given up, and what owners can do."""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts.attempts import Limit
from accounts.models import User
from competitions.catalog.models import Announcement, CompetitionOrganizer
from competitions.catalog.organizers import organizer_remove
from competitions.catalog.texts.announcements import announcement_save, announcement_withdraw
from competitions.notifications.models import CHOSEN_KINDS, TEAM_KINDS, Kind
from competitions.notifications.services import notify_person
from competitions.teams import services as teams
from competitions.teams.merging import merge_accept, merge_propose
from competitions.teams.models import Registration, Team
from competitions.teams.refusals import NO_TEAM, RegistrationDenied
from competitions.webhooks import services
from competitions.webhooks.delivering import PAUSES
from competitions.webhooks.models import Webhook, WebhookMessage
from competitions.webhooks.services import (
    KEPT,
    MOST_OF_AN_OWNER,
    NO_ORGANIZER,
    TEST_WAITS,
    messages_expire,
    webhook_create,
    webhook_resume,
    webhook_test,
)
from core.background import jobs
from tests.background import run_background
from tests.functional.webhooks.receiver import receiver
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person


@pytest.fixture(autouse=True)
def own_receivers(settings: LazySettings) -> None:
    """This machine is a network that the administrator opened."""
    settings.WEBHOOK_NETWORKS = [ipaddress.ip_network("127.0.0.0/8")]


def hook(site: Scenario, url: str, team: Team | None = None, kinds: tuple[Kind, ...] = ()) -> Webhook:
    by = team.captain if team else site.organizer
    return webhook_create(competition=site.competition, team=team, by=by, url=url, kinds=kinds, now=site.now)


def announce(site: Scenario, title: str = "News") -> Announcement:
    news = Announcement(competition=site.competition, title=title, body="Read.", published_at=site.now)
    return announcement_save(announcement=news, now=site.now)


def types(deliveries: list[tuple[dict[str, str], bytes]]) -> list[str]:
    return [json.loads(body)["type"] for _, body in deliveries]


def test_teams_are_told_what_concerns_them_and_organizers_all_of_it(site: Scenario) -> None:
    other = site.join("Other team")
    with receiver() as first, receiver() as second, receiver() as organizers:
        hook(site, first.url, site.team)
        hook(site, second.url, other)
        hook(site, organizers.url)
        site.score(site.submit(), 0.5)
        announce(site)
        run_background()
    assert types(first.received) == ["run", "announcement"]
    assert types(second.received) == ["announcement"]
    assert types(organizers.received) == ["run", "announcement"]


def test_a_message_is_signed_and_says_no_score(site: Scenario) -> None:
    with receiver() as target:
        webhook = hook(site, target.url, site.team)
        submission = site.score(site.submit(), 0.123456)
        run_background()
    ((headers, body),) = target.received
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(webhook.signing_key.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["host"] == target.url.split("/")[2]
    payload = json.loads(body)
    assert (payload["data"]["competition"], payload["data"]["url"].endswith(f"/submissions/{submission.pk}/")) == (
        site.competition.slug,
        True,
    )
    del payload["timestamp"]  # its microseconds may have the score's digits
    assert "0.123" not in json.dumps(payload)


def test_a_webhook_is_told_of_the_kinds_that_it_asks_for(site: Scenario) -> None:
    with receiver() as target:
        hook(site, target.url, site.team, (Kind.ANNOUNCEMENT,))
        site.score(site.submit(), 0.5)
        announce(site)
        run_background()
    assert types(target.received) == ["announcement"]


def test_a_team_is_not_told_what_is_for_one_of_its_members(site: Scenario) -> None:
    webhooks = [hook(site, "https://example.org/", site.team, kinds) for kinds in ((), (Kind.MODERATION, Kind.REVEAL))]
    organizers = hook(site, "https://example.org/")
    about: dict[str, Any] = {
        "user": site.member(),
        "competition": site.competition,
        "subject": "News",
        "text": "Look.",
        "path": "/",
    }
    for kind in CHOSEN_KINDS:
        notify_person(kind=kind, **about)
    received = [{message.kind for message in webhook.messages.all()} for webhook in (*webhooks, organizers)]
    assert received == [set(TEAM_KINDS), {"reveal"}, set(CHOSEN_KINDS)]
    private = {"invitation", "registration", "topic", "reply", "moderation", "gpu_hours", "account"}
    assert set(Kind) - set(TEAM_KINDS) == private


def test_the_form_of_a_team_offers_and_takes_what_concerns_the_team(site: Scenario) -> None:
    client, organizer = user_client(site.member()), user_client(site.organizer)
    page, theirs = (reverse(name, args=[site.competition.slug]) for name in ("web:team-webhooks", "organize:webhooks"))
    sent = {"url": "https://example.org/", "kinds": ["run", "moderation"]}
    assert client.post(page, sent).status_code == 422
    assert not Webhook.objects.exists()
    assert organizer.post(theirs, sent).status_code == 302
    offered = [body_text(each.get(address)) for each, address in ((client, page), (organizer, theirs))]
    assert ['value="moderation"' in text for text in offered] == [False, True]
    hook(site, "https://example.org/earlier", site.team, (Kind.MODERATION,))
    assert "Told of: nothing" in body_text(client.get(page))


def test_what_an_organizer_had_sent_ends_with_their_rights(site: Scenario) -> None:
    successor = person()
    role = CompetitionOrganizer.objects.create(competition=site.competition, user=successor)
    theirs, own = hook(site, "https://rival.example/x"), hook(site, "https://team.example/x", site.team)
    of_successor = webhook_create(
        competition=site.competition, team=None, by=successor, url="https://new.example/x", kinds=[], now=site.now
    )
    webhook_resume(webhook=theirs, by=successor)  # as after a failure
    organizer_remove(organizer=CompetitionOrganizer.objects.exclude(pk=role.pk).get())
    announce(site)
    assert set(WebhookMessage.objects.values_list("webhook", flat=True)) == {own.pk, of_successor.pk}
    webhook_resume(webhook=theirs, by=successor)
    announce(site, "More")
    assert theirs.messages.count() == 1, "the others may want it all the same"
    User.objects.filter(pk=successor.pk).update(is_active=False)
    announce(site, "Once more")
    assert [each.messages.count() for each in (theirs, of_successor, own)] == [1, 2, 3], "no account, no messages"
    webhook_resume(webhook=theirs, by=person())
    announce(site, "At last")
    assert [each.messages.count() for each in (theirs, of_successor)] == [2, 2]
    with refuses(NO_ORGANIZER):
        hook(site, "https://rival.example/y")


@pytest.mark.parametrize("end", ["leaves", "is denied"])
def test_what_a_member_had_sent_ends_with_their_part_in_the_team(site: Scenario, end: str) -> None:
    mate = person()
    teams.register(user=mate, competition=site.competition, rules_version=1, now=site.now)
    invitation = teams.invite(team=site.team, by=site.team.captain, person=mate.username, now=site.now)
    teams.invitation_accept(invitation=invitation, by=mate, now=site.now)
    theirs, of_captain = (
        webhook_create(
            competition=site.competition, team=site.team, by=by, url=f"https://{by}.example/", kinds=[], now=site.now
        )
        for by in (mate, site.team.captain)
    )
    webhook_resume(webhook=theirs, by=site.team.captain)  # as after a failure
    if end == "leaves":
        teams.team_leave(team=site.team, by=mate)
    else:
        registration = Registration.objects.get(user=mate)
        teams.registration_decide(registration=registration, approve=False, by=site.organizer, now=site.now)
    announce(site)
    assert set(WebhookMessage.objects.values_list("webhook", flat=True)) == {of_captain.pk}
    client = user_client(mate)
    assert client.get(f"/webhooks/{of_captain.key}/").status_code == (404 if end == "leaves" else 403)
    assert client.post(f"/webhooks/{of_captain.key}/delete/").status_code == (404 if end == "leaves" else 403)
    webhook_resume(webhook=theirs, by=site.team.captain)
    announce(site, "More")
    assert theirs.messages.count() == 1, "the others may want it all the same"
    with refuses(NO_TEAM if end == "leaves" else RegistrationDenied):
        webhook_create(
            competition=site.competition, team=site.team, by=mate, url="https://x.example/", kinds=[], now=site.now
        )


def test_what_was_taken_back_is_not_sent(site: Scenario) -> None:
    with receiver() as target:
        hook(site, target.url, site.team)
        announcement_withdraw(announcement=announce(site), now=site.now)
        run_background()
    assert target.received == []


def test_what_is_published_again_is_sent_again(site: Scenario) -> None:
    with receiver() as target:
        hook(site, target.url, site.team)
        news = announce(site)
        run_background()
        announcement_withdraw(announcement=news, now=site.now)
        news.refresh_from_db()
        announcement_save(announcement=news, now=site.now + timedelta(minutes=1))
        run_background()
    assert types(target.received) == ["announcement"] * 2


def test_the_webhooks_of_both_teams_go_on_after_a_merge(site: Scenario) -> None:
    other = site.join("Other team")
    with receiver() as first, receiver() as second:
        hook(site, first.url, site.team)
        hook(site, second.url, other)
        proposal = merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=site.now)
        merge_accept(proposal=proposal, by=other.captain, now=site.now)
        announce(site)
        run_background()
    assert types(second.received)[-1:] == types(first.received)[-1:] == ["announcement"]
    page = user_client(other.captain).get(reverse("web:team-webhooks", args=[site.competition.slug]))
    assert second.url in page.content.decode()


def test_a_failed_message_is_tried_again_after_a_pause_with_the_same_id(site: Scenario) -> None:
    with receiver(500, 302, 204) as target:
        hook(site, target.url, site.team)
        announce(site)
        now = site.now + timedelta(seconds=5)
        for pause, received in ((timedelta(0), 1), (PAUSES[0] - timedelta(seconds=1), 1), (timedelta(seconds=1), 2)):
            run_background(at=(now := now + pause))
            assert len(target.received) == received
        run_background(at=now + PAUSES[1])
    assert len({headers["webhook-id"] for headers, _ in target.received}) == 1
    message = WebhookMessage.objects.get()
    assert (message.state, message.tries, message.answer) == ("delivered", 3, "HTTP 204")


def test_a_webhook_that_fails_pauses_with_all_its_messages(site: Scenario) -> None:
    with receiver(503) as target:
        hook(site, target.url, site.team)
        for title in ("First", "Second", "Third"):
            announce(site, title)
        run_background()
        assert len(target.received) == 1
        run_background(at=site.now + PAUSES[0] + timedelta(seconds=9))
        assert len(target.received) == 2


def test_a_message_is_given_up_and_the_webhook_turned_off(site: Scenario) -> None:
    with receiver(500) as target:
        webhook = hook(site, target.url, site.team)
        announce(site)
        now = site.now + timedelta(seconds=5)
        for pause in (timedelta(0), *PAUSES):
            run_background(at=(now := now + pause))
        assert len(target.received) == len(PAUSES) + 1
    webhook.refresh_from_db()
    assert (webhook.messages.get().state, webhook.stopped_at) == ("failed", now)


def test_a_receiver_that_is_gone_is_not_asked_again(site: Scenario) -> None:
    with receiver(410) as target:
        webhook = hook(site, target.url, site.team)
        announce(site)
        run_background()
    webhook.refresh_from_db()
    assert (webhook.messages.get().state, webhook.stopped_at is None) == ("failed", False)


def test_a_message_that_nobody_delivers_is_named_again_and_delivered_once(site: Scenario) -> None:
    with receiver() as target:
        hook(site, target.url, site.team)
        announce(site)
        pk = WebhookMessage.objects.get().pk
        assert jobs.resend(now=site.now + timedelta(minutes=5)) >= 1
        for _ in range(3):  # the message of the broker came three times
            jobs.perform("webhook-message", pk)
    assert len(target.received) == 1


def test_messages_are_forgotten_after_a_month(site: Scenario) -> None:
    with receiver() as target:
        hook(site, target.url, site.team)
        announce(site)
        run_background()
    assert messages_expire(now=site.now + KEPT - timedelta(minutes=1)) == 0
    assert messages_expire(now=site.now + KEPT + timedelta(minutes=1)) == 1


# --- pages --------------------------------------------------------------------------------------------------------


def test_a_member_adds_tests_and_deletes_a_webhook(site: Scenario) -> None:
    client = user_client(site.member())
    with receiver() as target:
        page = reverse("web:team-webhooks", args=[site.competition.slug])
        added = client.post(page, {"url": target.url, "kinds": ["run"]}, follow=True)
        webhook = Webhook.objects.get()
        assert webhook.signing_key in added.content.decode()
        act = {name: reverse("web:webhook-act", args=[webhook.key, name]) for name in ("test", "stop", "delete")}
        client.post(act["test"])
        run_background()
    assert types(target.received) == ["test"]
    assert "HTTP 200" in client.get(reverse("web:webhook", args=[webhook.key])).content.decode()
    client.post(act["stop"])
    assert client.post(act["test"]).status_code == 409
    client.post(act["delete"])
    assert not Webhook.objects.exists()


def test_a_settled_message_is_sent_again(site: Scenario) -> None:
    client = user_client(site.organizer)
    with receiver(410, 200) as target:
        webhook = hook(site, target.url)
        message = webhook_test(webhook=webhook, now=site.now)
        run_background()
        client.post(reverse("web:webhook-act", args=[webhook.key, "resume"]))
        client.post(reverse("web:webhook-act", args=[webhook.key, "resend"]), {"message": message.pk})
        run_background()
    message.refresh_from_db()
    assert (message.state, len(target.received)) == ("delivered", 2)


def test_a_test_waits_for_the_one_before_and_sends_by_hand_are_bounded(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    monkeypatch.setattr(services, "SENDS", Limit(3, 3600))
    client = user_client(site.member())
    with receiver() as target:
        first, second = (hook(site, target.url, site.team) for _ in range(2))
        test = reverse("web:webhook-act", args=[first.key, "test"])
        assert [client.post(test).status_code for _ in range(3)] == [302, 409, 409]
        assert WebhookMessage.objects.count() == 1
        with refuses(TEST_WAITS):
            webhook_test(webhook=first, now=site.now)
        run_background()
        assert client.post(test).status_code == 302
        run_background()
        message = first.messages.earliest("pk")
        again = reverse("web:webhook-act", args=[first.key, "resend"])
        assert [client.post(again, {"message": message.pk}).status_code for _ in range(2)] == [302, 302], "it waits"
        run_background()
        refused = [client.post(again, {"message": message.pk}), client.post(test)]
        refused.append(client.post(reverse("web:webhook-act", args=[second.key, "test"])))
        assert [answer.status_code for answer in refused] == [429, 429, 429]
        assert "3 tests and earlier messages within an hour" in body_text(refused[0])
        run_background()
    message.refresh_from_db()
    assert (message.state, len(target.received)) == ("delivered", 3)
    assert webhook_test(webhook=hook(site, target.url), now=site.now).state == "waiting", "the organizers' own count"


def test_a_new_key_signs_from_now_on(site: Scenario) -> None:
    webhook = hook(site, "https://example.org/")
    user_client(site.organizer).post(reverse("web:webhook-act", args=[webhook.key, "replace-key"]))
    assert Webhook.objects.get().secret != webhook.secret


def test_the_sixth_webhook_is_refused(site: Scenario) -> None:
    for number in range(MOST_OF_AN_OWNER):
        hook(site, f"https://example.org/{number}", site.team)
    page = reverse("web:team-webhooks", args=[site.competition.slug])
    refused = user_client(site.member()).post(page, {"url": "http://127.0.0.1:9/"}, follow=True)
    assert "Delete one first" in refused.content.decode()
    assert Webhook.objects.count() == MOST_OF_AN_OWNER


def test_the_organizers_page_lists_theirs_alone(site: Scenario) -> None:
    hook(site, "https://example.org/team", site.team)
    hook(site, "https://example.org/organizers")
    page = user_client(site.organizer).get(reverse("organize:webhooks", args=[site.competition.slug])).content.decode()
    assert ("example.org/organizers" in page, "example.org/team" in page) == (True, False)


def test_an_address_that_is_refused_is_said_at_the_field_and_kept(site: Scenario, settings: LazySettings) -> None:
    settings.WEBHOOK_NETWORKS = []
    page = reverse("web:team-webhooks", args=[site.competition.slug])
    refused = user_client(site.member()).post(page, {"url": "https://127.0.0.1/x"})
    text = refused.content.decode()
    assert (refused.status_code, "private network" in text, 'value="https://127.0.0.1/x"' in text) == (422, True, True)


def test_no_page_asks_for_a_name_that_somebody_entered(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*args: object, **kwargs: object) -> object:
        raise AssertionError("a name server of a stranger's would hold up the page")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    page = reverse("web:team-webhooks", args=[site.competition.slug])
    assert user_client(site.member()).post(page, {"url": "https://slow.example.org/"}).status_code == 302
    assert Webhook.objects.get().url == "https://slow.example.org/"


def test_nobody_else_reads_the_key(site: Scenario) -> None:
    webhook = hook(site, "https://example.org/", site.team)
    url = reverse("web:webhook", args=[webhook.key])
    outsider = user_client(site.member(site.join("Other team")))
    assert [client.get(url).status_code for client in (Client(), outsider, user_client(site.organizer))] == [
        302,
        404,
        404,
    ]


def test_organizers_read_neutral_names_of_the_kinds_and_teams_their_own(site: Scenario) -> None:
    hook(site, "https://example.org/hook", kinds=(Kind.REGISTRATION,))
    slug = site.competition.slug
    page = user_client(site.organizer).get(reverse("organize:webhooks", args=[slug])).content.decode()
    assert "Told of: decisions on registrations" in page
    assert "A submission finished or failed" in page
    assert not [word for word in (" mine ", " my ", " I ") if word in page.partition("What about")[2]]
    theirs = user_client(site.member()).get(reverse("web:team-webhooks", args=[slug])).content.decode()
    assert "A submission of mine finished or failed" in theirs
