"""Boards that grow by algorithms and by data sets: joining, filling, ranks, limits, withdrawal."""

from __future__ import annotations

import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from competitions.catalog.impact import phase_impact
from competitions.catalog.models import Phase, Task
from competitions.catalog.readiness import competition_warnings
from competitions.leaderboards.columns import DATASETS_PER_PAGE
from competitions.leaderboards.export import csv_lines
from competitions.leaderboards.filling import FILLING_PRIORITY, cells_queue
from competitions.leaderboards.models import Cell, Entry, Leaderboard
from competitions.leaderboards.services import board_rebuild
from competitions.refusals import InvalidFile, NotAllowed
from competitions.resources.storage import local_copy
from competitions.submissions import dispatch, reconciler, refusals
from competitions.submissions.datasets import dataset_join, dataset_withdraw, datasets_join, name_of
from competitions.submissions.jobs import job_for
from competitions.submissions.models import Dataset, Run, Submission
from competitions.submissions.quota import allowances
from competitions.submissions.services import (
    submission_cancel,
    submission_disqualify,
    submission_reinstate,
    submission_rerun,
)
from competitions.submissions.states import State
from competitions.teams.merging import merge_accept, merge_propose
from competitions.teams.models import Team
from tests.growing import DATASET, board_of, grow, joined, order, reconcile, settle, submit_code, submit_dataset, work
from tests.worlds import World

OWN = "Task test-dev"


@pytest.fixture
def site(site: World) -> World:
    """The site's own team is "Ada"; "Ben" and "Cay" take part beside it."""
    grow(site)
    Team.objects.filter(pk=site.team.pk).update(name="Ada")
    site.team.refresh_from_db()
    site.join("Ben")
    site.join("Cay")
    return site


@pytest.fixture
def three(site: World) -> World:
    """Three algorithms: Ada 0.1, Ben 0.2, Cay 0.3 on the organizers' data set."""
    for team in site.teams:
        submit_code(site, team)
    settle(site, {("Ada", OWN): 0.1, ("Ben", OWN): 0.2, ("Cay", OWN): 0.3})
    return site


def cells(**fields: Any) -> Any:
    return Run.objects.filter(fills_board=True, **fields)


def test_a_data_set_joins_once_after_its_check_and_is_divided(site: World) -> None:
    made = submit_dataset(site)
    assert [run.task.name for run in made.runs.all()] == ["Check"]
    assert datasets_join(now=site.now) == 0
    work(site, {})
    assert (datasets_join(now=site.now), datasets_join(now=site.now)) == (1, 0)
    task = Dataset.objects.get().task
    like = site.phase.tasks.get()
    assert (task.scoring_program, task.ingestion_program, task.name) == (
        like.scoring_program,
        like.ingestion_program,
        "mine",
    )
    assert task not in site.phase.tasks.all()
    for resource, names in ((task.input_data, ["rows.csv"]), (task.reference_data, ["labels.csv"])):
        assert resource is not None
        assert resource.owner == like.scoring_program.owner
        with local_copy(resource.file) as path, zipfile.ZipFile(path) as archive:
            assert archive.namelist() == names


@pytest.mark.parametrize(
    ("description", "file_name", "name"),
    [
        ("Soil  of\nmeadows", "a.zip", "Soil of meadows"),
        ("", "wine.zip", "wine"),
        (f"{'word ' * 11}and, one more", "a.zip", f"{' '.join(['word'] * 11)}…"),
        ("x" * 100, "a.zip", f"{'x' * 59}…"),
    ],
)
def test_a_data_set_is_called_by_its_description_else_by_its_file(description: str, file_name: str, name: str) -> None:
    assert name_of(Submission(description=description, file_name=file_name)) == name


def test_a_data_set_is_no_row_and_does_not_join_when_its_check_fails(site: World) -> None:
    submit_dataset(site)
    work(site, {("Ada", "Check"): "program_error"})
    assert reconcile(site) == (0, 0, 0)
    submit_dataset(site, name="better")
    settle(site, {})
    assert Dataset.objects.get().name == "better"
    assert not Entry.objects.exists()


