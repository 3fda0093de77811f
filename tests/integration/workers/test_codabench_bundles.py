"""Codabench and CodaLab bundles from import to score: all imports, real containers, a client."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests
from allauth.account.models import EmailAddress
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Scope, User, token_create
from competitions.catalog.models import Competition
from competitions.catalog.services import current_rules, rules_publish
from files.bundles import cli
from podium.cli import main
from tests.background import background_running
from tests.integration.workers.codabench import Client, bundle, submission
from tests.integration.workers.site import SmallSite, WorkerProcess
from tests.integration.workers.test_worker_and_site import site

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runtime_image")]
__all__ = ["site"]


# Title, phase, submission: how it ends, and its scores by column, task after task.
EXPECTED: list[tuple[str, int, str, str, dict[str, list[float]]]] = [
    ("Iris challenge", 0, "iris_code", "Finished", {"prediction_score": [1]}),
    # Its ingestion program ends with an error: there is no model.
    ("Iris challenge", 0, "iris_result", "Finished", {"prediction_score": [0.75]}),
    ("Iris challenge", 0, "iris_code_meta", "Finished", {"prediction_score": [0.5]}),
    ("Iris challenge", 0, "iris_broken", "Failed", {}),
    ("Several tasks", 0, "multi", "Finished", {"acc": [1, 1, 0.5], "ok": [1, 1, 0], "mean": [0.75], "low": [0]}),
    (
        "Several tasks",
        0,
        "multi_half",
        "Finished",
        {"acc": [0.5, 0.5, 0.25], "ok": [0, 0, 0], "mean": [0.2083333333], "low": [0.25]},
    ),
    ("Hello, old world", 0, "codalab_answer", "Finished", {"Correct": [1], "Difference": [0], "Avg": [1]}),
    ("Parallel", 1, "codalab_answer", "Finished", {"set1_score": [0.5], "set2_score": [0.25]}),
    ("Without a version", 0, "codalab_answer", "Finished", {"score %": [0.001]}),  # exact, beside 0.00 on the board
    ("Own command", 0, "code_with_command", "Finished", {"s": [10], "h": [1]}),
    ("Own command", 0, "result", "Finished", {"s": [7], "h": [1]}),
    ("Own command", 0, "code_that_writes_metadata", "Finished", {"s": [1], "h": [1]}),
    ("Own command", 0, "slow_code", "Failed", {}),
    ("During scoring", 0, "agent", "Finished", {"s": [39]}),
    ("Data submission", 0, "data_set", "Finished", {"s": [3, 6]}),
]


@pytest.fixture
def organizer(site: SmallSite) -> User:
    """An organizer who signs in by password, as their script does."""
    user = User.objects.create_user("olga", "olga@example.org", "secret", is_staff=True)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


@pytest.fixture
def robot(site: SmallSite) -> Client:
    User.objects.create_user("robby", "robby@example.org", "secret", is_robot=True)
    return Client(site.url, "robby", "secret")


@pytest.fixture
def worker(site: SmallSite, tmp_path: Path, settings: Any) -> Iterator[WorkerProcess]:
    settings.ROBOT_WAIT_S = 20  # background work is done here
    with background_running():
        started = WorkerProcess(site, tmp_path, name="w", options=("--slots", "2")).start()
        yield started
        started.end()


@pytest.fixture
def send(site: SmallSite, organizer: User, tmp_path: Path) -> Callable[..., None]:
    """Imports a bundle by `podium bundle import`, by `manage.py`, or as Codabench's scripts do."""
    token = tmp_path / "organizer.token"
    expires_at = datetime.now(UTC).replace(year=2098)
    token.write_text(token_create(user=organizer, name="t", scopes=list(Scope.values), expires_at=expires_at)[1])

    def by(way: str, name: str) -> None:
        path = tmp_path / f"{name}.zip"
        path.write_bytes(bundle(name))
        if way == "command":
            arguments = [
                "import",
                str(path),
                "--site",
                site.url,
                "--token-file",
                str(token),
                "--queue",
                site.queue.name,
            ]
            assert main(["bundle", *arguments]) == 0
        elif way == "manage":
            call_command("bundle_import", str(path), owner=organizer.username, queue=site.queue.name)
        else:
            progress = Client(site.url, organizer.username, "secret").send_bundle(path.read_bytes())
            assert progress["status"] == "Finished", progress

    return by


