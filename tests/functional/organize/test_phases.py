"""Phases in the workspace: effects are confirmed, new ones get a board, deletions are guarded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Column, Leaderboard, Phase
from tests.admin_forms import form_fields
from tests.permissions import user_client
from tests.scenario import NOON, Scenario, scenario


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def phase_url(phase: Phase, name: str = "phase") -> str:
    return reverse(f"organize:{name}", args=[phase.competition.slug, phase.pk])


def new_url(site: Scenario) -> str:
    return reverse("organize:phase-new", args=[site.competition.slug])


def send(client: Client, url: str, **changed: Any) -> Any:
    """Open the form, change these fields, send it."""
    return client.post(url, form_fields(client.get(url)) | changed)


@pytest.fixture
def during(site: Scenario) -> Any:
    with time_machine.travel(NOON + timedelta(hours=1), tick=False):
        yield


@pytest.mark.usefixtures("during")
def test_a_form_that_nobody_touched_changes_nothing(site: Scenario, organizer: Client) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(
        opens_at=NOON - timedelta(seconds=7), closes_at=NOON + timedelta(days=9, seconds=3)
    )
    before = Phase.objects.filter(pk=site.phase.pk).values().get()
    assert send(organizer, phase_url(site.phase)).status_code == 302
    assert Phase.objects.filter(pk=site.phase.pk).values().get() == before


@pytest.mark.usefixtures("during")
def test_a_lower_quota_is_said_and_saved_once_it_is_confirmed(site: Scenario, organizer: Client) -> None:
    site.submit()
    form = form_fields(organizer.get(phase_url(site.phase))) | {"max_submissions": "1", "max_submissions_per_day": "1"}
    confirm_page = organizer.post(phase_url(site.phase), form)
    text = confirm_page.content.decode()
    assert "1 team used 1 or more in total and could submit no more." in text
    assert Phase.objects.get(pk=site.phase.pk).max_submissions != 1
    confirmed = confirm_page.context["form"].confirmation
    site.submit(team=site.join())
    again = organizer.post(phase_url(site.phase), form | {"confirmed": confirmed})
    assert "2 teams used 1 or more in total" in again.content.decode()
    assert (
        organizer.post(phase_url(site.phase), form | {"confirmed": again.context["form"].confirmation}).status_code
        == 302
    )
    assert Phase.objects.get(pk=site.phase.pk).max_submissions == 1


@pytest.mark.usefixtures("during")
def test_two_who_change_a_phase_at_once_lose_nothing(site: Scenario, organizer: Client) -> None:
    url = phase_url(site.phase)
    own_form = form_fields(organizer.get(url)) | {"name": "Warm-up"}
    Phase.objects.filter(pk=site.phase.pk).update(closes_at=NOON + timedelta(days=77), upload_grace_minutes=20)
    conflict = organizer.post(url, own_form)
    assert conflict.status_code == 409
    assert "Somebody else has changed this meanwhile: Closes, now “2030-" in conflict.content.decode()
    assert organizer.post(url, form_fields(conflict)).status_code == 302
    phase = Phase.objects.get(pk=site.phase.pk)
    assert (phase.name, phase.closes_at, phase.upload_grace_minutes) == ("Warm-up", NOON + timedelta(days=77), 20)


@pytest.mark.usefixtures("during")
def test_a_format_that_somebody_else_changed_is_not_taken_back(site: Scenario, organizer: Client) -> None:
    url, theirs = phase_url(site.phase), {"table": {"id_column": "id", "columns": [{"name": "y", "minimum": 0}]}}
    own_form = form_fields(organizer.get(url)) | {"name": "Warm-up"}
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=theirs)
    assert organizer.post(url, form_fields(organizer.post(url, own_form))).status_code == 302
    phase = Phase.objects.get(pk=site.phase.pk)
    assert (phase.name, phase.prediction_format) == ("Warm-up", theirs)


def test_sealed_scores_are_not_opened_by_the_form(site: Scenario, organizer: Client) -> None:
    site.score(site.submit(phase=site.sealed), 0.5)
    answer = send(organizer, phase_url(site.sealed), visibility="public")
    assert answer.status_code == 422
    assert "To show them, use the action Reveal" in answer.content.decode()
    assert Phase.objects.get(pk=site.sealed.pk).is_sealed


def test_a_new_phase_follows_the_last_with_a_board_like_its(site: Scenario, organizer: Client) -> None:
    last = site.competition.phases.order_by("index", "pk").last()
    assert last is not None
    answer = send(organizer, new_url(site), name="Final round", visibility="sealed")
    assert answer.status_code == 302, answer.context["form"].errors
    phase = Phase.objects.get(slug="final-round")
    assert phase.index > last.index
    assert phase.opens_at >= (last.closes_at or phase.opens_at)
    assert set(phase.tasks.all()) == set(last.tasks.all())
    assert phase.leaderboard.title == last.leaderboard.title
    keys = Column.objects.filter(leaderboard=phase.leaderboard).values_list("key", flat=True)
    assert list(keys) == list(last.leaderboard.columns.values_list("key", flat=True))
    assert Column.objects.filter(leaderboard=last.leaderboard).exists()


def test_phases_that_close_at_the_end_of_time_have_pages(site: Scenario, organizer: Client) -> None:
    never = datetime(9999, 12, 31, 23, 59, tzinfo=UTC)
    for phase in site.phases.values():
        phase.closes_at = never
        phase.save()
    site.score(site.submit(), 0.5)
    slug, sealed = site.competition.slug, site.sealed.slug
    pages = (
        "web:overview",
        "web:leaderboard",
        "web:submissions",
        "web:competition-calendar",
        "api:competition",
        "organize:phase-new",
    )
    urls = [reverse(name, args=[slug]) for name in pages]
    urls += [
        reverse("web:reveal", args=[slug, sealed]),
        "/",
        reverse("web:submission", args=[site.phase.submissions.get().pk]),
    ]
    assert {url: organizer.get(url).status_code for url in urls} == dict.fromkeys(urls, 200)


def test_a_new_phase_does_not_show_what_another_keeps_sealed(site: Scenario, organizer: Client) -> None:
    answer = send(organizer, new_url(site), name="Open", tasks=[site.sealed.tasks.get().pk], visibility="public")
    assert answer.status_code == 422
    assert "keeps scores sealed on one of these tasks" in answer.content.decode()
    assert not Phase.objects.filter(name="Open").exists()
    assert Leaderboard.objects.filter(phase__competition=site.competition).count() == 2


def test_a_task_of_another_competition_is_refused(site: Scenario, organizer: Client) -> None:
    foreign = scenario().phase.tasks.get()
    answer = send(organizer, phase_url(site.phase), tasks=[foreign.pk])
    assert answer.status_code == 422
    assert not site.phase.tasks.filter(pk=foreign.pk).exists()


def test_a_phase_is_deleted_while_nobody_submitted(site: Scenario, organizer: Client) -> None:
    site.submit()
    for phase, is_left in ((site.phase, True), (site.sealed, False)):
        organizer.post(phase_url(phase, "phase-delete"))
        assert Phase.objects.filter(pk=phase.pk).exists() == is_left


TABLES: list[Any] = [
    None,
    {"dataset": "lsc-pcqm4mv2", "split": "test-dev", "rows": 40},
    {"dataset": "lsc-pcqm4mv2", "split": "test-dev"},
    {"table": {"id_column": "id", "columns": [{"name": "price", "minimum": 0, "maximum": 1.5}], "rows": 7}},
    {
        "table": {
            "id_column": "id",
            "columns": [{"name": "kind", "type": "text", "allowed": ["a, b", 'say "c"', "1"], "missing": True}],
        }
    },
    {
        "table": {
            "id_column": "id",
            "columns": [{"name": "p"}, {"name": "q", "type": "integer", "allowed": [0, 1]}],
            "formats": ["csv"],
            "probabilities": [["p", "q"]],
            "tolerance": 0.01,
        }
    },
    {"table": {"id_column": "id", "columns": [{"name": f"c{number}"} for number in range(61)]}},
]


@pytest.mark.parametrize("stored", TABLES, ids=range(len(TABLES)))
def test_a_format_of_predictions_is_shown_and_sent_back_as_it_is(
    site: Scenario, organizer: Client, stored: Any
) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(prediction_format=stored)
    answer = send(organizer, phase_url(site.phase))
    assert answer.status_code == 302, answer.context["form"].errors
    assert Phase.objects.get(pk=site.phase.pk).prediction_format == stored


def test_a_table_is_described_without_json(site: Scenario, organizer: Client) -> None:
    described = {
        "prediction_format_kind": "table",
        "prediction_format_id_column": "id",
        "prediction_format_rows": "",
        "prediction_format_column_name": ["price", "", "kind"],
        "prediction_format_column_type": ["number", "number", "text"],
        "prediction_format_column_minimum": ["0", "", ""],
        "prediction_format_column_maximum": ["", "", ""],
        "prediction_format_column_allowed": ["", "", "red, green"],
        "prediction_format_column_missing": ["no", "no", "yes"],
    }
    confirm_page = send(organizer, phase_url(site.phase), **described)
    assert "checked against another file format from now on" in confirm_page.content.decode()
    confirmation = confirm_page.context["form"].confirmation
    assert send(organizer, phase_url(site.phase), **described, confirmed=confirmation).status_code == 302
    columns = [
        {"name": "price", "minimum": 0},
        {"name": "kind", "type": "text", "allowed": ["red", "green"], "missing": True},
    ]
    assert Phase.objects.get(pk=site.phase.pk).prediction_format == {"table": {"id_column": "id", "columns": columns}}
    wrong = described | {"prediction_format_column_minimum": ["low", "", ""]}
    answer = send(organizer, phase_url(site.phase), **wrong)
    assert answer.status_code == 422
    assert "&#x27;low&#x27; is not a number" in answer.content.decode()
    assert 'value="low"' in answer.content.decode()


@pytest.mark.usefixtures("during")
def test_settings_of_kinds_that_a_phase_does_not_take_are_set_aside(site: Scenario, organizer: Client) -> None:
    def aside(**values: object) -> tuple[list[str], bool]:
        Phase.objects.filter(pk=site.phase.pk).update(**values)
        form = organizer.get(phase_url(site.phase)).context["form"]
        return [group.title for group in form.set_aside], form.shows_set_aside

    names = ("time_limit_s", "cpus", "memory_bytes", "output_bytes", "output_files", "pids", "gpus")
    usual = {name: getattr(Phase(), name) for name in names}
    of_code = ["Smoke run", "Budget of a code submission", "Own environment", "Isolation"]
    growing = "A board that grows by datasets"
    assert aside(accepts_predictions=True, accepts_code=False, **usual) == ([*of_code, growing], False)
    assert aside(time_limit_s=77) == ([*of_code, growing], True)
    assert aside(accepts_code=True) == ([growing], False)
    wrong = send(organizer, phase_url(site.phase), max_datasets="500").context["form"]
    assert wrong.shows_set_aside, "its error stands in there"
