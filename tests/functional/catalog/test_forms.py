"""Saving a form of the admin changes what was typed, all that follows from it, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.catalog.models import Competition, CompetitionOrganizer, Phase, Task
from competitions.catalog.organizer_admin import choices_for
from competitions.catalog.services import phase_reveal
from competitions.leaderboards.models import Entry
from competitions.resources.models import Resource
from competitions.resources.storage import open_stored
from competitions.submissions.models import Submission
from competitions.winners.models import Lane, Place
from tests.admin_forms import form_errors, save_confirmed, save_form
from tests.scenario import Scenario, person, resource, scenario, zip_bytes


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
    values = {"section": "running", "queue": site.queue.pk, "docker_image": "podium/other:1"}
    assert login(co_organizer(site)).post(url, values).status_code == 302
    saved = Competition.objects.get(pk=site.competition.pk)
    assert (saved.queue, saved.docker_image) == (site.queue, "podium/other:1")


def test_an_organizer_is_offered_nothing_of_other_peoples_competitions(site: Scenario) -> None:
    other = scenario()
    other.queue.owner = other.organizer
    other.queue.save()
    request = login(site.organizer).get(reverse("admin:index")).wsgi_request
    files, queues = choices_for(request, Resource), choices_for(request, type(site.queue))
    assert files is not None
    assert queues is not None
    assert files.filter(owner=site.organizer).exists()
    assert site.queue in queues
    assert not files.filter(owner=other.organizer).exists()
    assert other.queue not in queues


def test_an_organizer_is_offered_what_others_share_and_tasks_of_no_competition(site: Scenario) -> None:
    other = scenario()
    public = resource(other.organizer, Resource.Kind.INPUT_DATA, b"public")
    Resource.objects.filter(pk=public.pk).update(is_public=True)
    shared = resource(other.organizer, Resource.Kind.INPUT_DATA, b"shared")
    shared.shared_with.add(site.organizer)
    uploaded = Task.objects.create(owner=site.organizer, name="Uploaded", scoring_program=public)
    request = login(site.organizer).get(reverse("admin:index")).wsgi_request
    files, tasks = choices_for(request, Resource), choices_for(request, Task)
    assert files is not None
    assert {public, shared} <= set(files)
    assert tasks is not None
    assert {uploaded, *site.phase.tasks.all()} <= set(tasks)
    assert not set(tasks) & set(other.phase.tasks.all())


def test_a_board_that_is_added_holds_what_was_scored_before(site: Scenario) -> None:
    site.score(site.submit(), 0.5)
    site.phase.leaderboard.delete()
    column = {"key": "mae", "title": "MAE", "index": "0", "sorting": "asc", "precision": "4", "kind": "score"}
    changed = {f"columns-0-{name}": [value] for name, value in column.items()}
    url = reverse("organize:board-new", args=[site.competition.slug, site.phase.pk])
    assert save_form(login(site.organizer), url, **changed, title=["Board"], rule=["best"]).status_code == 302
    assert Entry.objects.get(leaderboard__phase=site.phase).team == site.team


def test_what_the_workspace_changes_is_read_only_in_the_admin(site: Scenario) -> None:
    rows: dict[str, Any] = {
        "competition": site.competition,
        "leaderboard": site.phase.leaderboard,
        "task": site.phase.tasks.get(),
    }
    client = login(person(is_staff=True, is_superuser=True))
    for name, row in rows.items():
        url = reverse(f"admin:catalog_{name}_change", args=[row.pk])
        assert 'name="_save"' not in client.get(url).content.decode()
        before = type(row).objects.filter(pk=row.pk).values().get()
        client.post(url, {"title": "Changed", "name": "Changed"})
        assert type(row).objects.filter(pk=row.pk).values().get() == before
        assert client.get(reverse(f"admin:catalog_{name}_add")).status_code == 403


def add_resource(site: Scenario, kind: Resource.Kind, content: bytes) -> Any:
    form = {"name": "New", "kind": kind.value, "upload": SimpleUploadedFile("new.zip", content)}
    return login(site.organizer).post(reverse("admin:resources_resource_add"), form)


@pytest.mark.parametrize(
    "kind",
    [
        Resource.Kind.SCORING_PROGRAM,
        Resource.Kind.INGESTION_PROGRAM,
        Resource.Kind.INPUT_DATA,
        Resource.Kind.REFERENCE_DATA,
    ],
)
def test_what_a_worker_unpacks_must_be_a_zip(site: Scenario, kind: Resource.Kind) -> None:
    answer = add_resource(site, kind, b"not a zip")
    assert "is not a zip archive" in form_errors(answer)["upload"][0]
    assert not Resource.objects.filter(name="New").exists()


def test_a_program_that_would_be_unpacked_outside_its_folder_is_refused(site: Scenario) -> None:
    answer = add_resource(site, Resource.Kind.SCORING_PROGRAM, zip_bytes({"../score.py": "print(1)"}))
    assert "whose path is not allowed" in form_errors(answer)["upload"][0]


def test_a_program_that_is_a_zip_is_kept_whole(site: Scenario) -> None:
    content = zip_bytes({"metadata.yaml": "command: python $program/score.py", "score.py": "print(1)"})
    assert add_resource(site, Resource.Kind.SCORING_PROGRAM, content).status_code == 302
    with open_stored(Resource.objects.get(name="New").file) as stored:
        assert stored.read() == content


def test_what_participants_download_can_be_any_file(site: Scenario) -> None:
    assert add_resource(site, Resource.Kind.PUBLIC_DATA, b"smiles\nC\n").status_code == 302


def test_what_is_only_shown_has_no_button_to_save_and_says_its_times_in_utc(site: Scenario, scored: Submission) -> None:
    page = login(site.organizer).get(reverse("admin:submissions_submission_change", args=[scored.pk])).content.decode()
    assert 'name="_save"' not in page
    assert 'name="_continue"' not in page
    assert "2030-05-01 12:00 UTC" in page


def test_the_history_of_a_place_is_not_written_by_hand(site: Scenario, scored: Submission) -> None:
    lane = Lane.objects.create(leaderboard=site.sealed.leaderboard)
    place = Place.objects.create(
        lane=lane, team=scored.team, submission=scored, rank=1, invited_at=site.now, due_at=site.now
    )
    url = reverse("admin:winners_place_change", args=[place.pk])
    client = login(site.organizer)
    assert "Add another" not in client.get(url).content.decode()
    client.post(url, {"events-TOTAL_FORMS": "1", "events-INITIAL_FORMS": "0", "events-0-note": "confirmed by hand"})
    assert not place.events.exists()


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
