"""The organizer's overview: days are counted by the reconciler, and the page says what to do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from competitions.catalog.models import CompetitionOrganizer
from competitions.organize.models import CompetitionDay
from competitions.organize.workspace.days import count_days
from competitions.submissions.models import Submission
from competitions.teams.models import Registration
from tests.permissions import client_of
from tests.scenario import Scenario, person


def test_days_are_counted_anew_and_not_added_to(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    site.answer(site.submit(), {"outcome": "failed", "reason": "scoring_error", "code": "x", "detail": "y"})
    assert count_days(now=site.now) == 1
    site.submit()
    count_days(now=site.now)
    count_days(now=site.now)
    day = CompetitionDay.objects.get()
    assert (day.day, day.submitted, day.scored, day.failures) == (site.now.date(), 3, 1, {"scoring_error": 1})


def test_days_long_past_stay_as_they_were_counted(site: Scenario) -> None:
    site.submit(at=site.now - timedelta(days=9))
    count_days(now=site.now - timedelta(days=9))
    site.submit()
    Submission.objects.filter(created_at__lt=site.now).update(created_at=site.now - timedelta(days=8))
    assert count_days(now=site.now) == 1
    assert sorted(CompetitionDay.objects.values_list("submitted", flat=True)) == [1, 1]


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return client_of(site.organizer)


def shown(site: Scenario, client: Client) -> str:
    return client.get(f"/host/competitions/{site.competition.slug}/").content.decode()


def test_the_overview_shows_numbers_charts_and_what_waits_for_somebody(site: Scenario, organizer: Client) -> None:
    assert "No submissions in four weeks" in shown(site, organizer)
    site.score(site.submit(), 0.5)
    site.answer(site.submit(), {"outcome": "failed", "reason": "scoring_error", "code": "x", "detail": "y"})
    Registration.objects.filter(user=site.member()).update(state=Registration.State.PENDING)
    count_days(now=site.now)
    text = shown(site, organizer)
    for words in (
        "1 submission of this week failed",
        "1 person wait",
        "Submissions a day",
        "Failures by reason",
        "MAE over time",
    ):
        assert words in text, words


def test_an_organizer_without_the_admin_is_not_led_there(site: Scenario) -> None:
    host = person()
    CompetitionOrganizer.objects.create(competition=site.competition, user=host)
    assert "/admin/" not in shown(site, client_of(host))


def test_sealed_scores_are_in_no_chart(site: Scenario, organizer: Client) -> None:
    site.phases["test-dev"].delete()
    site.score(site.submit(phase=site.sealed), 0.123456)
    count_days(now=site.now)
    assert "0.1235" not in shown(site, organizer)


def test_the_overview_costs_the_same_for_few_and_many(site: Scenario, organizer: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            shown(site, organizer)
        return len(captured)

    site.submit()
    count_days(now=site.now)
    few = queries()
    for number in range(4):
        site.submit(team=site.join(f"Team of {number}"))
    count_days(now=site.now)
    assert queries() <= few