@pytest.mark.parametrize("missing", ["input_data", "reference_data"])
def test_a_data_set_without_one_of_its_folders_is_refused_and_costs_nothing(site: World, missing: str) -> None:
    files = {f"inner/{name}" if name.startswith(missing) else name: text for name, text in DATASET.items()}
    with pytest.raises(InvalidFile, match=f"no files in {missing}/ at its top level") as refused:
        submit_dataset(site, files=files)
    assert refused.value.stable_code == f"no_{missing}"
    assert not Submission.objects.exists()


def test_every_algorithm_that_counts_is_run_on_every_data_set_once(three: World) -> None:
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


def test_what_does_not_count_is_not_run(three: World) -> None:
    submit_code(three, three.teams[0])  # worse than the team's best
    work(three, {}, 0.9)
    second = submit_code(three, three.teams[1])
    work(three, {}, 0.01)
    submission_disqualify(submission=second, reason="no", now=three.now)
    joined(three)
    reconcile(three)
    assert {run.submission.runs.get(fills_board=False).scores["mae"] for run in cells()} == {0.1, 0.2, 0.3}


def test_what_no_longer_counts_leaves_the_queue_and_comes_back(three: World) -> None:
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


def test_a_running_cell_of_a_withdrawn_data_set_is_stopped(three: World) -> None:
    dataset = joined(three)
    reconcile(three)
    run = dispatch.run_claim(worker=three.worker(), free_gpus=0, now=three.now)
    assert run is not None
    dataset_withdraw(submission=dataset.submission, by=three.member(), now=three.now)
    reconcile(three)
    run.refresh_from_db()
    assert run.cancel_requested_at is not None
    assert not cells(state=State.QUEUED).exists()


def test_a_row_stays_while_its_cells_run_and_after_they_failed(three: World) -> None:
    joined(three, name="hard")
    reconcile(three)
    before = order(three)
    assert len(before) == 3
    made = Submission.objects.get(runs__in=cells(submission__team=three.teams[1]))
    charged = allowances(team_id=three.teams[1].pk, phase=Phase.objects.get(pk=three.phase.pk), now=three.now)
    settle(three, {("Ben", "hard"): "time_limit"})
    made.refresh_from_db()
    assert (made.status, made.reason, made.is_charged) == (State.FINISHED, "", True)
    assert len(order(three)) == 3
    assert allowances(team_id=three.teams[1].pk, phase=three.phase, now=three.now) == charged


def test_ranks_are_averages_over_data_sets_and_wait_until_all_have_run(three: World) -> None:
    assert order(three) == [("Ada", 1), ("Ben", 2), ("Cay", 3)]
    owner = three.join("Dan")  # no algorithm, only a data set
    joined(three, owner, name="new")
    reconcile(three)
    scores = {("Ada", "new"): 0.9, ("Ben", "new"): 0.2, ("Cay", "new"): 0.1}
    work(three, scores, limit=2)
    reconcile(three)
    assert order(three) == [("Ada", 1), ("Ben", 2), ("Cay", 3)], "nobody is behind for a cell that was not run yet"
    settle(three, scores)
    assert order(three) == [("Ada", 2), ("Ben", 2), ("Cay", 2)]


def test_a_failed_cell_is_behind_all_and_one_that_the_platform_failed_is_waited_for(three: World) -> None:
    joined(three, three.join("Dan"), name="new")
    reconcile(three)
    scores: dict[tuple[str, str], float | str] = {
        ("Ada", "new"): "memory_limit",
        ("Ben", "new"): 0.1,
        ("Cay", "new"): 0.2,
    }
    run = cells(submission__team=three.teams[2]).get()
    Run.objects.filter(pk=run.pk).update(state=State.FAILED, reason="infrastructure")
    settle(three, scores)
    assert Dataset.objects.get().counts_from is None
    submission_rerun(submission=run.submission, actor="o", now=three.now)
    settle(three, scores | {("Cay", OWN): 0.3})
    assert Dataset.objects.get().counts_from is not None
    assert order(three) == [("Ben", 1.5), ("Ada", 2), ("Cay", 2.5)]


