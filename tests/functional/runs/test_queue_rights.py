"""An organizer's queue: its workers get nothing its owner may not read, whatever changes later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from competitions.bundles.importing.importer import bundle_import
from competitions.bundles.pushing.review import rules_broken
from competitions.catalog.downloads import phase_downloads
from competitions.catalog.models import Competition, CompetitionOrganizer, Leaderboard, Phase, Task
from competitions.catalog.organizers import OWNS_THE_QUEUE, organizer_remove
from competitions.catalog.readiness import competition_warnings
from competitions.compute.models import Queue, issue_token, queue_by_token
from competitions.runs.models import Run
from competitions.submissions.states import State
from tests.admin_forms import form_errors, save_form
from tests.bundle_files import second, write
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import NOON, Scenario, person, scenario

REFUSED = (State.FAILED, "setup_error", "queue_not_allowed")


def own_queue(site: Scenario) -> Queue:
    """The competition moves to a queue of its organizer."""
    Queue.objects.filter(pk=site.queue.pk).update(owner=site.organizer)
    site.queue.refresh_from_db()
    return site.queue


@pytest.fixture
def other(site: Scenario) -> Scenario:
    """Another organizer's competition, which uses the public task of `site`, on a queue of that organizer."""
    other = scenario()
    task = site.phase.tasks.get()
    Task.objects.filter(pk=task.pk).update(is_public=True)
    other.phase.tasks.set([task])
    own_queue(other)
    return other


def outcome(site: Scenario, phase: Phase | None = None) -> tuple[str, str, str]:
    """State, reason and code of a submission's run once a worker of the queue has asked for work."""
    run: Run = site.submit(phase=phase).runs.get()
    if not site.claim_nothing():
        run.refresh_from_db()
        assert run.state == State.LEASED
    run.refresh_from_db()
    return run.state, run.reason, run.code


def warned(site: Scenario) -> bool:
    return "queue_not_allowed" in {warning.code for warning in competition_warnings(site.competition)}


def test_workers_of_who_may_only_use_a_task_are_not_given_it(other: Scenario) -> None:
    assert outcome(other) == REFUSED
    assert warned(other)


@pytest.mark.parametrize("right", ["the site's queue", "reads the task", "an administrator's queue"])
def test_the_sites_queues_and_those_of_readers_are_given_it(site: Scenario, other: Scenario, right: str) -> None:
    if right == "the site's queue":
        Queue.objects.filter(pk=other.queue.pk).update(owner=None)
    elif right == "reads the task":
        CompetitionOrganizer.objects.create(competition=site.competition, user=other.organizer)
    else:
        Queue.objects.filter(pk=other.queue.pk).update(owner=person(is_staff=True, is_superuser=True))
    Phase.objects.filter(pk=other.sealed.pk).delete()
    other.queue.refresh_from_db()
    other.competition.refresh_from_db()
    assert outcome(other)[0] == State.LEASED
    assert not warned(other)


def test_a_right_that_was_lost_meanwhile_counts_at_the_claim(site: Scenario, other: Scenario) -> None:
    right = CompetitionOrganizer.objects.create(competition=site.competition, user=other.organizer)
    run = other.submit().runs.get()
    right.delete()
    assert other.claim_nothing()
    run.refresh_from_db()
    assert (run.state, run.reason, run.code) == REFUSED


def test_an_account_that_was_closed_gets_no_more_runs(site: Scenario) -> None:
    own_queue(site)
    site.organizer.is_active = False
    site.organizer.save()
    assert outcome(site) == REFUSED


@pytest.mark.parametrize("sees_sealed", [False, True])
def test_sealed_scores_are_made_by_workers_of_who_may_see_them(site: Scenario, sees_sealed: bool) -> None:
    own_queue(site)
    CompetitionOrganizer.objects.filter(user=site.organizer).update(can_see_sealed=sees_sealed)
    state, *_ = outcome(site, site.sealed)
    assert (state == State.LEASED) == sees_sealed
    assert warned(site) == (not sees_sealed)


def test_a_sealed_board_of_an_open_phase_counts_as_sealed(site: Scenario) -> None:
    own_queue(site)
    assert outcome(site)[0] == State.LEASED
    Leaderboard.objects.filter(phase=site.phase).update(visibility=Leaderboard.Visibility.SEALED)
    assert outcome(site) == REFUSED


def test_forms_refuse_what_the_queue_may_not_be_given(site: Scenario, other: Scenario) -> None:
    organizer, task = user_client(other.organizer), site.phase.tasks.get()
    other.phase.tasks.set(other.competition.tasks.all())
    in_admin, in_workspace = phase_forms(other.phase)
    assert f"The task “{task}” may not run on the queue" in errors(organizer, in_admin, tasks=[str(task.pk)])
    for url in (in_admin, in_workspace):
        assert "Sealed scores may not be made" in errors(organizer, url, visibility="sealed")
    board = reverse("organize:board", args=[other.competition.slug, other.phase.leaderboard.pk])
    assert "Sealed scores may not be made" in errors(organizer, board, visibility="sealed")


def phase_forms(phase: Phase) -> list[str]:
    admin = reverse("admin:catalog_phase_change", args=[phase.pk])
    return [admin, reverse("organize:phase", args=[phase.competition.slug, phase.pk])]


def errors(client: Client, url: str, **changed: object) -> str:
    """The words of the form to a change that it refused."""
    answer = save_form(client, url, **changed)
    assert answer.status_code != 302, "it was saved"
    return str(answer.content.decode())


