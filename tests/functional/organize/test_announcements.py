"""Announcements and mail in the organizer's workspace."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.test import Client

from competitions.catalog.models import Announcement
from competitions.catalog.texts.announcements import announce_due, announcement_published
from competitions.organize.models import OrganizersMail
from competitions.organize.workspace import mails
from competitions.organize.workspace.mails import mail_write
from competitions.teams.models import Registration
from competitions.teams.services import register
from tests.background import run_background
from tests.pages import page_words
from tests.permissions import user_client
from tests.scenario import Scenario, person


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def posted(site: Scenario, client: Client, page: str, **values: Any) -> str:
    url = f"/host/competitions/{site.competition.slug}/{page}"
    return client.post(url, values, follow=True, headers={"Referer": f"http://testserver{url}"}).content.decode()


def first_page(site: Scenario) -> str:
    return Client().get(f"/competitions/{site.competition.slug}/").content.decode()


@pytest.fixture
def heard_titles() -> Any:
    """Titles of announcements that listeners heard of."""
    titles: list[str] = []

    def hear(announcement: Announcement, **_: Any) -> None:
        titles.append(announcement.title)

    announcement_published.connect(hear)
    yield titles
    announcement_published.disconnect(hear)


def test_a_preview_shows_the_text_as_readers_will_see_it_and_stores_nothing(site: Scenario, organizer: Client) -> None:
    text = posted(
        site, organizer, "announcements/new/", title="News", body="**Bold** <script>x</script>", action="preview"
    )
    assert "<strong>Bold</strong>" in text
    assert "<script>x" not in text
    assert not Announcement.objects.exists()
    for account in (person(is_robot=True), person(is_active=False)):
        register(user=account, competition=site.competition, rules_version=1, now=site.now)
    words = page_words(organizer.get(f"/host/competitions/{site.competition.slug}/announcements/new/"))
    assert (
        "in the inbox of 1 person with an approved registration, who gets it by mail, too, unless that is turned off"
        in words
    )


def test_an_announcement_is_published_now_and_told_once(
    site: Scenario, organizer: Client, heard_titles: list[str]
) -> None:
    posted(site, organizer, "announcements/new/", title="Now", body="Read this", action="publish")
    assert "Read this" in first_page(site)
    row = Announcement.objects.get()
    when = f"{row.published_at:%Y-%m-%dT%H:%M}"
    posted(site, organizer, f"announcements/{row.pk}/", title="Now", body="Mended", published_at=when, action="publish")
    announce_due(now=row.published_at + timedelta(days=1))
    assert "Mended" in first_page(site)
    assert heard_titles == ["Now"]


def test_a_planned_one_is_kept_back_until_its_time(site: Scenario, organizer: Client, heard_titles: list[str]) -> None:
    with time_machine.travel(site.now, tick=False):
        posted(
            site,
            organizer,
            "announcements/new/",
            title="Later",
            body="Soon",
            published_at="2030-05-03T12:00",
            action="publish",
        )
        assert announce_due(now=site.now) == 0
        assert ("Soon" in first_page(site), heard_titles) == (False, [])
    with time_machine.travel(site.now + timedelta(days=2), tick=False):
        assert announce_due(now=site.now + timedelta(days=2)) == 1
        assert ("Soon" in first_page(site), heard_titles) == (True, ["Later"])


def test_a_withdrawn_one_is_shown_to_nobody_until_it_is_published_again(site: Scenario, organizer: Client) -> None:
    row = Announcement.objects.create(competition=site.competition, title="Old", body="Text", published_at=site.now)
    with time_machine.travel(site.now, tick=False):
        assert "is withdrawn" in posted(site, organizer, f"announcements/{row.pk}/", action="withdraw")
        assert "Text" not in first_page(site)
        posted(site, organizer, f"announcements/{row.pk}/", title="Old", body="Text again", action="publish")
        assert "Text again" in first_page(site)


def sent(site: Scenario, organizer: Client, **values: Any) -> str:
    """Written, looked at, and sent."""
    text = posted(site, organizer, "mail/", subject="Hello", body="All of you", **values)
    key = re.search(r'name="key" value="([^"]*)"', text)
    assert key, text
    return text + posted(
        site, organizer, "mail/", subject="Hello", body="All of you", key=key[1], action="send", **values
    )


def test_a_mail_says_to_how_many_people_it_goes_and_goes_once(site: Scenario, organizer: Client) -> None:
    for _ in range(2):
        site.join()
    Registration.objects.filter(user=site.member(site.teams[-1])).update(state="pending")
    site.competition.contact_email = "desk@example.org"
    site.competition.save()
    assert "Send this to 2 people?" in sent(site, organizer, audience="all")
    row = OrganizersMail.objects.get()
    run_background()
    mail_write(row.pk)
    run_background()
    hello = [message for message in mail.outbox if "Hello" in message.subject]
    assert sorted(message.to[0] for message in hello) == sorted(site.member(team).email for team in site.teams[:2])
    assert hello[0].reply_to == ["desk@example.org"]
    row.refresh_from_db()
    assert row.sent_to == 2


def test_the_same_form_sent_twice_is_one_mail(site: Scenario, organizer: Client) -> None:
    values = {"subject": "Hello", "body": "x", "audience": "all", "action": "send", "key": "0" * 31 + "1"}
    for _ in range(2):
        posted(site, organizer, "mail/", **values)
    assert OrganizersMail.objects.count() == 1


def test_a_mail_goes_to_the_teams_that_were_meant(site: Scenario, organizer: Client) -> None:
    idle = site.join()
    site.submit()
    sent(site, organizer, audience="phase", phase=site.phase.pk)
    sent(site, organizer, audience="teams", teams=[idle.pk])
    run_background()
    assert [message.to for message in mail.outbox if "Hello" in message.subject] == [
        [site.member().email],
        [site.member(idle).email],
    ]


def test_teams_that_are_ticked_in_the_list_are_those_the_mail_is_for(
    site: Scenario, organizer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mails, "MOST_TEAMS", 0)
    site.join("Not meant")
    text = posted(site, organizer, "teams/", action="mail", chosen=[site.team.pk])
    assert f'<option value="{site.team.pk}" selected>' in text
    assert "Not meant" not in text
    assert "Send this to 1 person?" in sent(site, organizer, audience="teams", teams=[site.team.pk])


def test_a_competition_sends_few_mails_a_day(site: Scenario, organizer: Client) -> None:
    for hour in range(3):
        with time_machine.travel(site.now + timedelta(hours=hour), tick=False):
            sent(site, organizer, audience="all")
    with time_machine.travel(site.now + timedelta(hours=23), tick=False):
        assert "2030-05-02 12:00 UTC" in sent(site, organizer, audience="all")
    with time_machine.travel(site.now + timedelta(hours=24), tick=False):
        sent(site, organizer, audience="all")
    assert OrganizersMail.objects.count() == 4


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"audience": "phase"}, "Choose the phase"),
        ({"audience": "teams"}, "Choose at least one team"),
        ({"audience": "teams", "teams": "999999"}, "not one of the available choices"),
        ({"audience": "everybody"}, "not one of the available choices"),
    ],
    ids=["no phase", "no team", "another competition's team", "no such people"],
)
def test_a_mail_to_nobody_in_particular_is_refused(
    site: Scenario, organizer: Client, values: dict[str, str], words: str
) -> None:
    assert words in posted(site, organizer, "mail/", subject="Hello", body="x", **values)


def test_a_mail_that_nobody_would_get_is_not_stored(site: Scenario, organizer: Client) -> None:
    Registration.objects.update(state="denied")
    assert "would reach nobody" in posted(site, organizer, "mail/", subject="Hello", body="x", audience="all")
    values = {"subject": "Hello", "body": "x", "audience": "all", "action": "send", "key": "0" * 31 + "2"}
    assert "would reach nobody" in posted(site, organizer, "mail/", **values)
    assert not OrganizersMail.objects.exists()


def test_service_accounts_get_no_mail(site: Scenario, organizer: Client) -> None:
    site.join(user=person(is_robot=True))
    assert "Send this to 1 person?" in posted(site, organizer, "mail/", subject="Hello", body="x", audience="all")