def test_whoever_comes_later_gains_nothing_by_cells_that_are_missing(three: World) -> None:
    joined(three, three.join("Dan"), name="new")
    settle(three, {("Ada", "new"): 0.1, ("Ben", "new"): 0.2, ("Cay", "new"): 0.3})
    late = three.join("Eve")
    submit_code(three, late)
    work(three, {("Eve", OWN): 0.05})
    assert dict(order(three))["Eve"] == 2.5  # first of 4 on the own data set, behind all three on the other
    settle(three, {("Eve", "new"): 0.05})
    assert order(three)[0] == ("Eve", 1)


def test_a_team_s_own_data_set_counts_for_others_alone(three: World) -> None:
    joined(three, three.teams[2], name="of Cay")
    settle(three, {("Ada", "of Cay"): 0.4, ("Ben", "of Cay"): 0.3, ("Cay", "of Cay"): 0.0})
    assert order(three) == [("Ada", 1.5), ("Ben", 1.5), ("Cay", 3)]
    rows = Client().get(reverse("api:leaderboard", args=[three.competition.slug, three.phase.slug])).json()["rows"]
    assert {row["team"]: row["cells"][0]["is_own"] for row in rows} == {"Ada": False, "Ben": False, "Cay": True}


def test_the_order_in_which_cells_end_makes_no_difference(three: World) -> None:
    joined(three, three.join("Dan"), name="one")
    joined(three, three.join("Eve"), name="two")
    reconcile(three)
    scores = {("Ada", "one"): 0.3, ("Ben", "one"): 0.2, ("Cay", "one"): 0.1, ("Ada", "two"): 0.2, ("Ben", "two"): 0.1}
    for run in cells().order_by("-pk"):  # by their random numbers
        Run.objects.filter(pk=run.pk).update(not_before=three.now + timedelta(days=1))
        dispatch_one(three, run, scores)
    settle(three, scores)
    means = {"Ada": (1 + 3 + 2) / 3, "Ben": (2 + 2 + 1) / 3, "Cay": (3 + 1 + 3) / 3}
    assert dict(order(three)) == {name: round(mean, 4) for name, mean in means.items()}


def dispatch_one(site: World, run: Run, scores: Any) -> None:
    Run.objects.filter(pk=run.pk).update(not_before=site.now, priority=100)
    work(site, scores, limit=1)


def test_a_withdrawn_and_a_disqualified_data_set_leave_the_board_and_ranks_are_made_anew(three: World) -> None:
    for number, team in enumerate(three.teams[:2]):
        joined(three, team, name=f"set {number}")
    settle(three, {("Ada", "set 1"): 0.9, ("Ben", "set 0"): 0.9, ("Cay", "set 0"): 0.1, ("Cay", "set 1"): 0.1})
    assert order(three) == [("Ada", 1.5), ("Cay", 1.6667), ("Ben", 2)]
    second = Dataset.objects.get(name="set 1").submission
    submission_disqualify(submission=second, reason="copied", now=three.now)
    assert order(three) == [("Ada", 1), ("Ben", 2), ("Cay", 2)]
    dataset_withdraw(submission=Dataset.objects.get(name="set 0").submission, by=three.member(), now=three.now)
    assert order(three) == [("Ada", 1), ("Ben", 2), ("Cay", 3)]
    submission_reinstate(submission=second)
    settle(three, {})
    assert order(three) == [("Ada", 1.5), ("Ben", 2), ("Cay", 2)]


def test_only_the_team_withdraws_and_only_until_the_end(three: World) -> None:
    made = joined(three).submission
    with pytest.raises(NotAllowed):
        dataset_withdraw(submission=made, by=three.member(three.teams[1]), now=three.now)
    assert three.phase.closes_at is not None
    with pytest.raises(refusals.StaysAfterTheEnd):
        dataset_withdraw(submission=made, by=three.member(), now=three.phase.closes_at)
    dataset_withdraw(submission=made, by=three.member(), now=three.now)
    with pytest.raises(refusals.DatasetWithdrawn):
        dataset_withdraw(submission=made, by=three.member(), now=three.now)
    with pytest.raises(refusals.NotADataset):
        dataset_withdraw(submission=submit_code(three), by=three.member(), now=three.now)


