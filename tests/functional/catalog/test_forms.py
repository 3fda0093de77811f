"""Saving a form of the admin changes what was typed, all that follows from it, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.catalog.models import Competition, CompetitionOrganizer, Phase, Task
from competitions.catalog.services import phase_reveal
from competitions.leaderboards.models import Entry
from competitions.resources.models import Resource
from competitions.submissions.models import Submission
from competitions.winners.models import Lane, Place
from tests.admin_forms import form_errors, save_confirmed, save_form
from tests.scenario import Scenario, person, resource, scenario


def login(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def co_organizer(site: Scenario) -> User:
    other = person(is_staff=True)
    CompetitionOrganizer.objects.create(competition=site.competition, user=other)
    return other


def phase_url(phase: Phase) -> str:
    return reverse("admin:catalog_phase_change", args=[phase.pk])


@pytest.fixture
def scored(site: Scenario) -> Submission:
    """A score in the sealed phase."""
    return site.score(site.submit(phase=site.sealed), 0.1234)


def test_the_form_does_not_unseal_scores(site: Scenario, scored: Submission) -> None:
    answer = save_form(login(site.organizer), phase_url(site.sealed), visibility=["public"])
    assert "use the action Reveal" in form_errors(answer)["visibility"][0]
    assert Phase.objects.get(pk=site.sealed.pk).is_sealed
    board = reverse("api:leaderboard", args=[site.competition.slug, site.sealed.slug])
    assert Client().get(board).status_code == 403


def test_a_preset_does_not_unseal_scores(site: Scenario, scored: Submission) -> None:
    answer = save_form(login(site.organizer), phase_url(site.sealed), preset=["pcqm4mv2-test-dev"])
    assert "use the action Reveal" in form_errors(answer)["visibility"][0]
    assert Phase.objects.get(pk=site.sealed.pk).is_sealed


def test_a_preset_of_the_same_visibility_is_applied_to_a_phase_with_submissions(
    site: Scenario, scored: Submission
) -> None:
    saved = save_confirmed(login(site.organizer), phase_url(site.sealed), preset=["pcqm4mv2-test-challenge"])
    assert saved.status_code == 302
    assert Phase.objects.get(pk=site.sealed.pk).time_limit_s == 4 * 3600


def test_a_phase_without_submissions_can_be_made_public(site: Scenario) -> None:
    assert save_form(login(site.organizer), phase_url(site.sealed), visibility=["public"]).status_code == 302
    assert not Phase.objects.get(pk=site.sealed.pk).is_sealed


def test_a_revealed_phase_is_saved_as_any_other(site: Scenario, scored: Submission) -> None:
    phase_reveal(phase=site.sealed, now=site.now, before_the_end=True)
    assert save_form(login(site.organizer), phase_url(site.sealed), description=["Over."]).status_code == 302
    assert Phase.objects.get(pk=site.sealed.pk).description == "Over."


def test_a_co_organizer_keeps_the_files_of_a_phase(site: Scenario) -> None:
    phase = site.phase
    phase.public_data = resource(site.organizer, Resource.Kind.PUBLIC_DATA, b"data")
    phase.starting_kit = resource(site.organizer, Resource.Kind.STARTING_KIT, b"kit")
    phase.save()
    assert save_form(login(co_organizer(site)), phase_url(phase), description=["New."]).status_code == 302
    saved = Phase.objects.get(pk=phase.pk)
    assert (saved.description, saved.public_data, saved.starting_kit) == ("New.", phase.public_data, phase.starting_kit)


def test_a_co_organizer_keeps_the_hidden_labels_of_a_task(site: Scenario) -> None:
    task, other = site.phase.tasks.get(), co_organizer(site)
    url = reverse("organize:task", args=[site.competition.slug, task.pk])
    assert save_form(login(other), url, description=["New."]).status_code == 302
    labels, program = task.reference_data, task.scoring_program
    task.refresh_from_db()
    assert (task.description, task.scoring_program, task.reference_data) == ("New.", program, labels)


def test_a_co_organizer_keeps_the_private_queue(site: Scenario) -> None:
    site.queue.owner = site.organizer
    site.queue.save()
    url = reverse("organize:settings", args=[site.competition.slug])
    values = {
        "section": "running",
        "queue": site.queue.pk,
        "docker_image": "podium/other:1",
        "auto_run_submissions": "on",
    }
    assert login(co_organizer(site)).post(url, values).status_code == 302
    saved = Competition.objects.get(pk=site.competition.pk)
    assert (saved.queue, saved.docker_image) == (site.queue, "podium/other:1")


def test_a_board_that_is_added_holds_what_was_scored_before(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    site.phase.leaderboard.delete()
    column = {"key": "mae", "title": "MAE", "index": "0", "sorting": "asc", "precision": "4", "kind": "score"}
    changed = {f"columns-0-{name}": [value] for name, value in column.items()}
    url = reverse("organize:board-new", args=[site.competition.slug, site.phase.pk])
    assert save_form(login(site.organizer), url, **changed, title=["Board"], rule=["best"]).status_code == 302
    assert Entry.objects.get(leaderboard__phase=site.phase).team == site.team


def test_what_a_service_owns_is_read_only_in_the_admin_and_for_administrators(
    site: Scenario, scored: Submission
) -> None:
    lane = Lane.objects.create(leaderboard=site.sealed.leaderboard)
    place = Place.objects.create(
        lane=lane, team=scored.team, submission=scored, rank=1, invited_at=site.now, due_at=site.now
    )
    task = site.phase.tasks.get()
    client, organizer = login(person(is_staff=True, is_superuser=True)), login(site.organizer)
    rows = (site.competition, site.phase.leaderboard, task, task.scoring_program, site.team, scored, place)
    for row in rows:
        name = f"{row._meta.app_label}_{row._meta.model_name}"
        url = reverse(f"admin:{name}_change", args=[row.pk])
        assert 'name="_save"' not in client.get(url).content.decode()
        before = type(row).objects.filter(pk=row.pk).values().get()
        client.post(url, {"title": "Changed", "name": "Changed"})
        assert type(row).objects.filter(pk=row.pk).values().get() == before
        assert client.get(reverse(f"admin:{name}_add")).status_code == 403
        assert organizer.get(url).status_code == 403


def test_organizers_have_phases_in_the_admin_and_nothing_else(site: Scenario) -> None:
    page = login(site.organizer).get(reverse("admin:index"))
    models = [model["object_name"] for app in page.context["app_list"] for model in app["models"]]
    assert models == ["Phase"]
    elsewhere = scenario()
    assert login(site.organizer).get(phase_url(elsewhere.phase)).status_code == 302


def test_a_task_is_shared_with_organizers_and_a_form_names_nobody_else(site: Scenario) -> None:
    task = site.phase.tasks.get()
    url = reverse("organize:task", args=[site.competition.slug, task.pk])
    assert site.member().username not in login(site.organizer).get(url).content.decode()
    colleague = person(is_staff=True)
    assert save_form(login(site.organizer), url, shared_with=[str(colleague.pk)]).status_code == 302
    assert list(task.shared_with.all()) == [colleague]


@pytest.mark.parametrize(
    "fields", [{"competition": None}, {"is_public": True}, {}], ids=["by itself", "public", "chosen"]
)
def test_a_phase_with_a_task_from_elsewhere_can_be_saved(site: Scenario, fields: dict[str, Any]) -> None:
    other = Competition.objects.create(slug="other", title="Other", queue=site.queue)
    task = site.phase.tasks.get()
    Task.objects.filter(pk=task.pk).update(**({"competition": other, "owner": site.organizer} | fields))
    assert save_form(login(site.organizer), phase_url(site.phase), description=["Anew."]).status_code == 302
    assert list(site.phase.tasks.all()) == [task]


def test_a_task_of_another_competition_is_not_chosen_by_mistake(site: Scenario) -> None:
    other = Competition.objects.create(slug="other", title="Other", queue=site.queue)
    CompetitionOrganizer.objects.create(competition=other, user=site.organizer)
    Task.objects.filter(pk=site.sealed.tasks.get().pk).update(competition=other)
    chosen = [str(site.phase.tasks.get().pk), str(site.sealed.tasks.get().pk)]
    answer = save_form(login(site.organizer), phase_url(site.phase), tasks=chosen)
    assert "belongs to another competition" in form_errors(answer)["tasks"][0]
    assert site.phase.tasks.count() == 1
