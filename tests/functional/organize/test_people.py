"""Teams and registrations in the organizer's workspace."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from competitions.catalog.models import CompetitionOrganizer
from competitions.environments.models import EnvironmentFile
from competitions.notifications.mails import notifications_mail
from competitions.resources.storage import store_bytes
from competitions.runs.services import submission_cancel
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind
from competitions.teams.models import Registration, RegistrationQuestion, Team
from competitions.teams.services import register
from tests.permissions import body_text, user_client
from tests.scenario import Scenario, person, scenario


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def address(site: Scenario, page: str) -> str:
    return f"/host/competitions/{site.competition.slug}/{page}"


def list_text(site: Scenario, client: Client, page: str = "teams/", **query: Any) -> str:
    return body_text(client.get(address(site, page), query))


def listed(site: Scenario, client: Client, **query: Any) -> list[int]:
    return [int(pk) for pk in re.findall(r'name="chosen" value="(\d+)"', list_text(site, client, **query))]


def posted(site: Scenario, client: Client, page: str, **values: Any) -> str:
    url = address(site, page)
    return client.post(url, values, follow=True, headers={"Referer": f"http://testserver{url}"}).content.decode()


def test_teams_are_found_by_name_by_member_and_by_state(site: Scenario, organizer: Client) -> None:
    site.submit()
    idle, baseline = site.join("Idle Hands"), site.join("Mean of all", is_baseline=True)
    assert listed(site, organizer) == [baseline.pk, idle.pk, site.team.pk]
    assert listed(site, organizer, team="idle") == [idle.pk]
    assert listed(site, organizer, team=site.member(idle).email) == [idle.pk]
    assert listed(site, organizer, show="baseline") == [baseline.pk]
    assert listed(site, organizer, show="idle", before=baseline.pk) == [idle.pk]
    assert listed(site, organizer, show="nonsense", phase="x", before="-1") == [baseline.pk, idle.pk, site.team.pk]


def test_best_scores_are_shown_as_far_as_this_person_may_see_them(site: Scenario, organizer: Client) -> None:
    site.score(site.submit(), 0.75)
    site.score(site.submit(), 0.25)
    site.score(site.submit(phase=site.sealed), 0.123456)
    assert '<span class="score">0.2500</span>' in list_text(site, organizer)
    sealed = list_text(site, organizer, phase=site.sealed.pk)
    assert ("0.1235" in sealed, "MAE" in sealed) == (False, False)
    assert "0.1235" not in list_text(site, organizer, "teams.csv", phase=site.sealed.pk)
    assert "0.1235" not in list_text(site, organizer, f"teams/{site.team.key}/")
    CompetitionOrganizer.objects.update(can_see_sealed=True)
    assert "0.1235" in list_text(site, organizer, phase=site.sealed.pk)


def test_the_file_of_teams_runs_no_formula(site: Scenario, organizer: Client) -> None:
    site.join("=1+1")
    assert list_text(site, organizer, "teams.csv").startswith(
        "team,state,members,emails,submissions,last_submission,mae\r\n'=1+1,active,"
    )


def test_the_list_of_teams_costs_the_same_for_few_and_many(site: Scenario, organizer: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            list_text(site, organizer)
        return len(captured)

    few = queries()
    for number in range(4):
        site.score(site.submit(team=site.join(f"Team of {number}")), 0.5)
    assert queries() == few


def test_a_team_is_disqualified_with_a_reason_and_reinstated(site: Scenario, organizer: Client) -> None:
    site.score(site.submit(), 0.5)
    page = f"teams/{site.team.key}/"
    assert "Give the reason" in posted(site, organizer, page, action="disqualify", reason=" ")
    assert "Disqualified: Two accounts" in posted(site, organizer, page, action="disqualify", reason="Two accounts")
    assert listed(site, organizer, show="disqualified") == [site.team.pk]
    assert "Give the reason" in posted(site, organizer, "teams/", action="reinstate", chosen=[site.team.pk])
    assert Team.objects.get(pk=site.team.pk).disqualified_at is not None
    again: dict[str, Any] = {"action": "reinstate", "reason": "They are two people"}
    assert "1 of 1 reinstated" in posted(site, organizer, "teams/", **again, chosen=[site.team.pk])
    assert "Reinstated: They are two people" in list_text(site, organizer, page)
    assert Team.objects.get(pk=site.team.pk).disqualified_at is None
    assert "No team was chosen" in posted(site, organizer, "teams/", action="reinstate")


def test_a_teams_page_has_its_people_with_what_they_answered(site: Scenario, organizer: Client) -> None:
    RegistrationQuestion.objects.create(competition=site.competition, key="lab", title="Your laboratory")
    Registration.objects.filter(user=site.member()).update(answers={"lab": "Room 12"})
    text = list_text(site, organizer, f"teams/{site.team.key}/")
    for words in (site.member().email, "Your laboratory", "Room 12", "joined."):
        assert words in text, words


def test_registrations_are_decided_with_a_reason_that_the_mail_says(site: Scenario, organizer: Client) -> None:
    site.competition.registration_policy = "approval"
    site.competition.save()
    guests = [person() for _ in range(3)]
    rows = [register(user=guest, competition=site.competition, rules_version=1, now=site.now) for guest in guests]
    assert "3 people wait" in list_text(site, organizer, "")
    ticked = [row.pk for row in rows[:2]]
    assert "Give the reason" in posted(site, organizer, "registrations/", action="deny", chosen=ticked)
    shown = posted(site, organizer, "registrations/", action="deny", chosen=ticked, reason="Students only")
    assert "2 of 2 denied" in shown
    assert "1 of 1 approved" in posted(
        site, organizer, "registrations/", action="approve", chosen=[rows[2].pk], reason=""
    )
    assert [row.state for row in Registration.objects.filter(user__in=guests).order_by("pk")] == ["denied"] * 2 + [
        "approved"
    ]
    notifications_mail(now=site.now)
    denial = next(message for message in mail.outbox if message.to == [guests[0].email])
    assert "Students only" in denial.body
    assert "Students only" in list_text(site, organizer, "registrations/", state="denied")
    rules = user_client(guests[0]).get(f"/competitions/{site.competition.slug}/rules/").content.decode()
    assert "denied your registration: Students only" in rules
    assert "Nobody who registered fits" in list_text(site, organizer, "registrations/", person="nobody at all")


def test_another_competitions_rows_are_never_touched(site: Scenario, organizer: Client) -> None:
    other = scenario()
    assert "No team was chosen" in posted(
        site, organizer, "teams/", action="disqualify", reason="x", chosen=[other.team.pk]
    )
    row = Registration.objects.filter(competition=other.competition).earliest("pk")
    posted(site, organizer, "registrations/", action="deny", reason="x", chosen=[row.pk])
    row.refresh_from_db()
    assert row.state == "approved"
    assert organizer.get(address(site, f"teams/{other.team.key}/")).status_code == 404


def test_a_team_is_renamed_marked_as_a_baseline_and_keeps_a_free_name(site: Scenario, organizer: Client) -> None:
    site.join("Taken")
    url = address(site, f"teams/{site.team.key}/settings/")
    refused = organizer.post(url, {"name": "Taken"})
    assert refused.status_code == 422
    assert "Taken" in refused.content.decode()
    assert organizer.post(url, {"name": "Mended", "is_baseline": "on"}).status_code == 302
    site.team.refresh_from_db()
    assert (site.team.name, site.team.is_baseline) == ("Mended", True)


def test_a_file_that_a_team_brought_is_removed_unless_a_run_needs_it(site: Scenario, organizer: Client) -> None:
    weights = EnvironmentFile.objects.create(
        team=site.team,
        kind="weights",
        name="gap-model",
        version=1,
        file=store_bytes(b"w"),
        file_name="w.npz",
        size_bytes=1,
        state="ready",
        uploaded_by=site.member(),
        created_at=site.now,
        last_used_at=site.now,
    )
    submission = site.submit(kind=Kind.CODE)
    Submission.objects.filter(pk=submission.pk).update(weights=weights)
    assert "gap-model@1" in list_text(site, organizer, f"teams/{site.team.key}/")
    url = address(site, f"teams/files/{weights.key}/remove/")
    organizer.post(url)
    weights.refresh_from_db()
    assert weights.state == "ready", "a submission that waits needs it"
    submission_cancel(submission=submission, actor="x", now=site.now)
    organizer.post(url)
    weights.refresh_from_db()
    assert (weights.state, weights.file) == ("removed", None)
    assert user_client(scenario().organizer).post(url).status_code == 404