def test_a_team_has_so_many_data_sets_and_withdrawing_gives_no_place_back(site: World) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(max_datasets_per_team=2, max_datasets=3)
    site.phase.refresh_from_db()
    first = joined(site, name="a").submission
    submit_dataset(site, name="b")
    with pytest.raises(refusals.NoPlaceForDataset, match="2 data sets of a team"):
        submit_dataset(site, name="c")
    dataset_withdraw(submission=first, by=site.member(), now=site.now)
    with pytest.raises(refusals.NoPlaceForDataset):
        submit_dataset(site, name="c")
    submit_dataset(site, site.teams[1], name="d")
    submit_dataset(site, site.teams[1], name="e")
    with pytest.raises(refusals.NoPlaceForDataset, match="3 data sets in all"):
        submit_dataset(site, site.teams[2], name="f")


def test_a_checked_data_set_waits_for_a_place(site: World) -> None:
    first, second = submit_dataset(site, name="a"), submit_dataset(site, site.teams[1], name="b")
    work(site, {})
    Phase.objects.filter(pk=site.phase.pk).update(max_datasets=1)
    assert (datasets_join(now=site.now), datasets_join(now=site.now)) == (1, 0)
    assert dataset_join(submission=Submission.objects.get(pk=second.pk), now=site.now) is None
    submission_disqualify(submission=first, reason="no", now=site.now)
    assert datasets_join(now=site.now) == 1


def test_running_a_data_set_again_adds_no_second_column(three: World) -> None:
    made = joined(three).submission
    settle(three, {})
    submission_rerun(submission=made, actor="o", now=three.now)
    settle(three, {})
    assert Dataset.objects.count() == 1


def test_nobody_cancels_the_cells_of_an_algorithm(three: World) -> None:
    joined(three)
    reconcile(three)
    made = Entry.objects.get(team=three.team).score.submission
    with pytest.raises(refusals.AlreadyEnded):
        submission_cancel(submission=made, actor="m", now=three.now)
    assert cells(submission=made).get().state == State.QUEUED


def test_filling_comes_after_every_submission_and_is_nobody_s_turn(three: World) -> None:
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


def test_labels_are_mounted_for_scoring_alone(three: World) -> None:
    dataset = joined(three, three.teams[1])
    reconcile(three)
    run = dispatch.run_claim(worker=three.worker(), free_gpus=0, now=three.now)
    assert run is not None
    assert run.task == dataset.task
    assert run.task.reference_data is not None
    stages = {stage["name"]: stage for stage in job_for(run)["stages"]}
    digests = {
        name: {mount["file"]["sha256"] for mount in stage["mounts"] if "file" in mount}
        for name, stage in stages.items()
    }
    assert run.task.reference_data.file_id in digests["scoring"]
    assert run.task.reference_data.file_id not in digests["ingestion"]
    assert all(dataset.submission.file_id not in found for found in digests.values()), (
        "the file that holds both is given to nobody"
    )


def test_a_merged_team_has_its_data_sets_as_its_own(three: World) -> None:
    joined(three, three.teams[2], name="of Cay")
    settle(three, {("Ada", "of Cay"): 0.4, ("Ben", "of Cay"): 0.3})
    proposal = merge_propose(team=three.teams[1], by=three.teams[1].captain, other_name="Cay", now=three.now)
    merge_accept(proposal=proposal, by=three.teams[2].captain, now=three.now)
    assert order(three) == [("Ada", 1), ("Ben", 2)]


def test_a_row_that_was_not_run_yet_stays_in_the_board_sorted_by_that_data_set(three: World) -> None:
    dataset = joined(three)
    reconcile(three)
    key = f"mae@{dataset.task_id}"
    assert Cell.objects.filter(key=key).count() == 3
    work(three, {}, limit=1)
    answer = (
        Client().get(reverse("api:leaderboard", args=[three.competition.slug, three.phase.slug]), {"sort": key}).json()
    )
    assert [row["rank"] for row in answer["rows"]] == [1, None, None]
    assert [row["cells"][0]["state"] for row in answer["rows"]] == ["scored", "waiting", "waiting"]