WAYS = {
    "iris": "command",
    "several_tasks": "script",
    "codalab_1_5": "command",
    "codalab_1_8": "manage",
    "no_version": "script",
    "own_command": "manage",
    "ingestion_during_scoring": "command",
    "data_sets": "script",
}


def texts(scores: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The shown values of each task by column, without measured ones."""
    values: dict[str, list[str]] = {}
    for score in scores:
        values.setdefault(score["column_key"], []).append(score["score"])
    values.pop("Duration", None)
    return values


def shown(scores: list[dict[str, Any]]) -> dict[str, list[float]]:
    return {key: [float(text) for text in values] for key, values in texts(scores).items()}


def test_from_import_to_score(
    robot: Client,
    worker: WorkerProcess,
    send: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli, "POLL_S", 0.01)
    printed = {}
    for name, way in WAYS.items():
        send(way, name)
        printed[name] = capsys.readouterr()
    assert "force_submission_to_leaderboard: becomes the submission rule Force_Last" in printed["codalab_1_5"].out, (
        "all of the report"
    )
    # How far an import is; a fast one may end between two questions.
    assert any(re.search(r"Storing \d of", answer.err) for answer in printed.values())
    without_terms = Competition.objects.get(title="Without a version")
    assert current_rules(without_terms) is None, "its organizer writes them first"
    rules_publish(competition=without_terms, text="Be fair.", now=timezone.now())
    Competition.objects.update(is_published=True, registration_policy="open")
    numbers = [
        robot.submit(robot.phases(title)[phase]["id"], submission(name)) for title, phase, name, _, _ in EXPECTED
    ]
    ended = [robot.ended(pk) for pk in numbers]
    results = [
        (title, phase, name, row["status"], shown(row["scores"]))
        for (title, phase, name, _, _), row in zip(EXPECTED, ended, strict=True)
    ]
    assert results == EXPECTED, [(a, b) for a, b in zip(results, EXPECTED, strict=True) if a != b]
    assert "the limit is" in ended[-3]["status_details"]
    _boards(robot)
    _ingestion_and_scoring_at_once(robot, numbers[-2])
    organizer = Client(robot.site, "olga", "secret")
    _run_again(organizer, numbers[4])
    _organizers_calls(organizer, numbers)


def _boards(robot: Client) -> None:
    """Check the rows by these bundles' rules: a computed column, the last, every one, and none."""

    def rows(title: str) -> list[dict[str, list[str]]]:
        board = robot.get(f"/api/phases/{robot.phases(title)[0]['id']}/get_leaderboard/")
        return [texts(row["scores"]) for row in board["submissions"]]

    of_each_task = {"acc": ["1.00", "1.00", "0.50"], "ok": ["1.00", "1.00", "0.00"]}
    assert rows("Several tasks") == [of_each_task | {"mean": ["0.7500"], "low": ["0.00"]}]
    assert rows("Iris challenge")[0]["prediction_score"] == ["0.50"], "Force_Last"
    assert rows("Data submission") == [{"s": ["3.00", "6.00"]}]
    assert rows("Own command") == rows("During scoring") == []


def _ingestion_and_scoring_at_once(robot: Client, pk: int) -> None:
    details = robot.get(f"/api/submissions/{pk}/get_details/")
    (log,) = details["logs"]
    assert log["name"] == "scoring_ingestion_stdout"
    text = requests.get(log["data_file"], timeout=30).text
    assert "input/ref seen False" in text, "labels are for the scoring container alone"
    assert "/app/ingested_program" in text
    assert "<p>det</p>" in requests.get(details["detailed_result"], timeout=30).text


def _run_again(organizer: Client, pk: int) -> None:
    """On one of its three tasks, as the script does that reruns; then several at once."""
    task = next(task for task in organizer.get("/api/tasks/?page_size=100")["results"] if task["name"] == "Gamma")
    rerun = organizer.post(f"/api/submissions/{pk}/re_run_submission/?task_key={task['key']}")
    again = organizer.get(f"/api/submissions/{rerun['id']}/")
    assert (again["task"]["key"], again["owner"]) == (task["key"], "robby"), "at once, and in its sender's name"
    row = organizer.ended(rerun["id"])
    assert (shown(row["scores"]), row["on_leaderboard"]) == (
        {"acc": [0.5], "ok": [0], "mean": [0.25], "low": [0.5]},
        False,
    )
    many = organizer.call("POST", "/api/submissions/re_run_many_submissions/", json=[pk])
    assert many.status_code == 200
    (repeated,) = many.json()["submissions"]
    assert shown(organizer.ended(repeated)["scores"]) == {
        "acc": [1, 1, 0.5],
        "ok": [1, 1, 0],
        "mean": [0.75],
        "low": [0],
    }


def _organizers_calls(organizer: Client, numbers: list[int]) -> None:
    rows = organizer.get("/api/submissions/")
    assert {"id", "owner", "task", "created_when"} <= set(rows[0])
    competition = next(row["id"] for row in organizer.get("/api/competitions/") if row["title"] == "Iris challenge")
    for path in (
        "/api/queues/",
        f"/api/participants/?competition={competition}",
        "/api/user_quota/",
        "/api/organizations/",
    ):
        organizer.get(path)
    files = organizer.call("POST", "/api/submissions/download_many/", {"pks": numbers[:2]}).json()
    fetched = [zipfile.ZipFile(io.BytesIO(requests.get(file["url"], timeout=30).content)).namelist() for file in files]
    assert fetched == [["model.py"], ["iris_test.predict"]]
    dumps = organizer.get(f"/api/competitions/{competition}/get_files/")["dumps"]
    dumps.append(organizer.post(f"/api/competitions/{competition}/create_dump/", keys_instead_of_files=True))
    assert all(requests.get(dump["url"], timeout=30).content.startswith(b"PK") for dump in dumps)
    phase = organizer.phases("Iris challenge")[0]["id"]
    for name in ("results.json", f"results.csv?phase={phase}", "results.zip"):  # one board a CSV file
        assert organizer.call("GET", f"/api/competitions/{competition}/{name}").status_code == 200


def test_what_is_wrong_with_a_bundle_or_an_address_is_said_by_the_command(
    site: SmallSite, organizer: User, tmp_path: Path, capsys: pytest.CaptureFixture[str], free_port: int
) -> None:
    path, token = tmp_path / "bundle.zip", tmp_path / "token"
    path.write_bytes(bundle("iris"))
    token.write_text("podium_nobody")
    wrong_token = ["bundle", "import", str(path), "--site", site.url, "--token-file", str(token)]
    assert main(wrong_token) == 3
    assert "This API token is unknown." in capsys.readouterr().err
    expires_at = datetime.now(UTC).replace(year=2098)
    token.write_text(token_create(user=organizer, name="t", scopes=list(Scope.values), expires_at=expires_at)[1])
    assert main([*wrong_token, "--queue", "nowhere"]) == 2
    assert f"There is no queue 'nowhere' here that you may use; there are {site.queue.name}." in capsys.readouterr().err
    assert main([*wrong_token[:4], f"http://127.0.0.1:{free_port}", *wrong_token[5:]]) == 4
    assert "cannot be reached" in capsys.readouterr().err
    assert main([*wrong_token[:4], f"{site.url}/competitions", *wrong_token[5:]]) == 2
    assert "Is its address that of the site's first page?" in capsys.readouterr().err
    assert not Competition.objects.filter(title="Iris challenge").exists()
