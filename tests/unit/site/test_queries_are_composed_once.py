"""A query whose SQL is composed once answers as Django's own does, whatever its arguments."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from competitions.submissions.models import Submission
from competitions.submissions.states import State
from core.composed import Composed, fill
from tests.worlds import World


def test_it_answers_for_each_argument_as_the_queryset_does(site: World) -> None:
    mine, other = site.team, site.join("Other")
    made = [site.submit(), site.submit(team=other), site.submit()]
    of_team = Composed(lambda team: Submission.objects.filter(team=team).select_related("phase__competition"))
    assert of_team(team=mine.pk) == [made[2], made[0]]
    assert of_team(team=other.pk) == [made[1]]
    assert of_team(team=0) == []
    with CaptureQueriesContext(connection) as queries:
        assert of_team(team=mine.pk)[0].phase.competition == site.competition
    assert len(queries) == 1


def test_texts_and_lists_of_any_length_are_arguments(site: World) -> None:
    made = [site.submit(), site.submit(), site.submit()]
    names = Composed(
        lambda name, numbers: Submission.objects.filter(file_name=name, pk__in=numbers).values_list("pk", "kind")
    )
    for some in (made, made[:1], made[1:]):
        found = names(name=made[0].file_name, numbers=[one.pk for one in some])
        assert sorted(found) == [(one.pk, one.kind) for one in some]
    assert names(name="it's another %s", numbers=[made[0].pk]) == []
    with CaptureQueriesContext(connection) as queries:
        assert names(name=made[0].file_name, numbers=[]) == []
    assert not queries.captured_queries


def test_instants_and_members_of_an_enumeration_are_arguments(site: World) -> None:
    early, late = site.submit(), site.submit(at=site.now + timedelta(hours=1))
    since = Composed(
        lambda instant, states: Submission.objects.filter(received_at__gte=instant, status__in=states).order_by("pk")
    )
    assert since(instant=site.now, states=[State.QUEUED]) == [early, late]
    assert since(instant=site.now + timedelta(minutes=1), states=list(State)) == [late]
    assert since(instant=site.now, states=[State.FAILED, State.CANCELLED]) == []


def test_an_argument_that_does_not_reach_the_database_is_an_error() -> None:
    looks_at_it = Composed(lambda team: Submission.objects.filter(team__isnull=team > 3))
    with pytest.raises(ValueError, match=r"1 of the arguments .* no parameters"):
        looks_at_it(team=2)


def test_rows_that_are_at_hand_are_not_asked_for_again(site: World) -> None:
    made = site.submit()
    runs = list(made.runs.all())
    fresh = Submission.objects.get(pk=made.pk)
    fill(fresh, "runs", runs)
    with CaptureQueriesContext(connection) as queries:
        assert list(fresh.runs.all()) == runs
    assert not queries.captured_queries