def test_json_csv_and_page_say_how_far_each_cell_is(three: World) -> None:
    dataset = joined(three, three.teams[1], name="=new")
    settle(three, {("Ada", "=new"): "time_limit", ("Ben", "=new"): 0.25, ("Cay", "=new"): 0.125})
    answer = Client().get(reverse("api:leaderboard", args=[three.competition.slug, three.phase.slug])).json()
    (column,) = answer["datasets"]
    assert (column["task"], column["name"], column["team"]) == (dataset.task_id, "=new", "Ben")
    key = f"mae@{dataset.task_id}"
    states = {
        row["team"]: (row["cells"][0]["state"], row["cells"][0]["reason"], row["scores"].get(key))
        for row in answer["rows"]
    }
    assert states == {
        "Ada": ("failed", "time_limit", None),
        "Ben": ("scored", None, "0.2500"),
        "Cay": ("scored", None, "0.1250"),
    }
    lines = list(csv_lines(board_of(three)))
    assert f"{key} =new" in lines[0]
    assert sorted(line.split(",")[-6] for line in lines[1:]) == ["0.1250", "0.2500", "failed"]
    page = Client().get(reverse("web:leaderboard", args=[three.competition.slug])).content.decode()
    assert "over the time limit: behind all" in page
    assert "it does not count for its rank" in page


def test_pages_cost_the_same_with_one_data_set_and_with_many(three: World) -> None:
    Phase.objects.filter(pk=three.phase.pk).update(max_datasets=200, max_datasets_per_team=200)
    three.phase.refresh_from_db()
    joined(three, name="first")
    settle(three, {})
    client = Client()
    client.force_login(three.member())
    url = reverse("web:leaderboard", args=[three.competition.slug])
    counts = []
    for names in ([], [f"set {number}" for number in range(DATASETS_PER_PAGE + 4)]):
        for name in names:
            submit_dataset(three, name=name)
        settle(three, {})
        with CaptureQueriesContext(connection) as queries:
            page = client.get(url).content.decode()
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 8
    assert f"Submitted data sets 1 to 20 of {DATASETS_PER_PAGE + 5}" in page
    second = client.get(url, {"sets": "2", "sort": f"mae@{Dataset.objects.order_by('pk')[0].task_id}"}).content.decode()
    assert "Submitted data sets 21 to 25 of 25" in second
    assert client.get(url, {"sets": "9" * 18}).status_code == 200
    assert client.get(url, {"sets": "x"}).status_code == 200


def test_the_submission_s_page_tells_of_the_data_set_and_of_the_cells(three: World) -> None:
    dataset = joined(three)
    client = Client()
    client.force_login(three.member())
    page = client.get(reverse("web:submission", args=[dataset.submission_id])).content.decode()
    assert "0 of 3 algorithms have been run on it" in page
    settle(three, {})
    made = Entry.objects.get(team=three.team).score.submission
    run = cells(submission=made).get()
    address = reverse("web:submission", args=[made.pk])
    page = client.get(address).content.decode()
    assert "On submitted data sets" in page
    assert f'id="run-{run.pk}"' not in page
    assert f'id="run-{run.pk}"' in client.get(address, {"run": str(run.pk)}).content.decode()
    withdrawn = client.post(reverse("web:submission-withdraw", args=[dataset.submission_id]), follow=True)
    assert "no longer on the board" in withdrawn.content.decode()
    again = client.post(reverse("api:submission-withdraw", args=[dataset.submission_id]))
    assert (again.status_code, again.json()["code"]) == (409, "dataset_withdrawn")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"visibility": "sealed"}, "visibility"),
        ({"accepts_predictions": True}, "accepts_code"),
        ({"accepts_datasets": False}, "accepts_code"),
        ({"as_on_codabench": True}, "accepts_code"),
    ],
)
def test_what_a_growing_board_cannot_be_is_refused(site: World, changes: dict[str, Any], field: str) -> None:
    for name, value in changes.items():
        setattr(site.phase, name, value)
    with pytest.raises(ValidationError) as refused:
        site.phase.full_clean()
    assert list(refused.value.message_dict) == [field]


