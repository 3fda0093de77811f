"""Feeds of announcements and best scores, and calendars, agree with the pages for each reader."""

from __future__ import annotations

from datetime import timedelta
from xml.etree import ElementTree as ET

from django.test import Client
from django.urls import reverse
from icalendar import Calendar, Component

from competitions.catalog.models import Announcement, Phase
from competitions.web.feeds import calendar_url
from tests.permissions import user_client
from tests.scenario import Scenario

ATOM = {"a": "http://www.w3.org/2005/Atom"}


def entries(url: str, client: Client | None = None) -> list[ET.Element]:
    """The entries of a feed."""
    response = (client or Client()).get(url)
    assert (response.status_code, response["Content-Type"]) == (200, "application/atom+xml; charset=utf-8")
    return ET.fromstring(response.content).findall("a:entry", ATOM)


def said(entry: ET.Element, name: str) -> str:
    """The text of one element of an entry."""
    return entry.findtext(f"a:{name}", namespaces=ATOM) or ""


def events(url: str) -> dict[str, Component]:
    """The events of a calendar by their UID."""
    response = Client().get(url)
    assert response["Content-Type"] == "text/calendar; charset=utf-8"
    return {str(event["uid"]): event for event in Calendar.from_ical(response.content).walk("VEVENT")}


def test_announcements_are_a_feed_newest_first_without_those_that_are_not_shown(site: Scenario) -> None:
    at = {"competition": site.competition, "body": "**Bold** <script>alert(1)</script>"}
    Announcement.objects.create(title="First", published_at=site.now - timedelta(days=2), **at)
    second = Announcement.objects.create(title="Second", published_at=site.now - timedelta(days=1), **at)
    Announcement.objects.create(title="Planned", published_at=site.now + timedelta(days=1), **at)
    Announcement.objects.create(title="Withdrawn", published_at=site.now, withdrawn_at=site.now, **at)
    feed = entries(reverse("web:announcement-feed", args=[site.competition.slug]))
    assert [said(entry, "title") for entry in feed] == ["Second", "First"]
    assert "<strong>Bold</strong>" in said(feed[0], "summary")
    assert "<script" not in said(feed[0], "summary")
    link = feed[0].find("a:link", ATOM)
    assert link is not None
    assert link.attrib["href"].endswith(f"/competitions/{site.competition.slug}/#announcement-{second.pk}")


def test_the_feed_of_a_board_tells_each_improvement_of_the_best_score(site: Scenario) -> None:
    for score in (0.5, 0.7, 0.25):  # an error: lower is better
        site.score(site.submit(), score)
    url = reverse("web:leader-feed", args=[site.competition.slug, site.phase.slug, "main"])
    titles = [said(entry, "title") for entry in entries(url)]
    assert [title.partition(" leads with ")[0] for title in titles] == [site.team.name] * 2
    assert ["0.25" in titles[0], "0.5" in titles[1]] == [True, True], titles
    ids = [said(entry, "id") for entry in entries(url)]
    assert len(set(ids)) == 2
    assert all(each.startswith("http://testserver/") for each in ids), ids


def test_a_board_that_the_reader_may_not_see_has_no_feed(site: Scenario) -> None:
    site.score(site.submit(phase=site.sealed), 0.5)
    url = reverse("web:leader-feed", args=[site.competition.slug, site.sealed.slug, "main"])
    assert [client.get(url).status_code for client in (Client(), user_client(site.member()))] == [404, 404]


def test_a_competition_that_is_not_published_has_no_feed(site: Scenario) -> None:
    site.competition.is_published = False
    site.competition.save()
    for name in ("announcement-feed", "competition-calendar"):
        assert Client().get(reverse(f"web:{name}", args=[site.competition.slug])).status_code == 404


def test_a_calendar_has_each_opening_and_closing_and_reminds_of_the_end(site: Scenario) -> None:
    events_by_uid = events(reverse("web:competition-calendar", args=[site.competition.slug]))
    closing = next(event for uid, event in events_by_uid.items() if uid.startswith(f"phase-{site.phase.pk}-closes@"))
    assert closing.decoded("dtstart") == site.phase.closes_at
    assert site.phase.name in str(closing["summary"])
    assert [alarm.decoded("trigger") for alarm in closing.walk("VALARM")] == [timedelta(hours=-24)]


def test_a_date_that_moves_keeps_its_event(site: Scenario) -> None:
    url = reverse("web:competition-calendar", args=[site.competition.slug])
    before = events(url)
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=site.now + timedelta(days=77))
    after = events(url)
    moved = [uid for uid in before if before[uid].decoded("dtstart") != after[uid].decoded("dtstart")]
    assert [uid.partition("@")[0] for uid in moved] == [f"phase-{site.phase.pk}-closes"]


def test_a_calendar_of_ones_own_has_the_competitions_that_one_takes_part_in(site: Scenario) -> None:
    uids = events(calendar_url(site.member()))
    assert any(uid.startswith(f"phase-{site.phase.pk}-") for uid in uids)
    assert events(calendar_url(site.organizer)) == {}  # organizes, and takes part in nothing


def test_the_address_of_a_calendar_is_nobody_elses_and_ends_with_the_password(site: Scenario) -> None:
    member = site.member()
    url = calendar_url(member)
    assert Client().get(url.replace(".ics", "x.ics")).status_code == 404
    member.set_password("another long password, which is new")
    member.save()
    assert Client().get(url).status_code == 404


def test_the_preferences_page_says_the_address(site: Scenario) -> None:
    page = user_client(site.member()).get(reverse("web:notification-preferences")).content.decode()
    assert calendar_url(site.member()).split(":")[1].rpartition("/")[0] in page
