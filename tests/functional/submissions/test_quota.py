"""The rest of each limit of a phase for a team, and the time when it gets more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from competitions.catalog.models import Phase, Week
from competitions.submissions.models import Submission
from competitions.submissions.quota import Allowance, allowances, least_left
from competitions.submissions.refusals import QuotaUsed
from tests.scenario import Scenario

MIDNIGHT = datetime(2030, 5, 2, tzinfo=UTC)  # a Thursday begins
MONDAY = datetime(2030, 4, 29, tzinfo=UTC)


def limits(site: Scenario, *, day: int | None = None, week: int | None = None, total: int | None = None) -> Phase:
    phase = site.phase
    phase.max_submissions_per_day, phase.max_submissions_per_week, phase.max_submissions = day, week, total
    return phase


def receive(site: Scenario, *moments: datetime) -> None:
    for moment in moments:
        Submission.objects.filter(pk=site.submit().pk).update(received_at=moment)


def used(site: Scenario, phase: Phase, now: datetime) -> list[int]:
    return [each.used for each in allowances(team_id=site.team.pk, phase=phase, now=now)]


def test_each_limit_that_is_set_is_told_narrowest_first(site: Scenario) -> None:
    phase, now = (
        limits(site, day=2, week=5, total=9),
        MIDNIGHT + timedelta(hours=10, minutes=30, seconds=5, microseconds=7),
    )
    assert allowances(team_id=site.team.pk, phase=phase, now=now) == [
        Allowance("for today", 2, 0, MIDNIGHT + timedelta(days=1)),
        Allowance("for this week", 5, 0, MONDAY + timedelta(days=7)),
        Allowance("for this phase", 9, 0, None),
    ]


@pytest.mark.parametrize(("accepts_late", "gives_more"), [(False, False), (True, True)])
def test_nothing_is_promised_for_after_the_end(site: Scenario, accepts_late: bool, gives_more: bool) -> None:
    phase = limits(site, day=1, week=2)
    phase.closes_at, phase.accepts_late = MIDNIGHT + timedelta(days=1), accepts_late
    phase.save()
    day, week = allowances(team_id=site.team.pk, phase=phase, now=MIDNIGHT)
    assert (day.resets_at is not None, week.resets_at is not None) == (gives_more, gives_more)
    if not accepts_late:
        site.submit(at=MIDNIGHT)
        with pytest.raises(QuotaUsed, match=r"for today\. No more can be made in this phase"):
            site.submit(at=MIDNIGHT + timedelta(hours=1))


@pytest.mark.parametrize(
    ("given", "periods"),
    [({}, []), ({"day": 0}, ["for today"]), ({"week": 1}, ["for this week"]), ({"total": 1}, ["for this phase"])],
)
def test_a_limit_that_is_not_set_is_none_and_costs_no_query(
    site: Scenario, django_assert_num_queries: DjangoAssertNumQueries, given: dict[str, int], periods: list[str]
) -> None:
    with django_assert_num_queries(len(given)):
        allowed = allowances(team_id=site.team.pk, phase=limits(site, **given), now=MIDNIGHT)
    assert [each.period for each in allowed] == periods


def test_days_begin_at_midnight_and_weeks_on_monday_utc(site: Scenario) -> None:
    moment = timedelta(microseconds=1)
    phase = limits(site, day=9, week=9, total=9)
    receive(site, MONDAY - moment, MONDAY, MIDNIGHT - moment, MIDNIGHT)
    late = MIDNIGHT + timedelta(hours=23, minutes=59, seconds=59, microseconds=999_999)
    assert used(site, phase, MIDNIGHT) == used(site, phase, late) == [1, 3, 4]
    assert used(site, phase, MIDNIGHT - moment) == [1, 3, 4], "an upload that began before midnight"
    assert used(site, phase, MONDAY - moment) == [1, 1, 4]
    assert used(site, phase, MONDAY + timedelta(days=7)) == [0, 0, 4]


def test_only_what_this_team_was_charged_for_in_this_phase_counts(site: Scenario) -> None:
    phase, now = limits(site, total=9), site.now
    receive(site, now)
    Submission.objects.filter(pk=site.submit().pk).update(is_charged=False)
    site.submit(team=site.join("Other"))
    site.submit(phase=site.sealed)
    assert used(site, phase, now) == [1]


@pytest.mark.parametrize(("number", "left"), [(0, 2), (1, 1), (2, 0), (3, 0)])
def test_what_is_left_is_never_less_than_nothing(number: int, left: int) -> None:
    assert Allowance("for today", 2, number, None).left == left


@pytest.mark.parametrize(
    ("since", "is_used"),
    [(timedelta(0), True), (timedelta(days=7, microseconds=-1), True), (timedelta(days=7), False)],
    ids=["at once", "a microsecond before", "seven days later"],
)
def test_a_sliding_week_reopens_seven_days_after_the_submission(
    site: Scenario, since: timedelta, is_used: bool
) -> None:
    """Sunday and Monday are two calendar weeks, and one sliding one."""
    phase, sunday = limits(site, week=1), MONDAY - timedelta(hours=1)
    phase.quota_week = Week.SLIDING
    receive(site, sunday)
    (allowance,) = allowances(team_id=site.team.pk, phase=phase, now=sunday + since)
    assert (allowance.used, allowance.left) == ((1, 0) if is_used else (0, 1))
    assert allowance.resets_at == (sunday + timedelta(days=7) if is_used else None)


def test_a_sliding_week_gives_more_once_the_oldest_that_fills_it_has_left(site: Scenario) -> None:
    receive(site, MONDAY, MONDAY + timedelta(days=1), MONDAY + timedelta(days=2))
    phase = limits(site, week=2)
    phase.quota_week = Week.SLIDING
    (allowance,) = allowances(team_id=site.team.pk, phase=phase, now=MIDNIGHT)
    assert allowance == Allowance("for the last seven days", 2, 3, MONDAY + timedelta(days=8))


def test_a_submission_in_the_next_calendar_week_is_refused_while_the_week_slides(site: Scenario) -> None:
    phase = limits(site, week=1)
    phase.quota_week = Week.SLIDING
    phase.save()
    site.submit(at=MONDAY + timedelta(days=6))
    with pytest.raises(QuotaUsed, match=r"last seven days\. The next can be made from 2030-05-12 00:00 UTC"):
        site.submit(at=MONDAY + timedelta(days=8))
    site.submit(at=MONDAY + timedelta(days=13))


@pytest.mark.parametrize(
    ("given", "sliding", "left"),
    [
        ({"day": 3}, False, Allowance("today", 3, 1)),
        ({"day": 9, "week": 3}, False, Allowance("this week", 3, 2)),
        ({"week": 3}, True, Allowance("this week", 3, 3)),
        ({"day": 1, "total": 4}, False, Allowance("today", 1, 1)),
        ({"total": 4}, False, Allowance("in all", 4, 4)),
    ],
)
def test_cards_tell_the_tightest_limit_and_count_nothing_older_than_it_is_about(
    site: Scenario, given: dict[str, int], sliding: bool, left: Allowance
) -> None:
    receive(site, MIDNIGHT, MONDAY, MONDAY - timedelta(days=1), MONDAY - timedelta(days=99))
    phase, now = limits(site, **given), MIDNIGHT + timedelta(hours=10)
    phase.quota_week = Week.SLIDING if sliding else Week.CALENDAR
    with CaptureQueriesContext(connection) as queries:
        assert least_left({phase: site.team.pk}, now) == {phase.pk: left}
    where = queries[0]["sql"].partition(" WHERE ")[2]
    assert ("received_at" in where) is ("total" not in given)


def test_cards_of_phases_without_a_limit_cost_no_query(
    site: Scenario, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        assert least_left({limits(site): site.team.pk}, MIDNIGHT) == {}
