"""A page that was read before is answered with 304 while nothing on it changed, the time included."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.notifications.models import Kind
from tests.permissions import user_client
from tests.scenario import Scenario


@pytest.fixture
def url(site: Scenario) -> str:
    site.score(site.submit(), 0.5)
    return reverse("web:leaderboard", args=[site.competition.slug])


@pytest.mark.parametrize("signed_in", [True, False])
def test_an_unchanged_board_is_answered_with_304(site: Scenario, url: str, signed_in: bool) -> None:
    client = user_client(site.member()) if signed_in else Client()
    etag = client.get(url)["ETag"]
    again = client.get(url, headers={"If-None-Match": etag})
    assert (again.status_code, again["ETag"], again.content) == (304, etag, b"")


def test_a_page_of_an_earlier_session_is_drawn_anew_with_the_secret_of_this_one(site: Scenario, url: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(site.member())
    etag = client.get(url)["ETag"]
    client.get(url, headers={"If-None-Match": etag})
    client.logout()  # and forgets its cookies
    client.force_login(site.member())
    page = client.get(url, headers={"If-None-Match": etag})
    assert page.status_code == 200
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.content.decode())
    assert token is not None
    assert client.post(reverse("account_logout"), {"csrfmiddlewaretoken": token[1]}).status_code == 302


def test_a_board_shows_the_message_that_waits_for_its_reader(site: Scenario, url: str) -> None:
    client = user_client(site.member())
    etag = client.get(url)["ETag"]
    client.post(reverse("web:notification-preferences"), dict.fromkeys(Kind.values, "none"))
    answer = client.get(url, headers={"If-None-Match": etag})
    assert "Saved." in answer.content.decode()
    assert "Saved." not in client.get(url, headers={"If-None-Match": answer["ETag"]}).content.decode()


@pytest.mark.parametrize("name", ["freeze_at", "selection_closes_at"])
def test_a_date_of_the_board_that_passes_changes_the_page(site: Scenario, url: str, name: str) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(**{name: site.now + timedelta(hours=1)})
    _changes_after_an_hour(site, url)


@pytest.mark.parametrize("name", ["closes_at", "reveal_at"])
def test_a_date_of_a_phase_that_passes_changes_the_page(site: Scenario, url: str, name: str) -> None:
    Phase.objects.filter(pk=site.sealed.pk).update(**{name: site.now + timedelta(hours=1)})
    _changes_after_an_hour(site, url)


def _changes_after_an_hour(site: Scenario, url: str) -> None:
    client = Client()
    with time_machine.travel(site.now + timedelta(seconds=9), tick=False) as clock:
        etag = client.get(url)["ETag"]
        clock.shift(timedelta(minutes=59))
        assert client.get(url, headers={"If-None-Match": etag}).status_code == 304
        clock.shift(timedelta(minutes=1))
        assert client.get(url, headers={"If-None-Match": etag}).status_code == 200


def test_a_setting_that_is_changed_changes_the_page(site: Scenario, url: str) -> None:
    client = Client()
    etag = client.get(url)["ETag"]
    Competition.objects.filter(pk=site.competition.pk).update(subtitle="Another one")
    changed = client.get(url, headers={"If-None-Match": etag})
    assert changed.status_code == 200
    assert "Another one" in changed.content.decode()


def test_a_changed_score_changes_the_page(site: Scenario, url: str) -> None:
    client = Client()
    etag = client.get(url)["ETag"]
    site.score(site.submit(), 0.25)
    assert client.get(url, headers={"If-None-Match": etag}).status_code == 200