def test_data_sets_that_wait_for_algorithms_are_named(site: World) -> None:
    joined(site, name="wine & cheese")
    page = Client().get(reverse("web:leaderboard", args=[site.competition.slug])).content.decode()
    assert "Data sets that wait for algorithms: wine &amp; cheese." in page


def test_a_submitted_data_set_is_not_offered_as_a_task_of_the_phase(three: World) -> None:
    dataset = joined(three)
    client = Client()
    client.force_login(three.organizer)
    page = client.get(reverse("admin:catalog_phase_change", args=[three.phase.pk])).content.decode()
    assert f'<option value="{three.phase.tasks.get().pk}" selected>' in page
    assert f'<option value="{dataset.task_id}"' not in page


def test_a_growing_phase_gets_no_sealed_board(site: World) -> None:
    board = board_of(site)
    board.visibility = "sealed"
    with pytest.raises(ValidationError, match="cannot be sealed"):
        board.full_clean()


def test_what_is_run_tells_nothing_of_a_board_that_teams_do_not_see(three: World) -> None:
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


def test_nothing_is_queued_for_what_stopped_to_count_meanwhile(three: World) -> None:
    dataset = joined(three)
    made = Entry.objects.get(team=three.team).score.submission
    submission_disqualify(submission=made, reason="no", now=three.now)
    assert cells_queue(submission_id=made.pk, tasks=[dataset.task_id], now=three.now) == 0


def test_what_failed_on_a_data_set_is_run_again_alone(three: World) -> None:
    dataset = joined(three, three.join("Dan"), name="new")
    settle(three, {("Ada", "new"): "scoring_error", ("Ben", "new"): 0.1, ("Cay", "new"): 0.2})
    assert order(three)[0] == ("Ben", 1.5)
    client = Client()
    client.force_login(three.organizer)
    url = reverse("admin:submissions_dataset_changelist")
    client.post(url, {"action": "rerun_failed", "_selected_action": [dataset.pk]})
    (again,) = cells(state=State.QUEUED)
    assert again.submission.team.name == "Ada"
    assert again.submission.status == State.FINISHED
    three.now += timedelta(minutes=1)
    settle(three, {("Ada", "new"): 0.05})
    assert order(three)[0] == ("Ada", 1)


def test_the_organizer_is_told_what_filling_costs(three: World) -> None:
    phase = Phase.objects.get(pk=three.phase.pk)
    (sentence,) = phase_impact(phase, {"max_datasets": 10, "time_limit_s": 3000}, three.now)[-1:]
    assert "now 3: at most 3,600 s a run, 3.0 hours a data set, 30.0 hours for all 10." in sentence
    client = Client()
    client.force_login(three.organizer)
    page = client.get(reverse("admin:catalog_phase_change", args=[phase.pk])).content.decode()
    assert "hours for all 50" in page


def test_a_board_without_an_average_rank_is_warned_of(three: World) -> None:
    def codes() -> set[str]:
        return {warning.code for warning in competition_warnings(three.competition)}

    assert not codes() & {"no_average_rank", "check_is_a_task"}
    three.phase.tasks.add(Task.objects.get(name="Check"))
    board_of(three).columns.filter(key="rank").delete()
    assert {"no_average_rank", "check_is_a_task"} <= codes()


def test_a_round_of_the_reconciler_joins_fills_and_counts(three: World) -> None:
    submit_dataset(three)
    work(three, {})
    first = reconciler.reconcile(now=three.now).further
    assert (first["datasets_joined"], first["boards_filled"], first["datasets_count"]) == (1, 3, 0)
    work(three, {})
    assert reconciler.reconcile(now=three.now).further["datasets_count"] == 1
    idle = reconciler.reconcile(now=three.now).further
    assert (idle["datasets_joined"], idle["boards_filled"], idle["datasets_count"]) == (0, 0, 0)
