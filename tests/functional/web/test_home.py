"""The home page of somebody who is signed in: what waits for an answer, and what runs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from competitions.teams.services import invite, register
from tests.permissions import user_client
from tests.scenario import Scenario, person


def test_runs_in_progress_are_shown_to_their_team_until_they_end(site: Scenario) -> None:
    submission = site.submit()
    shown = f"#{submission.pk} {submission.file_name}"
    assert shown in user_client(site.member()).get("/").content.decode()
    for client in (Client(), user_client(site.member(site.join())), user_client(site.organizer)):
        assert shown not in client.get("/").content.decode()
    site.score(submission, 0.1)
    assert "Running for your team" not in user_client(site.member()).get("/").content.decode()


def test_an_invitation_is_shown_to_whom_it_is_for_until_it_ends(site: Scenario) -> None:
    guest = person()
    register(user=guest, competition=site.competition, rules_version=1, now=site.now)
    invitation = invite(team=site.team, by=site.team.captain, person=guest.username, now=site.now)
    assert f"<strong>{site.team}</strong> invites you" in user_client(guest).get("/").content.decode()
    assert "invites you" not in user_client(site.member()).get("/").content.decode()
    type(invitation).objects.update(expires_at=site.now - timedelta(seconds=1))
    assert "invites you" not in user_client(guest).get("/").content.decode()


def test_the_address_above_the_competitions_leads_to_their_list() -> None:
    answer = Client().get("/competitions/")
    assert (answer.status_code, answer["Location"]) == (301, "/")


@pytest.mark.django_db
@pytest.mark.parametrize(("is_superuser", "heading"), [(True, "Site administration"), (False, "Your competitions")])
def test_the_foot_leads_administrators_alone_to_the_admin(is_superuser: bool, heading: str) -> None:
    client = user_client(person(is_staff=True, is_superuser=is_superuser))
    assert (">Administration</a>" in client.get("/").content.decode()) is is_superuser
    assert f"<h1>{heading}</h1>" in client.get("/admin/").content.decode()
