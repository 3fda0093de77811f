"""Solutions come with bundles, run as submissions of nobody's team, and stay with organizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from competitions.bundles.importing.importer import bundle_import
from competitions.catalog.models import Competition, Phase, Solution, Task
from competitions.leaderboards.models import Entry
from competitions.organize.views.editing.data import solution_rows
from competitions.resources.models import Resource
from competitions.runs.refusals import SOLUTION_OF_OTHER_TASKS
from competitions.runs.reruns import solution_run, submission_repeat
from competitions.submissions.access import open_to_robot
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from files.bundles.samples import check_bundle
from tests.background import check_files
from tests.bundle_files import FILES, changed, second, write
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import FILE_NAME, NOON, Scenario, person, prediction_bytes, resource

pytestmark = pytest.mark.django_db
SECRET = "the right answer"
OWN = FILES | {"solution/answers.txt": SECRET}
SOLUTIONS = [{"index": 0, "tasks": [0], "path": "solution", "name": "Nearest neighbour", "description": "Good enough."}]


def imported(site: Scenario, folder: Path, files: dict[str, Any] = OWN, **data: Any) -> Competition:
    source = write(folder, second() | {"solutions": SOLUTIONS} | data, files)
    return bundle_import(source=source, owner=site.organizer, queue=site.queue, now=NOON).competition


def with_solution(site: Scenario) -> Solution:
    """The predictions of the scenario's phase as a solution."""
    file = resource(site.organizer, Resource.Kind.SOLUTION, prediction_bytes())
    Resource.objects.filter(pk=file.pk).update(file_name=FILE_NAME)
    solution = Solution.objects.create(
        competition=site.competition, name="Nearest", resource=Resource.objects.get(pk=file.pk)
    )
    solution.tasks.set(site.phase.tasks.all())
    return solution


def test_a_solution_comes_with_the_bundle_and_is_listed_to_organizers(site: Scenario, tmp_path: Path) -> None:
    competition = imported(site, tmp_path)
    solution = competition.solutions.get()
    assert (solution.name, solution.description) == ("Nearest neighbour", "Good enough.")
    assert [task.name for task in solution.tasks.all()] == ["First"]
    page = body_text(user_client(site.organizer).get(reverse("organize:data", args=[competition.slug])))
    assert "Nearest neighbour" in page
    assert "Run this solution" in page
    file = reverse("organize:solution", args=[competition.slug, solution.pk])
    assert body_text(user_client(site.organizer).get(file)).startswith("PK")
    assert user_client(person(is_staff=True)).get(file).status_code == 404, "another organizer"


def test_a_run_of_it_is_scored_off_the_board_and_costs_nothing(site: Scenario) -> None:
    solution = with_solution(site)
    site.competition.auto_run_submissions = False
    site.competition.save()
    path = reverse("organize:solution-run", args=[site.competition.slug, solution.pk])
    answer = user_client(site.organizer).post(path, {"phase": site.phase.pk}, follow=True)
    assert "seen by organizers alone" in body_text(answer)
    submission = Submission.objects.get(solution=solution)
    check_files(at=site.now)
    submission.refresh_from_db()
    assert submission.status == State.QUEUED, "an organizer has started it"
    site.score(submission, 0.0)
    assert (submission.status, submission.is_charged) == (State.FINISHED, False)
    assert not Entry.objects.filter(score__submission=submission).exists()
    listed = body_text(user_client(site.organizer).get(reverse("organize:data", args=[site.competition.slug])))
    assert f"#{submission.pk}" in listed


def test_nobody_but_organizers_sees_a_run_of_it(site: Scenario) -> None:
    solution = with_solution(site)
    first, second_run = (
        solution_run(solution=solution, phase=site.phase, by=site.organizer, now=site.now) for _ in range(2)
    )
    assert first.team == second_run.team
    assert [row.latest for row in solution_rows(site.competition)] == [second_run], "the newest run stands in the list"
    assert not first.team.memberships.exists()
    for path in (f"/submissions/{first.pk}/", f"/submissions/{first.pk}/file/"):
        assert user_client(site.member()).get(path).status_code == 404
        shown = user_client(site.organizer).get(path)
        assert shown.status_code == 200
        shown.close()
    robot = person(is_robot=True)
    Competition.objects.filter(pk=site.competition.pk).update(allow_robot_submissions=True)
    site.submit()
    assert not open_to_robot(robot).filter(solution=solution).exists(), "a service account cannot run it again"
    assert open_to_robot(robot).exists(), "control: it can run those of teams"
    site.competition.refresh_from_db()
    assert site.competition.team_count == 1, "it is not a team that takes part"


def test_what_is_run_again_of_it_stays_with_organizers_and_off_the_board(site: Scenario) -> None:
    """Also once a push has taken the solution away."""
    robot = person(is_robot=True)
    Competition.objects.filter(pk=site.competition.pk).update(allow_robot_submissions=True)
    first = solution_run(solution=with_solution(site), phase=site.phase, by=site.organizer, now=site.now)
    check_files(at=site.now)
    site.score(first, 0.0)
    for _ in range(2):
        again = submission_repeat(submission=Submission.objects.get(pk=first.pk), by=site.organizer, now=site.now)
        assert site.score(again, 0.0).status == State.FINISHED
        assert not Entry.objects.filter(score__submission=again).exists()
        assert not open_to_robot(robot).exists()
        Solution.objects.all().delete()


def test_a_phase_without_its_tasks_does_not_run_it(site: Scenario) -> None:
    with refuses(SOLUTION_OF_OTHER_TASKS, match="none of the tasks of “test-challenge”"):
        solution_run(solution=with_solution(site), phase=site.sealed, by=site.organizer, now=site.now)


def test_faults_of_solutions_are_said_with_their_place(site: Scenario, tmp_path: Path) -> None:
    wrong = [{"tasks": [7], "path": "nowhere", "name": "A"}, {"name": "A"}]
    report = check_bundle(write(tmp_path, changed("solutions", wrong), OWN))
    assert {(fault.path, fault.message) for fault in report.faults} == {
        ("solutions[0].tasks[0]", "no task that is run by phases has the index 7; there are 0"),
        ("solutions[0].path", "the bundle has no 'nowhere'"),
        ("solutions[1]", "`path` is missing; name the solution's folder or zip, or give the `key` of one"),
        ("solutions[1].name", "the name 'A' is that of another solution; give each its own"),
    }
    assert all(fault.line for fault in report.faults)


def test_a_solution_without_tasks_is_for_all_of_them(site: Scenario, tmp_path: Path) -> None:
    competition = imported(site, tmp_path, solutions=[{"path": "solution"}])
    (solution,) = competition.solutions.all()
    assert solution.name == "Solution 1"
    assert set(solution.tasks.all()) == set(
        Task.objects.filter(phases__in=Phase.objects.filter(competition=competition))
    )
