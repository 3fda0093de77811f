"""The calls beside the four scripts: boards, dumps, tasks by zip, quota."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Scope, User, token_create
from competitions.bundles.importing.tasks import task_import
from competitions.bundles.models import BundleExport
from competitions.catalog.models import Column, Leaderboard, Phase, Task
from competitions.factsheets.models import Question
from competitions.leaderboards.models import Entry
from competitions.resources.models import Resource, StoredFile, Upload
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from files.bundles.faults import InvalidBundle
from tests.background import run_background
from tests.scenario import NOON, Scenario, person, resource, zip_bytes


def robot(site: Scenario, user: User) -> Client:
    expires_at = site.now.replace(year=2031)
    _, secret = token_create(user=user, name="t", scopes=list(Scope.values), expires_at=expires_at)
    return Client(headers={"Authorization": f"Token {secret}"})


def board_title(phase: Phase) -> str:
    """The title of a phase's board in results."""
    return f"Leaderboard - {phase.name}({phase.pk})"


def test_boards_and_results_are_read_and_sealed_ones_are_not(site: Scenario) -> None:
    submission, task = site.score(site.submit(), 0.25), site.phase.tasks.get()
    site.score(site.submit(phase=site.sealed), 0.123456)
    board = Client().get(f"/api/phases/{site.phase.pk}/get_leaderboard/").json()
    assert board == Client().get(f"/api/leaderboards/{board['id']}/").json()
    (row,) = board["submissions"]
    assert (row["id"], row["rank"], row["owner"], row["fact_sheet_answers"]) == (submission.pk, 1, site.team.name, {})
    (score,) = row["scores"]
    assert isinstance(score.pop("id"), int)
    assert score == {
        "index": 0,
        "column_key": "mae",
        "score": "0.2500",
        "is_primary": True,
        "task": task.pk,
        "task_id": task.pk,
    }
    (shown,) = board["tasks"]
    assert (shown["id"], shown["name"], shown["colWidth"]) == (task.pk, task.name, 1)
    assert shown["columns"] == board["columns"]
    for sealed in (f"phases/{site.sealed.pk}/get_leaderboard", f"leaderboards/{site.sealed.leaderboard.pk}"):
        assert Client().get(f"/api/{sealed}/").status_code == 403
    results = Client().get(f"/api/competitions/{site.competition.pk}/results.json").json()
    assert results == {board_title(site.phase): {site.team.name: {f"{task.name}({task.pk})-MAE": "0.2500"}}}
    text = Client().get(f"/api/competitions/{site.competition.pk}/results.csv").content.decode()
    assert text.splitlines() == [f"Username,{task.name}({task.pk})-MAE", f"{site.team.name},0.2500"]
    assert (
        Client().get(f"/api/competitions/{site.competition.pk}/results.csv?phase={site.sealed.pk}").status_code == 403
    )


def test_a_board_shows_what_is_over_all_tasks_and_each_of_them_where_it_does_on_its_page(site: Scenario) -> None:
    board, first = site.phase.leaderboard, site.phase.tasks.get()
    Column.objects.create(
        leaderboard=board, key="worst", title="Worst", index=1, kind="computed", computation="max", sources=["mae"]
    )
    second = Task.objects.create(competition=site.competition, name="Second", scoring_program=first.scoring_program)
    site.phase.tasks.add(second)
    submission = site.submit()
    for value in (0.1, 0.3):
        site.score(submission, value)
    address = f"/api/phases/{site.phase.pk}/get_leaderboard/"
    (row,) = Client().get(address).json()["submissions"]
    assert [(score["task_id"], score["score"]) for score in row["scores"]] == [(None, "0.2000"), (None, "0.3000")]
    Leaderboard.objects.update(shows_tasks=True)
    shown = Client().get(address).json()
    assert [task["name"] for task in shown["tasks"]] == [first.name, "Second"]
    (row,) = shown["submissions"]
    assert [(score["column_key"], score["task_id"], score["score"]) for score in row["scores"]] == [
        *(("mae", task.pk, f"{submission.runs.get(task=task).scores['mae']:.4f}") for task in (first, second)),
        ("worst", None, "0.3000"),
    ]


