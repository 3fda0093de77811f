"""After a change of a program or data, one action finds outdated runs, and runs them again."""

from __future__ import annotations

import re
from datetime import timedelta

from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Phase, Task
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.resources.versions import resource_replace
from competitions.runs.models import Run
from competitions.runs.records.outdated import outdated_submissions
from competitions.runs.services import submission_cancel
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_disqualify
from competitions.submissions.states import Kind, State
from tests.permissions import user_client
from tests.scenario import Scenario, scenario, zip_bytes


def replace(resource: Resource | None, command: str = "python3 new.py") -> Resource:
    assert resource is not None
    return resource_replace(
        resource=resource, file=store_bytes(zip_bytes({"metadata": f"command: {command}"})), file_name="new.zip"
    )


def outdated() -> set[int]:
    return outdated_submissions(Run.objects.all())


def data_page(client: Client, site: Scenario) -> str:
    """The page of the competition's data, asked which submissions ran with earlier versions."""
    return client.get(reverse("organize:data", args=[site.competition.slug]), {"outdated": "yes"}).content.decode()


def run_again(client: Client, site: Scenario, *submissions: Submission, **values: str) -> str:
    form = {"action": "rerun", "chosen": [submission.pk for submission in submissions]} | values
    return client.post(
        reverse("organize:submissions", args=[site.competition.slug]), form, follow=True
    ).content.decode()


def test_what_ran_with_the_old_version_is_run_again_after_a_look_at_the_cost(site: Scenario) -> None:
    task = site.phase.tasks.get()
    old = site.score(site.submit(), 0.5)
    elsewhere = site.score(site.submit(phase=site.sealed), 0.5)
    replace(task.scoring_program)
    new = site.score(site.submit(), 0.4)
    organizer = user_client(site.organizer)
    page = data_page(organizer, site)
    assert "1 submission ran with earlier versions" in page
    assert re.findall(r'name="chosen" value="(\d+)"', page) == [str(old.pk)]
    assert "They used" in run_again(organizer, site, old)
    old.refresh_from_db()
    assert old.status == State.FINISHED, "nothing has happened yet"
    assert "1 of 1 queued again" in run_again(organizer, site, old, confirmed="yes")
    states = {submission.pk: Submission.objects.get(pk=submission.pk).status for submission in (old, new, elsewhere)}
    assert states == {old.pk: State.QUEUED, new.pk: State.FINISHED, elsewhere.pk: State.FINISHED}
    site.now += timedelta(minutes=1)  # the site's clock went on meanwhile
    again = site.score(old, 0.3)
    assert (
        again.runs.get().receipt["inputs"]["scoring_program"]
        == f"sha256:{Task.objects.get(pk=task.pk).scoring_program.file_id}"
    )
    assert "Every submission ran with the present programs and data" in data_page(organizer, site)


def test_predictions_are_outdated_by_what_scores_them_and_code_by_everything(site: Scenario) -> None:
    prediction = site.score(site.submit(), 0.5)
    code = site.score(site.submit(kind=Kind.CODE), 0.4)
    assert outdated() == set()
    replace(site.phase.tasks.get().input_data)
    assert outdated() == {code.pk}
    replace(site.phase.tasks.get().reference_data)
    assert outdated() == {prediction.pk, code.pk}


def test_phases_as_on_codabench_run_their_ingestion_program_for_results_too(site: Scenario) -> None:
    submission = site.score(site.submit(), 0.5)
    Phase.objects.filter(pk=site.phase.pk).update(as_on_codabench=True)
    replace(site.phase.tasks.get().input_data)
    assert outdated() == {submission.pk}


def test_a_version_that_was_taken_back_is_the_same_again(site: Scenario) -> None:
    task = site.phase.tasks.get()
    before = task.scoring_program
    submission = site.score(site.submit(), 0.5)
    fresh = replace(before)
    assert outdated() == {submission.pk}
    resource_replace(resource=fresh, file=before.file, file_name="old.zip")
    assert outdated() == set()


def test_a_program_that_was_added_or_taken_away_counts_as_another_one(site: Scenario) -> None:
    submission = site.score(site.submit(), 0.5)
    Task.objects.filter(pk=site.phase.tasks.get().pk).update(reference_data=None)
    assert outdated() == {submission.pk}


def test_what_stands_on_no_board_is_left_alone(site: Scenario) -> None:
    cancelled, waiting = site.submit(), site.submit(team=site.join())
    submission_cancel(submission=cancelled, actor="x", now=site.now)
    gone = site.score(waiting, 0.5)
    submission_disqualify(submission=gone, reason="against the rules", now=site.now)
    replace(site.phase.tasks.get().scoring_program)
    site.submit()
    assert outdated() == set()


def test_organizers_of_other_competitions_reach_none_of_it(site: Scenario) -> None:
    submission, elsewhere = site.score(site.submit(), 0.5), scenario()
    replace(site.phase.tasks.get().scoring_program)
    for visitor in (user_client(elsewhere.organizer), user_client(site.member()), Client()):
        run_again(visitor, site, submission, confirmed="yes")
        run_again(visitor, elsewhere, submission, confirmed="yes")
        assert Submission.objects.get(pk=submission.pk).status == State.FINISHED
    assert "Every submission ran with the present" in data_page(user_client(elsewhere.organizer), elsewhere)
