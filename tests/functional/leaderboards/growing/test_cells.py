"""Growing boards: every algorithm that counts runs once on every dataset, after all submissions."""

from __future__ import annotations

from datetime import timedelta

from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.leaderboards.growing.joining import JOINING_JOB
from competitions.leaderboards.growing.missing_runs import cells_queue
from competitions.leaderboards.models import Entry
from competitions.leaderboards.services import board_rebuild
from competitions.resources.storage import store_bytes
from competitions.runs import dispatch, refusals
from competitions.runs.models import FILLING_PRIORITY, RunOutput
from competitions.runs.services import submission_cancel
from competitions.runs.worker_api.jobs import job_for
from competitions.submissions.datasets import dataset_withdraw
from competitions.submissions.services import submission_disqualify
from competitions.submissions.states import State
from core import reconciler
from tests.background import run_background
from tests.growing import cells, joined, order, reconcile, settle, submit_code, submit_dataset, work
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario


def test_every_algorithm_that_counts_is_run_on_every_dataset_once(three: Scenario) -> None:
    joined(three, three.teams[1])
    for _ in range(3):
        reconcile(three)
    assert {run.submission.team.name for run in cells()} == {"Ada", "Ben", "Cay"}
    assert cells().count() == 3
    late = three.join("Dan")
    submit_code(three, late)
    settle(three, {})
    assert cells(state=State.FINISHED, submission__team=late).count() == 1
    assert reconcile(three) == (0, 0, 0)
    assert cells().count() == 4


def test_what_does_not_count_is_not_run(three: Scenario) -> None:
    submit_code(three, three.teams[0])  # worse than the team's best
    work(three, {}, 0.9)
    second = submit_code(three, three.teams[1])
    work(three, {}, 0.01)
    submission_disqualify(submission=second, reason="no", now=three.now)
    joined(three)
    reconcile(three)
    assert {run.submission.runs.get(fills_board=False).scores["mae"] for run in cells()} == {0.1, 0.2, 0.3}


def test_what_no_longer_counts_leaves_the_queue_and_comes_back(three: Scenario) -> None:
    joined(three)
    reconcile(three)
    first = cells(submission__team=three.teams[1]).get()
    better = submit_code(three, three.teams[1])
    work(three, {}, 0.05, limit=1)
    assert Entry.objects.get(team=three.teams[1]).score.submission == better
    reconcile(three)
    first.refresh_from_db()
    assert first.state == State.CANCELLED
    assert cells(submission=better).get().state == State.QUEUED
    submission_disqualify(submission=better, reason="no", now=three.now)
    reconcile(three)
    first.refresh_from_db()
    assert (first.state, first.attempt) == (State.QUEUED, 2)
    assert cells(submission=better).get().state == State.CANCELLED


def test_a_running_cell_of_a_withdrawn_dataset_is_stopped(three: Scenario) -> None:
    dataset = joined(three)
    reconcile(three)
    run = dispatch.run_claim(worker=three.worker(), free_gpus=0, now=three.now)
    assert run is not None
    dataset_withdraw(submission=dataset.submission, by=three.member(), now=three.now)
    reconcile(three)
    run.refresh_from_db()
    assert run.cancel_requested_at is not None
    assert not cells(state=State.QUEUED).exists()


def test_nobody_cancels_the_cells_of_an_algorithm(three: Scenario) -> None:
    joined(three)
    reconcile(three)
    submission = Entry.objects.get(team=three.team).score.submission
    with refuses(refusals.ALREADY_ENDED):
        submission_cancel(submission=submission, actor="m", now=three.now)
    assert cells(submission=submission).get().state == State.QUEUED


def test_filling_comes_after_every_submission_and_is_nobody_s_turn(three: Scenario) -> None:
    joined(three)
    reconcile(three)
    worker = three.worker()
    taken = dispatch.run_claim(worker=worker, free_gpus=0, now=three.now)
    assert taken is not None
    assert (taken.fills_board, taken.priority) == (True, FILLING_PRIORITY)
    Phase.objects.filter(pk=three.phase.pk).update(priority=-5)
    three.phase.refresh_from_db()
    fresh = submit_code(three, taken.submission.team, at=three.now)
    claimed = dispatch.run_claim(worker=worker, free_gpus=0, now=three.now)
    assert claimed is not None
    assert claimed.submission == fresh


