"""A task of another organizer runs in an image that its owner chose: any other could copy the labels."""

from __future__ import annotations

import pytest

from competitions.catalog.models import CompetitionOrganizer, Task
from competitions.catalog.readiness import competition_warnings
from competitions.runs.models import Run
from competitions.submissions.states import State
from tests.scenario import Scenario, scenario


@pytest.fixture
def user_of_task(site: Scenario) -> Scenario:
    """Another organizer's competition that runs the public task of `site` in its own image."""
    other = scenario()
    task = site.phase.tasks.get()
    Task.objects.filter(pk=task.pk).update(is_public=True)
    other.phase.tasks.set([task])
    other.phase.docker_image = "own/image:1"
    other.phase.save()
    return other


def warned(site: Scenario) -> bool:
    return "image_of_task" in {warning.code for warning in competition_warnings(site.competition)}


def claimed(site: Scenario) -> Run:
    """The run of a new submission once a worker has asked for work."""
    submission = site.submit()
    worker = site.worker()
    if warned(site):
        with pytest.raises(AssertionError):
            site.claim(worker)
    else:
        site.claim(worker)
    return submission.runs.get()


def test_an_image_of_the_organizer_who_uses_it_gets_no_labels(user_of_task: Scenario) -> None:
    run = claimed(user_of_task)
    assert (run.state, run.reason, run.code) == (State.FAILED, "setup_error", "image_of_task")
    assert "an image can copy the labels" in run.detail
    assert warned(user_of_task)


@pytest.mark.parametrize("whose", ["the site's", "the task's competition's"])
def test_the_sites_image_and_those_of_the_tasks_competition_may(
    site: Scenario, user_of_task: Scenario, whose: str
) -> None:
    if whose == "the site's":
        user_of_task.phase.docker_image = ""
        user_of_task.phase.save()
    else:
        site.sealed.docker_image = "own/image:1"
        site.sealed.save()
    assert claimed(user_of_task).state == State.LEASED
    assert not warned(user_of_task)


def test_who_may_read_the_task_may_choose_its_image(site: Scenario, user_of_task: Scenario) -> None:
    CompetitionOrganizer.objects.create(competition=site.competition, user=user_of_task.organizer)
    assert claimed(user_of_task).state == State.LEASED
    CompetitionOrganizer.objects.create(competition=user_of_task.competition, user=scenario().organizer)
    assert warned(user_of_task), "one of its organizers may not"
