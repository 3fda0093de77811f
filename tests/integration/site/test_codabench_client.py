"""Codabench's published client, unchanged, against this site: from Python and command line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from codabench import CodabenchClient, CodabenchError, collect_files, find_phase, primary_metric, save_description
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Competition, Format, Page, Phase
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.runs.models import RunOutput
from competitions.submissions.models import Submission
from tests.background import background_running, run_background
from tests.bundle_files import packed, second, write
from tests.scenario import Scenario, person, resource, scenario, zip_bytes

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "x"  # of everybody in a scenario
QUIET: dict[str, Any] = {"progress": lambda *_: None}


@pytest.fixture
def site() -> Scenario:
    """A competition with a page, starting kit and programs, whose open phase suits Codabench's client."""
    site = scenario(now=timezone.now())
    Phase.objects.filter(pk=site.sealed.pk).update(closes_at=site.now - timedelta(days=1))
    Phase.objects.filter(pk=site.phase.pk).update(
        as_on_codabench=True,
        accepts_code=True,
        prediction_format=None,
        starting_kit=resource(site.organizer, Resource.Kind.STARTING_KIT, zip_bytes({"readme.txt": "Start here."})),
    )
    Competition.objects.filter(pk=site.competition.pk).update(make_programs_available=True)
    Page.objects.create(
        competition=site.competition, title="Overview", body="# What it is about", format=Format.MARKDOWN
    )
    for user in (site.member(), site.organizer):
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return site


@pytest.fixture
def url(live_server: Any) -> Iterator[str]:
    with background_running():
        yield f"{live_server.url}/"


def codabench_client(url: str, user: User) -> Any:
    return CodabenchClient(base_url=url, username=user.username, password=PASSWORD)


def scored(site: Scenario, number: int, value: float) -> Submission:
    """The submission once a worker has scored it, with what it left."""
    run_background()  # or the check beside may end later than the claim
    site.now = timezone.now()
    submission = site.score(Submission.objects.get(pk=number), value)
    run = submission.runs.get()
    RunOutput.objects.create(
        run=run, attempt=run.attempt, name="predictions.zip", file=store_bytes(zip_bytes({"answer.txt": "1"}))
    )
    return submission


def sent(site: Scenario, client: Any, folder: Path) -> int:
    """The number of a submission that the client has sent, checked and ready for a worker."""
    phase = find_phase(client.competition(site.competition.pk))
    assert phase["id"] == site.phase.pk, "the one that is open"
    client.can_submit(phase["id"])
    path = folder / "submission.zip"
    path.write_bytes(zip_bytes({"answer.txt": "1"}))
    number = int(client.submit(phase["id"], path, **QUIET)["id"])
    while client.submission(number)["status"] == "Submitting":
        time.sleep(0.1)  # the check of the file goes on beside
    return number


def test_whoever_has_no_account_reads_a_competition(site: Scenario, url: str, tmp_path: Path) -> None:
    client = CodabenchClient(base_url=url, env_path=str(tmp_path / "none"))
    (row,) = client.list_competitions(search=site.competition.title)
    competition = client.competition(row["id"])
    assert client.list_competitions(search="no such title") == []
    assert primary_metric(competition)["key"] == "mae"
    names = {path.name for path in save_description(competition, tmp_path / "text")}
    assert {"description.md", "00-overview.md"} <= names
    assert {file.type for file in collect_files(competition)} == {"starting_kit", "scoring_program"}
    assert client.leaderboard(primary_metric(competition)["leaderboard_id"])["submissions"] == []


def test_a_participant_submits_reads_the_score_and_downloads_everything(
    site: Scenario, url: str, tmp_path: Path
) -> None:
    client = codabench_client(url, site.member())
    number = sent(site, client, tmp_path)
    scored(site, number, 0.25)
    assert client.wait_for_submission(number, interval=1, timeout=60, **QUIET)["status"] == "Finished"
    results = client.results(number)
    assert (results["metrics"], results["primary"]) == ({"MAE": 0.25}, {"metric": "MAE", "score": 0.25})
    assert [submission["id"] for submission in client.list_submissions(site.phase.pk)] == [number]
    assert client.pick_submission(site.phase.pk)["id"] == number
    assert (client.download_artifact(number, "submission", tmp_path / "out") / "answer.txt").read_text() == "1"
    assert (client.download_artifact(number, "prediction", tmp_path / "out") / "answer.txt").read_text() == "1"
    assert client.download_artifact(number, "scoring", tmp_path / "out") is None
    (row,) = client.leaderboard(site.phase.leaderboard.pk)["submissions"]
    assert (row["owner"], row["scores"][0]["score"]) == (site.team.name, "0.2500")
    for file in collect_files(client.competition(site.competition.pk)):
        assert any(client.download_dataset(file.key, tmp_path / "files", file.filename).iterdir())
    labels = site.phase.tasks.get().reference_data
    assert labels is not None
    assert client.download_dataset(str(labels.key), tmp_path / "files") is None


def test_a_service_account_runs_its_submission_again_on_a_task(site: Scenario, url: str, tmp_path: Path) -> None:
    client = codabench_client(url, person(is_robot=True))
    number = sent(site, client, tmp_path)
    scored(site, number, 0.25)
    key = str(site.phase.tasks.get().key)
    again = client.rerun_submission(number, key)
    assert client.submission(again["id"])["task"]["key"] == key
    with pytest.raises(CodabenchError):
        codabench_client(url, site.member()).rerun_submission(number, key)


def test_an_organizer_makes_a_competition_of_a_bundle(site: Scenario, url: str, tmp_path: Path) -> None:
    bundle = packed(write(tmp_path / "bundle", second()), tmp_path / "bundle.zip")
    answer = codabench_client(url, site.organizer).create_competition(bundle, interval=1, timeout=30, **QUIET)
    assert Competition.objects.get(pk=answer["competition_id"]).title == "Small"


def test_the_command_line_shows_lists_submits_and_fetches(site: Scenario, url: str, tmp_path: Path) -> None:
    (tmp_path / "s.zip").write_bytes(zip_bytes({"answer.txt": "1"}))
    number = str(site.competition.pk)
    account = {"CODABENCH_USERNAME": site.member().username, "CODABENCH_PASSWORD": PASSWORD}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "codabench", *arguments, "--url", url]
        done = subprocess.run(
            command, env=os.environ | account, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert site.competition.title in run("competitions", "--search", site.competition.title)
    assert "What it is about" in run("show", number, "--pages")
    run("files", number, "--out-dir", "files")
    assert list((tmp_path / "files").rglob("readme.txt"))
    run("submit", number, "--zip", "s.zip")
    scored(site, Submission.objects.get(phase=site.phase).pk, 0.5)
    run("outputs", number, "--out-dir", "outputs")
    assert list((tmp_path / "outputs").rglob("details.json"))