def test_labels_are_mounted_for_scoring_alone(three: Scenario) -> None:
    dataset = joined(three, three.teams[1])
    reconcile(three)
    run = dispatch.run_claim(worker=three.worker(), free_gpus=0, now=three.now)
    assert run is not None
    assert run.task == dataset.task
    assert run.task.reference_data is not None
    stages = {stage["name"]: stage for stage in job_for(run).model_dump()["stages"]}
    digests = {
        name: {mount["file"]["sha256"] for mount in stage["mounts"] if "file" in mount}
        for name, stage in stages.items()
    }
    assert run.task.reference_data.file_id in digests["scoring"]
    assert run.task.reference_data.file_id not in digests["ingestion"]
    assert all(dataset.submission.file_id not in stage_digests for stage_digests in digests.values()), (
        "the file that holds both is given to nobody"
    )


def test_what_is_run_tells_nothing_of_a_board_that_teams_do_not_see(three: Scenario) -> None:
    worse = submit_code(three)
    work(three, {}, 0.9)
    joined(three, three.join("Dan"))
    Leaderboard.objects.filter(phase=three.phase).update(is_hidden=True)
    assert reconcile(three)[1] == 0, "the best one of a hidden board"
    Leaderboard.objects.filter(phase=three.phase).update(rule="last")
    for board in Leaderboard.objects.filter(phase=three.phase):
        board_rebuild(board)
    assert reconcile(three)[1] == 3
    assert cells(submission=worse).exists(), "the last one is known to its team"


def test_nothing_is_queued_for_what_stopped_to_count_meanwhile(three: Scenario) -> None:
    dataset = joined(three)
    submission = Entry.objects.get(team=three.team).score.submission
    submission_disqualify(submission=submission, reason="no", now=three.now)
    assert cells_queue(submission_id=submission.pk, tasks=[dataset.task_id], now=three.now) == 0


def test_what_failed_on_a_dataset_is_run_again_alone(three: Scenario) -> None:
    dataset = joined(three, three.join("Dan"), name="new")
    settle(three, {("Ada", "new"): "scoring_error", ("Ben", "new"): 0.1, ("Cay", "new"): 0.2})
    assert order(three)[0] == ("Ben", 1.5)
    client = Client()
    client.force_login(three.organizer)
    url = reverse("organize:dataset-rerun", args=[three.competition.slug, dataset.submission_id])
    assert "1 failed run queued again" in client.post(url, follow=True).content.decode()
    (again,) = cells(state=State.QUEUED)
    assert again.submission.team.name == "Ada"
    assert again.submission.status == State.FINISHED
    three.now += timedelta(minutes=1)
    settle(three, {("Ada", "new"): 0.05})
    assert order(three)[0] == ("Ada", 1)


def test_a_round_of_the_reconciler_joins_fills_and_counts(three: Scenario) -> None:
    submit_dataset(three)
    work(three, {})
    first = reconciler.reconcile(now=three.now)
    assert (first["datasets_joined"], first["boards_filled"]) == (1, 0)
    run_background(at=three.now, only=JOINING_JOB)
    second = reconciler.reconcile(now=three.now)
    assert (second["datasets_joined"], second["boards_filled"], second["datasets_count"]) == (0, 3, 0)
    work(three, {})
    assert reconciler.reconcile(now=three.now)["datasets_count"] == 1
    idle = reconciler.reconcile(now=three.now)
    assert (idle["datasets_joined"], idle["boards_filled"], idle["datasets_count"]) == (0, 0, 0)


def test_detailed_results_on_another_teams_dataset_are_given_to_nobody_but_organizers(three: Scenario) -> None:
    """By the pages, the API and Codabench's addresses: they may quote that team's labels."""
    Competition.objects.filter(pk=three.competition.pk).update(enable_detailed_results=True)
    joined(three, three.teams[1])
    reconcile(three)
    settle(three, {})
    cell = cells(submission__team=three.teams[0]).get()
    labels = store_bytes(b"<p>labels of the other team: 0 1 1 0</p>")
    RunOutput.objects.create(run=cell, attempt=cell.attempt, name="detailed_results.html", file=labels)
    number, member = cell.submission_id, user_client(three.teams[0].captain)
    frame = reverse("web:submission-details", args=[number, cell.pk])
    addresses = (
        frame,
        reverse("web:submission-output", args=[number, "detailed_results.html"]) + f"?run={cell.pk}",
        f"/api/submissions/{number}/get_detail_result/",
    )
    assert [member.get(address).status_code for address in addresses] == [404, 404, 404]
    assert Client().get(addresses[-1]).status_code == 404
    assert frame not in member.get(reverse("web:submission", args=[number]) + f"?run={cell.pk}").content.decode()
    tasks = member.get(f"/api/submissions/{number}/get_details/").json()["tasks"]
    assert not any(task["detailed_result"] for task in tasks)
    assert user_client(three.organizer).get(frame).status_code == 200
