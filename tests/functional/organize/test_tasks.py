"""Tasks in the workspace: added with another's programs, named, deleted if no result is lost."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import CompetitionOrganizer, Task
from competitions.catalog.organizers import organizer_remove
from tests.admin_forms import form_fields
from tests.permissions import user_client
from tests.scenario import Scenario, person, scenario


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def task_url(site: Scenario, name: str, *task: Task) -> str:
    return reverse(f"organize:{name}", args=[site.competition.slug, *(entry.pk for entry in task)])


def test_a_new_task_has_the_programs_of_another_and_data_of_its_own(site: Scenario, organizer: Client) -> None:
    like = site.phase.tasks.get()
    form = form_fields(organizer.get(task_url(site, "task-new"))) | {"name": "Second", "like": str(like.pk)}
    assert organizer.post(task_url(site, "task-new"), form).status_code == 302
    task = site.competition.tasks.get(name="Second")
    assert (task.scoring_program, task.owner) == (like.scoring_program, site.organizer)
    assert (task.reference_data, task.input_data) == (None, None)
    assert not task.phases.exists()
    assert organizer.post(task_url(site, "task-new"), form).status_code == 422, "a second one of that name"
    shared = form | {"name": "Third", "shares_data": "on"}
    assert organizer.post(task_url(site, "task-new"), shared).status_code == 302
    assert site.competition.tasks.get(name="Third").reference_data == like.reference_data


def test_a_new_task_takes_no_programs_of_another_competition(site: Scenario, organizer: Client) -> None:
    task = site.phase.tasks.get()
    strange = Task.objects.create(name="Elsewhere", scoring_program=task.scoring_program)
    form = form_fields(organizer.get(task_url(site, "task-new"))) | {"name": "Second", "like": str(strange.pk)}
    assert organizer.post(task_url(site, "task-new"), form).status_code == 422
    assert not site.competition.tasks.filter(name="Second").exists()


def test_a_task_of_a_competition_is_read_no_more_by_a_maker_who_was_removed(site: Scenario, organizer: Client) -> None:
    own = scenario()
    CompetitionOrganizer.objects.filter(competition=own.competition).update(user=site.organizer)
    task, free = (
        site.phase.tasks.get(),
        Task.objects.create(name="Free", owner=site.organizer, scoring_program=site.phase.tasks.get().scoring_program),
    )
    Task.objects.filter(pk=task.pk).update(owner=site.organizer)
    task.refresh_from_db()

    def readable() -> list[bool]:
        listed = Task.objects.readable_by(site.organizer)
        return [
            task in listed,
            task.is_readable_by(site.organizer),
            free in listed,
            free.is_readable_by(site.organizer),
        ]

    form = form_fields(organizer.get(task_url(own, "task-new"))) | {"like": str(task.pk), "shares_data": "on"}
    assert organizer.post(task_url(own, "task-new"), form | {"name": "Before"}).status_code == 302
    assert readable() == [True] * 4
    CompetitionOrganizer.objects.create(competition=site.competition, user=person())
    organizer_remove(organizer=CompetitionOrganizer.objects.get(competition=site.competition, user=site.organizer))
    assert readable() == [False, False, True, True]
    assert organizer.post(task_url(own, "task-new"), form | {"name": "After"}).status_code == 422
    assert list(own.competition.tasks.filter(name__in=["Before", "After"]).values_list("name", flat=True)) == ["Before"]


def test_a_task_is_named(site: Scenario, organizer: Client) -> None:
    url = task_url(site, "task", site.phase.tasks.get())
    assert organizer.post(url, form_fields(organizer.get(url)) | {"name": "Molecules"}).status_code == 302
    assert site.phase.tasks.get().name == "Molecules"
    assert "Molecules" in organizer.get(task_url(site, "data")).content.decode()


def test_a_task_is_deleted_once_it_was_read_what_that_does(site: Scenario, organizer: Client) -> None:
    task = site.phase.tasks.get()
    more = Task.objects.create(competition=site.competition, name="More", scoring_program=task.scoring_program)
    site.phase.tasks.add(more)
    page = organizer.get(task_url(site, "task-delete", more))
    assert "are run on 1 task from now on" in page.content.decode()
    assert organizer.post(task_url(site, "task-delete", more)).status_code == 409, "nothing was confirmed"
    assert organizer.post(task_url(site, "task-delete", more), form_fields(page)).status_code == 302
    assert not Task.objects.filter(pk=more.pk).exists()


def test_a_task_that_results_hang_on_is_not_deleted(site: Scenario, organizer: Client) -> None:
    task = site.phase.tasks.get()
    site.submit()
    page = organizer.get(task_url(site, "task-delete", task))
    assert "1 submission was run on it" in page.content.decode()
    assert "only task of the phase" in page.content.decode()
    confirmed = page.context["deletion"].confirmation
    assert organizer.post(task_url(site, "task-delete", task), {"confirmed": confirmed}).status_code == 409
    assert Task.objects.filter(pk=task.pk).exists()


def test_who_is_no_staff_is_not_shown_who_is(site: Scenario) -> None:
    host, colleague = person(), person(is_staff=True)
    CompetitionOrganizer.objects.create(competition=site.competition, user=host)
    task = site.phase.tasks.get()
    task.shared_with.add(colleague)
    client, url = user_client(host), task_url(site, "task", task)
    assert colleague.username not in client.get(url).content.decode()
    assert client.post(url, form_fields(client.get(url)) | {"description": "New."}).status_code == 302
    assert list(task.shared_with.all()) == [colleague], "whom it is shared with stays"