def test_results_that_are_too_large_for_a_request_say_where_they_are(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.score(site.submit(), 0.25)
    monkeypatch.setattr("competitions.codabench_api.organizers.boards.MOST_ROWS", 0)
    for path in (f"phases/{site.phase.pk}/get_leaderboard/", f"competitions/{site.competition.pk}/results.zip"):
        answer = Client().get(f"/api/{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "results_too_large")
        assert "leaderboard.csv" in answer.json()["detail"]


def test_a_team_puts_a_submission_on_the_board_and_takes_it_off(site: Scenario) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(rule="add_and_delete")
    submission = site.score(site.submit(), 0.25)
    client = robot(site, site.member())
    path = f"/api/submissions/{submission.pk}/submission_leaderboard_connection/"
    assert client.post(path).status_code == 201
    assert Entry.objects.filter(score__submission=submission).exists()
    assert client.get(f"/api/submissions/{submission.pk}/").json()["on_leaderboard"] is True
    assert client.delete(path).status_code == 200
    assert not Entry.objects.filter(score__submission=submission).exists()


def test_rows_of_a_board_have_the_answers_that_are_for_everybody(site: Scenario) -> None:
    for key, public in (("method", True), ("contact", False)):
        Question.objects.create(competition=site.competition, key=key, title=key, is_public=public, is_on_board=public)
    submission = site.submit()
    Submission.objects.filter(pk=submission.pk).update(fact_sheet={"method": "=GIN", "contact": "secret"})
    site.score(Submission.objects.get(pk=submission.pk), 0.25)
    answer = Client().get(f"/api/phases/{site.phase.pk}/get_leaderboard/")
    assert answer.json()["submissions"][0]["fact_sheet_answers"] == {"method": "=GIN"}
    assert "secret" not in answer.content.decode()


def test_a_dump_is_fetched_from_the_address_that_its_organizer_got(site: Scenario) -> None:
    dump = robot(site, site.organizer).post(f"/api/competitions/{site.competition.pk}/create_dump/").json()
    early = Client().get(urlsplit(dump["url"]).path)
    assert (early.status_code, early["Retry-After"]) == (503, "5"), "nobody takes it for the zip"
    run_background()
    response = Client().get(urlsplit(dump["url"]).path)
    assert BundleExport.objects.count() == 1, "asked again, it is the same one"
    content = b"".join(response.streaming_content)  # type: ignore[attr-defined]
    response.close()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert yaml.safe_load(archive.read("competition.yaml"))["title"] == site.competition.title


PROGRAM = zip_bytes({"metadata.yaml": "command: python3 score.py"})


def task_zip(path: Path, document: dict[str, Any], **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("task.yaml", yaml.safe_dump(document))
        for name, content in files.items():
            archive.writestr(f"{name}.zip", content)
    return path


@pytest.mark.usefixtures("background_meanwhile")
def test_a_task_is_made_of_a_zip(site: Scenario, tmp_path: Path) -> None:
    labels = resource(site.organizer, Resource.Kind.REFERENCE_DATA, b"x")
    document = {
        "name": "Alone",
        "description": "By itself",
        "scoring_program": {"zip": "program.zip"},
        "is_public": True,
        "reference_data": {"key": str(labels.key), "zip": "ignored.zip"},
    }
    content = task_zip(tmp_path / "task.zip", document, program=PROGRAM).read_bytes()
    answer = robot(site, site.organizer).post(
        "/api/tasks/upload_task/", {"file": SimpleUploadedFile("task.zip", content)}
    )
    assert answer.status_code == 201, "as on Codabench, where it is made within the call"
    task = Task.objects.get(key=answer.json()["key"])
    assert (task.name, task.competition, task.owner, task.reference_data) == ("Alone", None, site.organizer, labels)
    assert task in Task.objects.usable_by(person(is_staff=True))


def test_the_files_of_a_task_are_stored_before_the_transaction_that_makes_its_rows(
    site: Scenario, tmp_path: Path
) -> None:
    parts = {name: {"zip": f"{name}.zip"} for name in ("scoring_program", "input_data")}
    document = {"name": "Alone", "description": "By itself"} | parts
    source = task_zip(tmp_path / "t.zip", document, scoring_program=PROGRAM, input_data=zip_bytes({"x": "y"}))
    with CaptureQueriesContext(connection) as queries:
        task_import(source=source, owner=site.organizer)
    inserted = [query["sql"].split('"')[1] for query in queries if query["sql"].startswith("INSERT")]
    assert inserted == ["resources_storedfile"] * 2 + ["resources_resource"] * 2 + ["catalog_task"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": None}, "`name` is missing"),
        ({"description": None}, "`description` is missing"),
        ({"scoring_program": None}, "`scoring_program` is missing"),
        ({"scoring_program": "program.zip"}, "must be a mapping"),
        ({"scoring_program": {"zip": "none.zip"}}, "the archive has no zip 'none.zip'"),
        ({"scoring_program": {"zip": "../x.zip"}}, "the archive has no zip"),
        ({"input_data": {"key": "00000000-0000-0000-0000-000000000000"}}, "there is no input data with the key"),
        ({"input_data": {"zip": "broken.zip"}}, "is not a zip archive"),
    ],
)
def test_what_is_wrong_with_a_task_is_said_and_nothing_is_made(
    site: Scenario, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    document = {"name": "Alone", "description": "By itself", "scoring_program": {"zip": "program.zip"}} | changes
    document = {key: value for key, value in document.items() if value is not None}
    before = Task.objects.count(), Resource.objects.count()
    with pytest.raises(InvalidBundle, match=r"task\.yaml.*" + words):
        task_import(source=task_zip(tmp_path / "t.zip", document, program=PROGRAM, broken=b"no"), owner=site.organizer)
    assert (Task.objects.count(), Resource.objects.count()) == before


def test_lists_for_organizers(site: Scenario) -> None:
    client = robot(site, site.organizer)
    assert client.get("/api/user_quota/").json()["storage_used"] > 0
    assert client.get("/api/organizations/").json() == []
    (row,) = client.get("/api/participants/", {"competition": site.competition.pk}).json()
    assert row["status"] == "approved"
    assert robot(site, site.member()).get("/api/participants/", {"competition": site.competition.pk}).status_code == 404
    reads = with_scope(site.organizer, Scope.READ)
    for path in ("/api/participants/", f"/api/participants/{row['id']}/"):
        assert reads.get(path).json()["code"] == "scope_missing", "an agent's token lists nobody"
    Leaderboard.objects.filter(phase=site.phase).update(is_hidden=True)
    known, seen = (
        {board["id"] for board in asker.get(f"/api/competitions/{site.competition.pk}/").json()["leaderboards"]}
        for asker in (client, reads)
    )
    assert known - seen == {site.phase.leaderboards.get().pk}, "nor boards that organizers alone know of"
    assert client.get("/api/queues/").json()["results"][0]["name"] == site.queue.name


def test_results_come_as_one_csv_a_board_and_sealed_ones_are_left_out(site: Scenario) -> None:
    site.score(site.submit(), 0.25)
    site.score(site.submit(phase=site.sealed), 0.1)
    path = f"/api/competitions/{site.competition.pk}/results.zip"
    with zipfile.ZipFile(io.BytesIO(Client().get(path).content)) as archive:
        (name,) = archive.namelist()
        assert name.startswith("1-leaderboard-test-dev")
        assert archive.read(name).decode().splitlines()[1] == f"{site.team.name},0.2500"
    assert Client().get(f"{path}?phase={site.sealed.pk}").status_code == 403


def test_several_boards_are_no_single_csv(site: Scenario) -> None:
    Phase.objects.filter(competition=site.competition).update(name="Phase", visibility="public")
    Leaderboard.objects.filter(phase__competition=site.competition).update(visibility="phase")
    path = f"/api/competitions/{site.competition.pk}/results"
    assert len(Client().get(f"{path}.json").json()) == 2, "phases of one name are told apart"
    assert Client().get(f"{path}.csv").status_code == 400
    assert Client().get(f"{path}.csv?phase={site.phase.pk}").status_code == 200


def test_get_files_says_where_the_competition_is_dumped(site: Scenario) -> None:
    path = f"/api/competitions/{site.competition.pk}/get_files/"
    assert with_scope(site.organizer, Scope.TEAM).get(path).json()["code"] == "scope_missing"
    files = robot(site, site.organizer).get(path).json()
    assert files["bundle"] is None
    assert [dump["name"] for dump in files["dumps"]] == [
        f"{site.competition.slug}.zip",
        f"{site.competition.slug}-keys.zip",
    ]
    response = Client().get(urlsplit(files["dumps"][1]["url"]).path)
    assert response.status_code == 503
    run_background()
    response = Client().get(urlsplit(files["dumps"][1]["url"]).path)
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:  # type: ignore[attr-defined]
        assert "competition.yaml" in archive.namelist()
    response.close()


@pytest.mark.parametrize("path", ["/api/tasks/upload_task/", "/api/competitions/", "/api/v1/bundles/"])
def test_who_may_not_host_is_refused_before_anything_of_theirs_is_stored(site: Scenario, path: str) -> None:
    before = StoredFile.objects.count(), Upload.objects.count()
    sent = {"file": SimpleUploadedFile("task.zip", zip_bytes({"task.yaml": "name: a"}))}
    participant = robot(site, site.member(site.join("Team")))
    answer = participant.post(path, {"title": "Mine"} if path == "/api/competitions/" else sent)
    assert (answer.status_code, answer.json()["code"]) == (403, "hosts_only")
    assert (StoredFile.objects.count(), Upload.objects.count()) == before


@pytest.mark.usefixtures("background_meanwhile")
def test_what_is_wrong_with_a_task_is_said_to_the_robot(site: Scenario) -> None:
    sent = SimpleUploadedFile("task.zip", zip_bytes({"x": "y"}))
    answer = robot(site, site.organizer).post("/api/tasks/upload_task/", {"file": sent})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_bundle")
    assert "no task.yaml" in answer.json()["detail"]


def test_a_robot_asks_later_for_a_task_that_took_long(site: Scenario, tmp_path: Path) -> None:
    document = {"name": "Alone", "description": "By itself", "scoring_program": {"zip": "program.zip"}}
    content = task_zip(tmp_path / "task.zip", document, program=PROGRAM).read_bytes()
    script = robot(site, site.organizer)
    answer = script.post("/api/tasks/upload_task/", {"file": SimpleUploadedFile("task.zip", content)})
    assert (answer.status_code, answer.json()["status"]) == (202, "Starting")
    run_background()
    status = script.get(f"/api/competitions/{answer.json()['status_id']}/creation_status/").json()
    assert (status["status"], status["resulting_task"]) == ("Finished", str(Task.objects.get(name="Alone").key))


def test_everything_of_a_phase_is_run_again_once_for_its_organizers(site: Scenario) -> None:
    ended, smoke, running = site.score(site.submit(), 0.5), site.score(site.submit(), 0.4), site.submit()
    Submission.objects.filter(pk=smoke.pk).update(is_smoke=True)
    path = f"/api/phases/{site.phase.pk}/rerun_submissions/"
    script = robot(site, site.organizer)
    (number,) = script.get(path).json()["submissions"]
    copy = Submission.objects.get(pk=number)
    assert (copy.rerun_of, copy.is_charged, copy.status) == (ended, False, State.QUEUED)
    assert not Submission.objects.filter(rerun_of=running).exists()
    assert script.post(path).json()["count"] == 1, "the copy is not copied"
    count = Submission.objects.count()
    for address, form in (
        (f"/api/submissions/{smoke.pk}/re_run_submission/", {}),
        ("/api/submissions/re_run_many_submissions/", {"pks": [ended.pk, smoke.pk]}),
    ):
        refused = script.post(address, form)
        assert (refused.status_code, refused.json()["code"]) == (409, "smoke_not_repeated")
    assert Submission.objects.count() == count, "none of them"
    assert robot(site, site.member()).get(path).status_code == 403


def test_a_token_of_an_organizer_that_may_submit_runs_nothing_of_a_phase_again(site: Scenario) -> None:
    ended = site.score(site.submit(), 0.5)
    of_phase, named = f"/api/phases/{site.phase.pk}/rerun_submissions/", "/api/submissions/re_run_many_submissions/"
    submits, organizes = (with_scope(site.organizer, scope) for scope in (Scope.SUBMIT, Scope.ORGANIZE))
    for path, form in ((of_phase, {}), (named, {"pks": ended.pk})):
        refused = submits.post(path, form)
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
        assert organizes.post(path, form).status_code == 200
    assert submits.get(of_phase).status_code == 403
    for path in (f"/api/submissions/{ended.pk}/re_run_submission/", f"/api/phases/{site.phase.pk}/manually_migrate/"):
        refused = submits.post(path)
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing"), path
        assert organizes.post(path).status_code != 403, path


def with_scope(user: User, scope: Scope) -> Client:
    _, secret = token_create(
        user=user, name=scope, scopes=[scope, Scope.READ], expires_at=timezone.now() + timedelta(days=1)
    )
    return Client(headers={"Authorization": f"Token {secret}"})


@pytest.mark.parametrize(
    "why_not",
    [{"is_late": True}, {"is_verification": True}, {"disqualified_at": NOON, "disqualified_reason": "copied"}],
)
def test_what_may_not_stand_on_a_board_may_not_after_running_again_either(
    site: Scenario, why_not: dict[str, Any]
) -> None:
    submission = site.score(site.submit(), 0.5)
    Submission.objects.filter(pk=submission.pk).update(**why_not)
    answer = robot(site, site.organizer).post(f"/api/submissions/{submission.pk}/re_run_submission/")
    site.now += timedelta(minutes=1)
    copy = site.score(Submission.objects.get(pk=answer.json()["id"]), 0.1)
    assert {name: getattr(copy, name) for name in why_not} == why_not
    assert not Entry.objects.filter(score__submission=copy).exists()


def test_named_submissions_are_run_again_or_none_of_them(site: Scenario) -> None:
    first, second = site.score(site.submit(), 0.5), site.score(site.submit(), 0.4)
    path, script = "/api/submissions/re_run_many_submissions/", robot(site, site.organizer)
    assert script.post(path, {"pks": [first.pk, 10**9]}).status_code == 404
    assert Submission.objects.count() == 2
    assert script.post(path, [first.pk, second.pk], content_type="application/json").json()["count"] == 2
    assert script.post(path, {"pks": [first.pk]}).json()["count"] == 1
    assert robot(site, site.member()).post(path, {"pks": [first.pk]}).status_code == 403


@pytest.mark.parametrize(
    "body", [{}, {"pks": []}, {"pks": ["one"]}, {"pks": "1"}, {"pks": [True]}, [], [[1]], '"text"', 7, None]
)
def test_who_names_no_submissions_is_told_how(site: Scenario, body: object) -> None:
    for name in ("re_run_many_submissions", "download_many"):
        answer = robot(site, site.organizer).post(f"/api/submissions/{name}/", body, content_type="application/json")
        assert (answer.status_code, "pks" in answer.json()["detail"]) == (400, True)


def test_files_of_several_submissions_are_fetched_by_their_team_alone(site: Scenario) -> None:
    own, other = site.submit(), site.submit(team=site.join())
    script, path = robot(site, site.member()), "/api/submissions/download_many/"
    several = [own.pk, site.submit().pk, site.submit().pk]
    (file,) = script.post(path, {"pks": [own.pk]}).json()  # which notes that the token was used
    with CaptureQueriesContext(connection) as alone:
        script.post(path, {"pks": [own.pk]})
    with CaptureQueriesContext(connection) as for_all:
        assert len(script.post(path, {"pks": several}).json()) == 3
    assert len(for_all) <= len(alone)
    assert file["name"] == f"{own.pk}_{own.file_name}"
    response = Client().get(urlsplit(file["url"]).path)
    assert b"".join(response.streaming_content)[:2] == b"PK"  # type: ignore[attr-defined]
    response.close()
    assert script.post(path, {"pks": [own.pk, other.pk]}).status_code == 404


def test_what_podium_keeps_is_refused_with_what_to_do_instead(site: Scenario) -> None:
    submission, script = site.score(site.submit(), 0.5), robot(site, site.member())
    base = f"/api/submissions/{submission.pk}"
    refusals = [
        (script.get(f"{base}/toggle_public/"), "fact sheet"),
        (script.delete(f"{base}/soft_delete/"), "submission_leaderboard_connection"),
        (script.delete("/api/submissions/delete_many/"), "disqualify"),
        (script.post("/api/submissions/re_run_many_submissions/", {"pks": list(range(1, 502))}), "in the workspace"),
        (script.get("/api/data_groups/"), "Your files"),
    ]
    for answer, words in refusals:
        assert (answer.status_code, words in answer.json()["detail"]) == (409, True)
    assert Submission.objects.filter(pk=submission.pk).exists()


@pytest.mark.parametrize("name", ["rerun_submissions", "cancel_submission"])
def test_a_get_that_changes_something_is_not_taken_from_a_signed_in_browser(site: Scenario, name: str) -> None:
    submission = site.submit() if name == "cancel_submission" else site.score(site.submit(), 0.5)
    path = (
        f"/api/phases/{site.phase.pk}/{name}/"
        if name == "rerun_submissions"
        else f"/api/submissions/{submission.pk}/{name}/"
    )
    browser = Client()
    browser.force_login(site.organizer)
    assert browser.get(path).status_code == 403
    _, secret = token_create(user=site.organizer, name="r", scopes=[Scope.READ], expires_at=site.now.replace(year=2031))
    assert Client(headers={"Authorization": f"Token {secret}"}).get(path).status_code == 403
    assert (Submission.objects.count(), Submission.objects.get(pk=submission.pk).status) == (1, submission.status)
    assert robot(site, site.organizer).get(path).status_code == 200


def test_a_team_changes_its_fact_sheet(site: Scenario) -> None:
    Question.objects.create(competition=site.competition, key="method", title="Method")
    submission = site.submit()
    path, script = f"/api/submissions/{submission.pk}/update_fact_sheet/", robot(site, site.member())
    answer = script.patch(path, {"method": "GIN"}, content_type="application/json")
    assert (answer.status_code, answer.json()) == (200, {"method": "GIN"})
    form = script.patch(path, "method=GAT", content_type="application/x-www-form-urlencoded")
    assert (form.status_code, form.json()) == (200, {"method": "GAT"})
    assert script.patch(path, {"none": "x"}, content_type="application/json").status_code == 422
    assert Submission.objects.get(pk=submission.pk).fact_sheet == {"method": "GAT"}
    assert [revision.answers for revision in submission.fact_sheet_revisions.order_by("pk")] == [
        {"method": "GIN"},
        {"method": "GAT"},
    ]


def test_an_organizer_carries_on_what_counts_once(site: Scenario) -> None:
    Phase.objects.filter(pk=site.sealed.pk).update(visibility="public")
    best = site.score(site.submit(), 0.2)
    site.score(site.submit(), 0.9)
    path = f"/api/phases/{site.sealed.pk}/manually_migrate/"
    assert robot(site, site.member()).post(path).status_code == 403
    assert robot(site, site.organizer).post(path).json() == {"submissions": 1}
    assert robot(site, site.organizer).post(path).json() == {"submissions": 0}
    (submission,) = Submission.objects.filter(phase=site.sealed)
    assert submission.migrated_from == best
