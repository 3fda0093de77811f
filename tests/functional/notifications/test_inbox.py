"""The bell, the inbox, the choices, and links that stop mails."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from competitions.notifications.mails import OptOut, digests_mail, notifications_mail, opt_out
from competitions.notifications.models import Delivery, Kind, Notification, NotificationPreference
from competitions.notifications.services import DEFAULTS, notify, preferences_set, stored_preferences
from tests.permissions import user_client
from tests.scenario import Scenario, person

pytestmark = pytest.mark.django_db
INBOX = "web:notifications"


@pytest.fixture
def member(site: Scenario) -> Client:
    return user_client(site.member())


def tell(site: Scenario, user: User, count: int = 1, **more: Any) -> list[Notification]:
    for number in range(count):
        given = {"kind": Kind.DEADLINE, "subject": f"News {number}.", "text": "Text.", "path": "/about-it/"} | more
        notify(people=User.objects.filter(pk=user.pk), competition=site.competition, **given)
    return list(Notification.objects.filter(user=user).order_by("pk"))


def test_the_bell_says_how_many_are_unread_and_is_silent_without_any(site: Scenario, member: Client) -> None:
    home = reverse("web:index")
    assert "unread</span>" not in member.get(home).content.decode()
    tell(site, site.member(), 2)
    assert '<span class="count">2<span' in member.get(home).content.decode()
    assert 'class="bell"' not in Client().get(home).content.decode()


def test_following_a_notification_reads_it_and_nobody_elses_is_there(site: Scenario, member: Client) -> None:
    (row,) = tell(site, site.member())
    stranger = user_client(person())
    assert stranger.get(reverse("web:notification", args=[row.pk])).status_code == 404
    assert "News 0." not in stranger.get(reverse(INBOX)).content.decode()
    assert member.get(reverse("web:notification", args=[row.pk])).headers["Location"] == "/about-it/"
    row.refresh_from_db()
    assert row.read_at is not None


def test_marking_all_as_read_leaves_what_came_meanwhile(site: Scenario, member: Client) -> None:
    shown = tell(site, site.member(), 2)[-1]
    later = tell(site, site.member())[-1]
    member.post(reverse("web:notifications-read"), {"up_to": shown.pk})
    assert list(Notification.objects.filter(read_at=None)) == [later]
    assert member.post(reverse("web:notifications-read"), {"up_to": "x"}).status_code == 302


def test_the_inbox_pages_through_many_in_few_queries(
    site: Scenario, member: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    rows = tell(site, site.member(), 31)
    with django_assert_max_num_queries(6):
        first = member.get(reverse(INBOX)).content.decode()
    assert "News 30." in first
    assert "News 0." not in first
    second = member.get(reverse(INBOX), {"before": rows[1].pk}).content.decode()
    assert "News 0." in second
    assert "News 1." not in second
    assert member.get(reverse(INBOX), {"before": "x"}).status_code == 200


def test_choices_are_made_for_all_competitions_and_for_one(site: Scenario, member: Client) -> None:
    url, user = reverse("web:notification-preferences"), site.member()
    fields = {kind.value: Delivery.DIGEST.value for kind in Kind}
    assert member.post(url, fields).status_code == 302
    assert set(stored_preferences(user, None).values()) == {Delivery.DIGEST}
    own = f"{url}?competition={site.competition.slug}"
    assert "as for all: daily" in member.get(own).content.decode()
    member.post(own, dict.fromkeys(Kind.values, "as_everywhere") | {Kind.MERGE.value: "none"})
    assert stored_preferences(user, site.competition) == {Kind.MERGE: Delivery.NONE}
    wrong = member.post(url, fields | {Kind.MERGE.value: "by pigeon"})
    assert wrong.status_code == 422
    assert "pigeon is not one of the available choices" in wrong.content.decode()
    assert user_client(person()).get(own).status_code == 404, "a competition that this person is not in"


def test_a_mail_is_stopped_by_one_click_without_signing_in(site: Scenario) -> None:
    user = site.member()
    tell(site, user)
    notifications_mail(now=site.now)
    headers = mail.outbox[0].extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    url = headers["List-Unsubscribe"].strip("<>")
    assert url in mail.outbox[0].body
    path = url.removeprefix("http://").partition("/")[2]
    mailer = Client(enforce_csrf_checks=True)
    assert mailer.get(f"/{path}").status_code == 200
    assert stored_preferences(user, site.competition) == {}, "opening the link changes nothing"
    for _ in range(2):
        assert mailer.post(f"/{path}", {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert stored_preferences(user, site.competition) == {Kind.DEADLINE: Delivery.NONE}
    tell(site, user)
    assert notifications_mail(now=site.now) == 0
    assert Notification.objects.filter(read_at=None).count() == 2, "the inbox goes on"


def test_the_link_of_a_digest_stops_the_digest_alone(site: Scenario) -> None:
    user = site.member()
    preferences_set(user=user, competition=None, chosen={Kind.RUN: Delivery.DIGEST, Kind.MERGE: Delivery.AT_ONCE})
    Client().post(reverse("web:notifications-stop", args=[OptOut(user.pk).token]))
    assert stored_preferences(user, None) == {Kind.RUN: Delivery.NONE, Kind.MERGE: Delivery.AT_ONCE}
    assert Delivery.DIGEST not in DEFAULTS.values()
    assert digests_mail(now=site.now) == 0


def test_what_waits_to_be_mailed_is_mailed_no_more_either(site: Scenario) -> None:
    user, later = site.member(), site.now + timedelta(days=2)
    for stop in (
        lambda: opt_out(mails=OptOut(user.pk)),
        lambda: preferences_set(user=user, competition=None, chosen={Kind.DEADLINE: Delivery.NONE}),
        lambda: preferences_set(user=user, competition=site.competition, chosen={Kind.DEADLINE: Delivery.NONE}),
    ):
        NotificationPreference.objects.all().delete()
        preferences_set(user=user, competition=None, chosen={Kind.DEADLINE: Delivery.DIGEST})
        tell(site, user)
        stop()
        assert digests_mail(now=later) == 0


def test_a_choice_that_is_taken_back_leaves_what_holds_for_all(site: Scenario) -> None:
    user = site.member()
    preferences_set(user=user, competition=None, chosen={Kind.DEADLINE: Delivery.NONE})
    preferences_set(user=user, competition=site.competition, chosen={Kind.DEADLINE: Delivery.DIGEST})
    tell(site, user)
    preferences_set(user=user, competition=site.competition, chosen={Kind.DEADLINE: None})
    assert digests_mail(now=site.now + timedelta(days=2)) == 0


def test_a_choice_for_one_competition_stands_above_one_for_all(site: Scenario) -> None:
    user = site.member()
    preferences_set(user=user, competition=site.competition, chosen={Kind.DEADLINE: Delivery.DIGEST})
    tell(site, user)
    preferences_set(user=user, competition=None, chosen={Kind.DEADLINE: Delivery.NONE})
    assert digests_mail(now=site.now + timedelta(days=2)) == 1


@pytest.mark.parametrize("opt_out_link", [OptOut(0), OptOut(0, Kind.RUN, 1)], ids=["nobody's digest", "nobody's mails"])
def test_a_link_that_was_forged_or_is_of_nobody_is_not_there(site: Scenario, opt_out_link: OptOut) -> None:
    stop = "web:notifications-stop"
    assert Client().post(reverse(stop, args=[opt_out_link.token])).status_code == 404
    assert Client().post(reverse(stop, args=[opt_out_link.token[:-1] + "_"])).status_code == 404
    gone = OptOut(site.member().pk, Kind.RUN, 0)
    assert Client().post(reverse(stop, args=[gone.token])).status_code == 404
