"""Links of a board's page: one's own row, teams, entries; and what the page never shows."""

from __future__ import annotations

from datetime import timedelta

import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from competitions.catalog.models import Column, Phase
from competitions.compute.models import ComputeWorker
from competitions.leaderboards.models import Entry
from competitions.leaderboards.services import board_rebuild
from tests.permissions import user_client
from tests.scenario import Scenario


def test_a_teams_page_shows_it_where_a_board_that_one_sees_does_and_is_not_there_otherwise(site: Scenario) -> None:
    url = reverse("web:public-team", args=[site.competition.slug, site.team.key])
    sealed = site.score(site.submit(phase=site.sealed), 0.5)
    without_the_right = (Client(), user_client(site.member()), user_client(site.organizer))
    assert [client.get(url).status_code for client in without_the_right] == [404, 404, 404]
    site.score(site.submit(), 0.4321)
    page = Client().get(url).content.decode()
    assert "0.4321" in page
    assert site.member().username in page
    assert sealed.phase.name not in page.split("<main")[1]


def test_a_boards_page_leads_to_ones_own_row_and_finds_teams(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    client, url = user_client(site.member()), reverse("web:leaderboard", args=[site.competition.slug])
    entry = Entry.objects.get()
    assert f'href="#row-{entry.pk}">Jump to my row' in client.get(url).content.decode()
    page = client.get(url, {"q": site.team.name[:3].upper()}).content.decode()
    assert f"around={entry.pk}#row-{entry.pk}" in page
    assert "No team on this leaderboard" in client.get(url, {"q": "zz"}).content.decode()
    assert [client.get(url, {"around": pk}).status_code for pk in (entry.pk, entry.pk + 1, "x")] == [200, 404, 404]


def test_the_board_of_a_phase_that_closed_is_shown_until_the_one_after_it_may_be_seen(site: Scenario) -> None:
    site.score(site.submit(), 0.4321)
    now = site.now + timedelta(days=1)
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=now)
    with time_machine.travel(now + timedelta(hours=1), tick=False):
        for name in ("web:leaderboard", "web:history"):
            assert "0.4321" in Client().get(reverse(name, args=[site.competition.slug])).content.decode(), name
        assert "0.4321" in Client().get("/").content.decode(), "the list of competitions names its best"
        page = user_client(site.member()).get(reverse("web:submissions", args=[site.competition.slug])).content.decode()
        assert f"{site.phase.name} closed on" in page
        assert f"Submit to {site.sealed.name}" in page
        silent = "No worker is responding right now. Uploads wait, and still count."
        assert silent in page, "the worker was last seen an hour ago"
        ComputeWorker.objects.update(last_seen_at=now + timedelta(hours=1))
        page = user_client(site.member()).get(reverse("web:submissions", args=[site.competition.slug])).content.decode()
        assert silent not in page


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


def test_the_first_page_of_a_board_draws_how_the_best_score_improved_and_reads_it_once_a_version(
    site: Scenario,
) -> None:
    client, url = user_client(site.member()), reverse("web:leaderboard", args=[site.competition.slug])
    other = site.join("Climbers")
    site.score(site.submit(), 0.5)
    assert "lead-line" not in client.get(url).content.decode()
    site.score(site.submit(team=other), 0.25)
    with CaptureQueriesContext(connection) as queries:
        pages = [client.get(url, headers={"Accept-Language": "en"}).content.decode() for _ in range(2)]
    assert all("From 0.5000 to 0.2500 in 1 step, the last by Climbers" in page for page in pages)
    assert sum("leaderboards_milestone" in query["sql"] for query in queries) == 1
    entry = Entry.objects.filter(team=other).get()
    assert "lead-line" not in client.get(url, {"around": entry.pk}).content.decode()


def test_a_sealed_board_draws_nothing_of_how_its_best_score_improved(site: Scenario) -> None:
    other = site.join()
    site.score(site.submit(phase=site.sealed), 0.5)
    site.score(site.submit(phase=site.sealed, team=other), 0.25)
    url = reverse("web:leaderboard", args=[site.competition.slug])
    for client in (Client(), user_client(site.member()), user_client(site.organizer)):
        page = client.get(url, {"phase": site.sealed.slug}).content.decode()
        assert "are sealed" in page
        assert "lead-line" not in page
