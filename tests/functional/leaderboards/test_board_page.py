"""What a board's page leads to: one's own row, teams by their names, the entry and the team behind a row; and what it never draws."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column
from competitions.leaderboards.models import Entry
from competitions.leaderboards.services import board_rebuild
from tests.permissions import client_of
from tests.scenario import Scenario


def test_a_teams_page_shows_it_where_a_board_that_one_sees_does_and_is_not_there_otherwise(site: Scenario) -> None:
    url = reverse("web:public-team", args=[site.competition.slug, site.team.key])
    sealed = site.score(site.submit(phase=site.sealed), 0.5)
    without_the_right = (Client(), client_of(site.member()), client_of(site.organizer))
    assert [client.get(url).status_code for client in without_the_right] == [404, 404, 404]
    site.score(site.submit(), 0.4321)
    page = Client().get(url).content.decode()
    assert "0.4321" in page
    assert site.member().username in page
    assert sealed.phase.name not in page.split("<main")[1]


def test_a_boards_page_leads_to_ones_own_row_and_finds_teams(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    client, url = client_of(site.member()), reverse("web:leaderboard", args=[site.competition.slug])
    entry = Entry.objects.get()
    assert f'href="#row-{entry.pk}">Jump to my row' in client.get(url).content.decode()
    found = client.get(url, {"q": site.team.name[:3].upper()}).content.decode()
    assert f"around={entry.pk}#row-{entry.pk}" in found
    assert "No team on this leaderboard" in client.get(url, {"q": "zz"}).content.decode()
    assert [client.get(url, {"around": pk}).status_code for pk in (entry.pk, entry.pk + 1, "x")] == [200, 404, 404]


def test_a_hidden_column_decides_without_being_drawn(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    url = reverse("web:leaderboard", args=[site.competition.slug])
    assert "score-bar" in Client().get(url).content.decode()
    Column.objects.filter(leaderboard__phase=site.phase).update(is_hidden=True)
    board_rebuild(site.phase.leaderboard)
    assert "score-bar" not in Client().get(url).content.decode()
    assert (
        "0.5"
        not in Client().get(reverse("web:entry", args=[Entry.objects.get().pk])).content.decode().split("<main")[1]
    )
