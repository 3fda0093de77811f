"""Boards that grow: which datasets join, how many, and when they leave."""

from __future__ import annotations

import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Phase
from competitions.catalog.readiness import competition_warnings
from competitions.leaderboards.growing.joining import JOINING_JOB, dataset_join, dataset_name, datasets_join
from competitions.leaderboards.models import Entry, Joining
from competitions.notifications.models import Notification
from competitions.resources.models import Resource
from competitions.resources.storage import local_copy, store_bytes
from competitions.runs.services import submission_rerun
from competitions.submissions import refusals
from competitions.submissions.datasets import dataset_withdraw
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.services import submission_disqualify, submission_reinstate
from competitions.teams.merging import merge_accept, merge_propose
from core.background import jobs
from core.refusals import InvalidFile, NotAllowed
from tests.growing import DATASET, join, joined, main_board, order, reconcile, settle, submit_code, submit_dataset, work
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person


def test_a_dataset_joins_once_after_its_check_and_is_divided(site: Scenario) -> None:
    like = site.phase.tasks.get()
    Resource.objects.filter(pk=like.scoring_program_id).update(
        owner=person()
    )  # who organized it once, or shared the program
    submission = submit_dataset(site)
    assert [run.task.name for run in submission.runs.all()] == ["Check"]
    assert join(site) == 0
    work(site, {})
    assert (datasets_join(now=site.now), join(site), join(site)) == (1, 0, 0)
    task = Dataset.objects.get().task
    assert (task.scoring_program, task.ingestion_program, task.name) == (
        like.scoring_program,
        like.ingestion_program,
        "mine",
    )
    assert task not in site.phase.tasks.all()
    for resource, names in ((task.input_data, ["rows.csv"]), (task.reference_data, ["labels.csv"])):
        assert resource is not None
        assert resource.owner == task.owner == site.organizer
        with local_copy(resource.file) as path, zipfile.ZipFile(path) as archive:
            assert archive.namelist() == names


def test_a_dataset_that_cannot_join_holds_up_no_other_and_is_given_up_until_it_is_run_again(
    site: Scenario, settings: Any
) -> None:
    damaged, whole = submit_dataset(site, name="a"), submit_dataset(site, site.teams[1], name="b")
    work(site, {})
    Submission.objects.filter(pk=damaged.pk).update(file=store_bytes(b"not a zip"))
    assert datasets_join(now=site.now) == 2
    with pytest.raises(zipfile.BadZipFile):
        jobs.perform(JOINING_JOB, damaged.pk)
    jobs.perform(JOINING_JOB, whole.pk)
    assert Dataset.objects.get().submission == whole
    waiting = Joining.objects.filter(pk=damaged.pk, needs_work=True)
    waiting.update(attempts=settings.BACKGROUND_ATTEMPTS, claimed_until=None)
    assert join(site) == 0
    assert "dataset_not_joined" in {warning.code for warning in competition_warnings(site.competition)}
    notice = Notification.objects.get(event__startswith=f"dataset-{damaged.pk}-not-joined")
    assert (notice.user, notice.path) == (site.member(), f"/submissions/{damaged.pk}/")
    page = user_client(site.member()).get(notice.path).content.decode()
    for text in (notice.text, " ".join(page.split())):
        assert "could not be put on the board because of an error on our side" in text
    assert "joins the board as soon as" not in page
    submission_disqualify(submission=damaged, reason="Copied.", now=site.now)
    assert "dataset_not_joined" not in {warning.code for warning in competition_warnings(site.competition)}
    submission_reinstate(submission=damaged, reason="It was not.", now=site.now)
    site.now += timedelta(minutes=1)
    submission_rerun(submission=damaged, actor="o", now=site.now)
    work(site, {})
    Submission.objects.filter(pk=damaged.pk).update(file=whole.file)
    assert join(site) == 1
    assert Dataset.objects.filter(submission=damaged).exists()


@pytest.mark.parametrize(
    ("description", "file_name", "name"),
    [
        ("Soil  of\nmeadows", "a.zip", "Soil of meadows"),
        ("", "wine.zip", "wine"),
        (f"{'word ' * 11}and, one more", "a.zip", f"{' '.join(['word'] * 11)}…"),
        ("x" * 100, "a.zip", f"{'x' * 59}…"),
    ],
)
def test_a_dataset_is_called_by_its_description_else_by_its_file(description: str, file_name: str, name: str) -> None:
    assert dataset_name(Submission(description=description, file_name=file_name)) == name


def test_a_dataset_is_no_row_and_does_not_join_when_its_check_fails(site: Scenario) -> None:
    submit_dataset(site)
    work(site, {("Ada", "Check"): "program_error"})
    assert reconcile(site) == (0, 0, 0)
    submit_dataset(site, name="better")
    settle(site, {})
    assert Dataset.objects.get().name == "better"
    assert not Entry.objects.exists()


@pytest.mark.parametrize("missing", ["input_data", "reference_data"])
def test_a_dataset_without_one_of_its_folders_is_refused_and_costs_nothing(site: Scenario, missing: str) -> None:
    files = {f"inner/{name}" if name.startswith(missing) else name: text for name, text in DATASET.items()}
    with pytest.raises(InvalidFile, match=f"no files in {missing}/ at its top level") as refused:
        submit_dataset(site, files=files)
    assert refused.value.code == f"no_{missing}"
    assert not Submission.objects.exists()


