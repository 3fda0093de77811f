"""A team's new name, its members, or its mark as a baseline, show on the boards at once."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse

from competitions.leaderboards.models import Entry, Milestone
from competitions.teams.models import Team
from competitions.teams.services import register, team_join, team_leave, team_rename
from tests.admin_forms import save_form
from tests.scenario import Scenario, person


def edit(site: Scenario, team: Team, **changed: list[str] | None) -> None:
    client = Client()
    client.force_login(site.organizer)
    assert (
        save_form(
            client, reverse("organize:team-settings", args=[site.competition.slug, team.key]), **changed
        ).status_code
        == 302
    )


def scores_of_milestones(site: Scenario) -> list[float]:
    milestones = Milestone.objects.filter(leaderboard=site.phase.leaderboard).order_by("received_at", "pk")
    return [milestone.rank_value for milestone in milestones]


def test_a_team_marked_as_baseline_leaves_the_ranks_and_the_history(site: Scenario) -> None:
    second = site.join("Second")
    site.score(site.submit(), 0.3)
    site.score(site.submit(team=second), 0.5)
    assert scores_of_milestones(site) == [0.3]
    edit(site, site.team, is_baseline=["on"])
    assert Entry.objects.get(team=site.team).is_baseline
    assert scores_of_milestones(site) == [0.5]
    edit(site, site.team, is_baseline=None)
    assert not Entry.objects.get(team=site.team).is_baseline
    assert scores_of_milestones(site) == [0.3]


def test_a_new_name_shows_to_those_who_hold_the_old_page(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    client, url = Client(), reverse("api:leaderboard", args=[site.competition.slug, site.phase.slug])
    before = client.get(url)
    assert client.get(url, headers={"If-None-Match": before["ETag"]}).status_code == 304
    team_rename(team=site.team, by=site.member(), name="Renamed by its captain")
    after = client.get(url, headers={"If-None-Match": before["ETag"]})
    assert (after.status_code, after.json()["rows"][0]["team"]) == (200, "Renamed by its captain")


def test_a_name_that_an_organizer_mends_shows_on_the_page(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    page = f"{reverse('web:leaderboard', args=[site.competition.slug])}?phase={site.phase.slug}"
    before = Client().get(page)
    edit(site, site.team, name=["Mended by the organizer"])
    after = Client().get(page, headers={"If-None-Match": before["ETag"]})
    assert after.status_code == 200
    assert "Mended by the organizer" in after.content.decode()


def test_a_team_without_scores_changes_no_board(site: Scenario) -> None:
    site.score(site.submit(team=site.join("Second")), 0.5)
    board = site.phase.leaderboard
    board.refresh_from_db()
    version = board.version
    team_rename(team=site.team, by=site.member(), name="Nothing yet")
    board.refresh_from_db()
    assert board.version == version


def test_who_joins_and_leaves_is_named_to_those_who_hold_the_old_page(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    url = reverse("web:leaderboard", args=[site.competition.slug])
    second = person("second_member")
    register(user=second, competition=site.competition, rules_version=1, now=site.now)

    def page(before: Any = None) -> Any:
        headers = {"If-None-Match": before["ETag"]} if before else {}
        return Client().get(url, {"phase": site.phase.slug}, headers=headers)

    alone = page()
    team_join(team=site.team, by=second, admit=lambda team: None, now=site.now)
    both = page(alone)
    assert b"second_member" in both.content
    team_leave(team=site.team, by=second)
    assert page(both).status_code == 200
    assert b"second_member" not in page(both).content