def test_a_competition_moves_to_no_queue_that_may_not_have_it(site: Scenario, other: Scenario) -> None:
    queue_of_other = Queue.objects.create(name="mine", owner=other.organizer)
    Competition.objects.filter(pk=other.competition.pk).update(queue=site.queue)
    url = reverse("organize:settings", args=[other.competition.slug])
    answer = user_client(other.organizer).post(url, {"section": "running", "queue": queue_of_other.pk})
    assert answer.status_code == 422
    assert "may not run on the queue" in answer.content.decode()
    assert Competition.objects.get(pk=other.competition.pk).queue == site.queue


def test_a_queue_gets_no_owner_who_may_not_have_what_runs_on_it(site: Scenario) -> None:
    stranger = person(is_staff=True)
    administrator = user_client(person(is_staff=True, is_superuser=True))
    url = reverse("admin:compute_queue_change", args=[site.queue.pk])
    answer = save_form(administrator, url, owner=str(stranger.pk))
    assert "may not run on the queue" in str(form_errors(answer))
    assert Queue.objects.get(pk=site.queue.pk).owner is None


@pytest.mark.parametrize(("changed", "holds"), [("owner", False), ("contact", True)])
def test_who_owned_a_queue_has_no_token_of_it_any_more(site: Scenario, changed: str, holds: bool) -> None:
    queue = own_queue(site)
    secret = issue_token(queue)
    administrator = user_client(person(is_staff=True, is_superuser=True))
    url = reverse("admin:compute_queue_change", args=[queue.pk])
    answer = save_form(administrator, url, **{changed: "" if changed == "owner" else "Somebody"})
    assert answer.status_code == 302, form_errors(answer)
    assert (queue_by_token(secret) == queue) == holds
    assert Queue.objects.get(pk=queue.pk).owner == (site.organizer if holds else None)


@pytest.mark.parametrize("use", ["tasks", "smoke_task", "dataset_check"])
def test_a_task_stays_readable_for_the_owners_of_its_queues(site: Scenario, use: str) -> None:
    own_queue(site)
    task = site.phase.tasks.get()
    task.is_public_split = True
    if use != "tasks":
        Phase.objects.filter(pk=site.phase.pk).update(**{use: task})
        site.phase.tasks.clear()
        site.sealed.tasks.clear()
    task.competition = scenario().competition
    with pytest.raises(ValidationError, match="whose owner could not read it any more"):
        task.full_clean()


def test_who_owns_the_queue_stays_an_organizer(site: Scenario) -> None:
    own_queue(site)
    CompetitionOrganizer.objects.create(competition=site.competition, user=person(is_staff=True))
    with refuses(OWNS_THE_QUEUE, match="Choose another queue first"):
        organizer_remove(organizer=CompetitionOrganizer.objects.get(user=site.organizer))


def test_a_bundle_with_sealed_scores_says_that_a_queue_may_not_have_them(site: Scenario, tmp_path: Path) -> None:
    data = second()
    for phase in data["phases"]:
        phase["podium"] = {"visibility": "sealed"}
    imported = bundle_import(source=write(tmp_path / "b", data), owner=site.organizer, queue=own_queue(site), now=NOON)
    assert any("Sealed scores may not be made" in note.message for note in imported.report.warnings)


def test_a_push_brings_no_task_to_a_queue_that_may_not_have_it(other: Scenario) -> None:
    assert any("may not run on the queue" in fault for fault in rules_broken(other.competition))


@pytest.mark.parametrize(
    ("gives", "expected"),
    [
        (lambda site, other: None, False),
        (
            lambda site, other: CompetitionOrganizer.objects.create(competition=site.competition, user=other.organizer),
            True,
        ),
    ],
    ids=["uses it", "reads it"],
)
def test_files_of_a_foreign_task_are_opened_by_its_readers_alone(
    site: Scenario, other: Scenario, gives: Callable[[Scenario, Scenario], object], expected: bool
) -> None:
    gives(site, other)
    Competition.objects.filter(pk=other.competition.pk).update(
        make_programs_available=True, make_input_data_available=True
    )
    phase = Phase.objects.select_related("competition").get(pk=other.phase.pk)
    assert any(name.startswith("scoring_program") for name in phase_downloads(phase, other.now)) == expected


def test_the_admin_lists_the_newest_runs_first(site: Scenario) -> None:
    runs = [site.submit().runs.get() for _ in range(3)]
    client = user_client(person(is_staff=True, is_superuser=True))
    page = client.get(reverse("admin:runs_run_changelist")).content.decode()
    places = [page.index(reverse("admin:runs_run_change", args=[run.pk])) for run in runs]
    assert places == sorted(places, reverse=True)


def test_administrators_alone_drain_workers_in_the_admin(site: Scenario) -> None:
    worker, onlooker = site.worker(), person(is_staff=True)
    onlooker.user_permissions.add(Permission.objects.get(codename="view_computeworker"))
    url = reverse("admin:compute_computeworker_changelist")
    form = {"action": "drain", "_selected_action": [worker.pk]}
    assert user_client(onlooker).get(url).status_code == 200
    user_client(onlooker).post(url, form)
    worker.refresh_from_db()
    assert worker.drained_at is None
    user_client(person(is_staff=True, is_superuser=True)).post(url, form)
    worker.refresh_from_db()
    assert worker.drained_at is not None