def test_a_withdrawn_and_a_disqualified_dataset_leave_the_board_and_ranks_are_made_anew(three: Scenario) -> None:
    for number, team in enumerate(three.teams[:2]):
        joined(three, team, name=f"set {number}")
    settle(three, {("Ada", "set 1"): 0.9, ("Ben", "set 0"): 0.9, ("Cay", "set 0"): 0.1, ("Cay", "set 1"): 0.1})
    assert order(three) == [("Ada", 1.5), ("Cay", 1.6667), ("Ben", 2)]
    second = Dataset.objects.get(name="set 1").submission
    submission_disqualify(submission=second, reason="copied", now=three.now)
    assert order(three) == [("Ada", 1), ("Ben", 2), ("Cay", 2)]
    dataset_withdraw(submission=Dataset.objects.get(name="set 0").submission, by=three.member(), now=three.now)
    assert order(three) == [("Ada", 1), ("Ben", 2), ("Cay", 3)]
    submission_reinstate(submission=second, reason="no copy", now=three.now)
    settle(three, {})
    assert order(three) == [("Ada", 1.5), ("Ben", 2), ("Cay", 2)]


def test_only_the_team_withdraws_and_only_until_the_end(three: Scenario) -> None:
    submission = joined(three).submission
    with pytest.raises(NotAllowed):
        dataset_withdraw(submission=submission, by=three.member(three.teams[1]), now=three.now)
    assert three.phase.closes_at is not None
    with refuses(refusals.STAYS_AFTER_THE_END):
        dataset_withdraw(submission=submission, by=three.member(), now=three.phase.closes_at)
    dataset_withdraw(submission=submission, by=three.member(), now=three.now)
    with refuses(refusals.DATASET_WITHDRAWN):
        dataset_withdraw(submission=submission, by=three.member(), now=three.now)
    with refuses(refusals.NOT_A_DATASET):
        dataset_withdraw(submission=submit_code(three), by=three.member(), now=three.now)


def test_a_team_has_so_many_datasets_and_withdrawing_gives_no_place_back(site: Scenario) -> None:
    Phase.objects.filter(pk=site.phase.pk).update(max_datasets_per_team=2, max_datasets=3)
    site.phase.refresh_from_db()
    first = joined(site, name="a").submission
    submit_dataset(site, name="b")
    with pytest.raises(refusals.NoPlaceForDataset, match="2 datasets per team"):
        submit_dataset(site, name="c")
    dataset_withdraw(submission=first, by=site.member(), now=site.now)
    with pytest.raises(refusals.NoPlaceForDataset):
        submit_dataset(site, name="c")
    submit_dataset(site, site.teams[1], name="d")
    submit_dataset(site, site.teams[1], name="e")
    with pytest.raises(refusals.NoPlaceForDataset, match="3 datasets in total"):
        submit_dataset(site, site.teams[2], name="f")


def test_a_checked_dataset_waits_for_a_place(site: Scenario) -> None:
    first, second = submit_dataset(site, name="a"), submit_dataset(site, site.teams[1], name="b")
    work(site, {})
    Phase.objects.filter(pk=site.phase.pk).update(max_datasets=1)
    assert (join(site), join(site)) == (1, 0)
    assert dataset_join(submission=Submission.objects.get(pk=second.pk), now=site.now) is None
    submission_disqualify(submission=first, reason="no", now=site.now)
    assert join(site) == 1


def test_running_a_dataset_again_adds_no_second_column(three: Scenario) -> None:
    submission = joined(three).submission
    settle(three, {})
    submission_rerun(submission=submission, actor="o", now=three.now)
    settle(three, {})
    assert Dataset.objects.count() == 1


def test_a_merged_team_has_its_datasets_as_its_own(three: Scenario) -> None:
    joined(three, three.teams[2], name="of Cay")
    settle(three, {("Ada", "of Cay"): 0.4, ("Ben", "of Cay"): 0.3})
    proposal = merge_propose(team=three.teams[1], by=three.teams[1].captain, other_name="Cay", now=three.now)
    merge_accept(proposal=proposal, by=three.teams[2].captain, now=three.now)
    assert order(three) == [("Ada", 1), ("Ben", 2)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"visibility": "sealed"}, "visibility"),
        ({"accepts_predictions": True}, "accepts_code"),
        ({"accepts_datasets": False}, "accepts_code"),
        ({"as_on_codabench": True}, "accepts_code"),
    ],
)
def test_what_a_growing_board_cannot_be_is_refused(site: Scenario, changes: dict[str, Any], field: str) -> None:
    for name, value in changes.items():
        setattr(site.phase, name, value)
    with pytest.raises(ValidationError) as refused:
        site.phase.full_clean()
    assert list(refused.value.message_dict) == [field]


def test_datasets_that_wait_for_algorithms_are_named(site: Scenario) -> None:
    joined(site, name="wine & cheese")
    page = Client().get(reverse("web:leaderboard", args=[site.competition.slug])).content.decode()
    assert "Datasets that wait for algorithms: wine &amp; cheese." in page


def test_a_submitted_dataset_is_not_offered_as_a_task_of_the_phase(three: Scenario) -> None:
    dataset = joined(three)
    client = Client()
    client.force_login(three.organizer)
    page = client.get(reverse("admin:catalog_phase_change", args=[three.phase.pk])).content.decode()
    assert f'name="tasks" value="{three.phase.tasks.get().pk}"' in page
    assert f'value="{dataset.task_id}"' not in page


def test_a_growing_phase_gets_no_sealed_board(site: Scenario) -> None:
    board = main_board(site)
    board.visibility = "sealed"
    with pytest.raises(ValidationError, match="cannot be sealed"):
        board.full_clean()
