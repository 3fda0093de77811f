"""The calls beside the four scripts: boards, dumps, tasks by zip, quota."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import Scope, User, token_create
from competitions.bundles.faults import InvalidBundle
from competitions.bundles.tasks import task_import
from competitions.catalog.models import Task
from competitions.leaderboards.models import Entry, Leaderboard
from competitions.resources.models import Resource
from tests.worlds import World, person, resource, zip_of


def robot(site: World, user: User) -> Client:
    expires_at = site.now.replace(year=2031)
    _, secret = token_create(user=user, name="t", scopes=list(Scope.values), expires_at=expires_at)
    return Client(headers={"Authorization": f"Token {secret}"})


def test_boards_and_results_are_read_and_sealed_ones_are_not(site: World) -> None:
    made = site.score(site.submit(), 0.25)
    site.score(site.submit(phase=site.sealed), 0.123456)
    board = Client().get(f"/api/phases/{site.phase.pk}/get_leaderboard/").json()
    assert board["submissions"] == [
        {"rank": 1, "owner": site.team.name, "submission": made.pk, "scores": {"mae": "0.2500"}}
    ]
    assert Client().get(f"/api/phases/{site.sealed.pk}/get_leaderboard/").status_code == 403
    results = Client().get(f"/api/competitions/{site.competition.pk}/results.json").json()
    assert list(results) == [site.phase.name]
    text = Client().get(f"/api/competitions/{site.competition.pk}/results.csv").content.decode()
    assert text.splitlines()[1] == f"test-dev,1,{site.team.name},{made.pk},mae,0.2500"
    assert Client().get(f"/api/competitions/{site.competition.pk}/results.csv?phase={site.sealed.pk}").status_code == 403


def test_a_team_puts_a_submission_on_the_board_and_takes_it_off(site: World) -> None:
    Leaderboard.objects.filter(phase=site.phase).update(rule="add_and_delete")
    made = site.score(site.submit(), 0.25)
    client = robot(site, site.member())
    path = f"/api/submissions/{made.pk}/submission_leaderboard_connection/"
    assert client.post(path).status_code == 201
    assert Entry.objects.filter(score__submission=made).exists()
    assert client.get(f"/api/submissions/{made.pk}/").json()["on_leaderboard"] is True
    assert client.delete(path).status_code == 200
    assert not Entry.objects.filter(score__submission=made).exists()


def test_a_dump_is_fetched_from_the_address_that_its_organizer_got(site: World) -> None:
    said = robot(site, site.organizer).post(f"/api/competitions/{site.competition.pk}/create_dump/").json()
    response = Client().get(urlsplit(said["url"]).path)
    content = b"".join(response.streaming_content)  # type: ignore[attr-defined]
    response.close()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert yaml.safe_load(archive.read("competition.yaml"))["title"] == site.competition.title


PROGRAM = zip_of({"metadata.yaml": "command: python3 score.py"})


def task_zip(path: Path, said: dict[str, Any], **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("task.yaml", yaml.safe_dump(said))
        for name, content in files.items():
            archive.writestr(f"{name}.zip", content)
    return path


def test_a_task_is_made_of_a_zip(site: World, tmp_path: Path) -> None:
    labels = resource(site.organizer, Resource.Kind.REFERENCE_DATA, b"x")
    said = {
        "name": "Alone", "description": "By itself", "scoring_program": {"zip": "program.zip"}, "is_public": True,
        "reference_data": {"key": str(labels.key), "zip": "ignored.zip"},
    }  # fmt: skip
    content = task_zip(tmp_path / "task.zip", said, program=PROGRAM).read_bytes()
    answer = robot(site, site.organizer).post("/api/tasks/upload_task/", {"file": SimpleUploadedFile("task.zip", content)})
    assert answer.status_code == 201
    made = Task.objects.get(key=answer.json()["key"])
    assert (made.name, made.competition, made.owner, made.reference_data) == ("Alone", None, site.organizer, labels)
    assert made in Task.objects.usable_by(person(is_staff=True))


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
    site: World, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    said = {"name": "Alone", "description": "By itself", "scoring_program": {"zip": "program.zip"}} | changes
    said = {key: value for key, value in said.items() if value is not None}
    before = Task.objects.count(), Resource.objects.count()
    with pytest.raises(InvalidBundle, match=r"task\.yaml.*" + words):
        task_import(source=task_zip(tmp_path / "t.zip", said, program=PROGRAM, broken=b"no"), owner=site.organizer)
    assert (Task.objects.count(), Resource.objects.count()) == before


def test_lists_for_organizers(site: World) -> None:
    client = robot(site, site.organizer)
    assert client.get("/api/user_quota/").json()["storage_used"] > 0
    assert client.get("/api/organizations/").json() == []
    (row,) = client.get("/api/participants/", {"competition": site.competition.pk}).json()
    assert row["status"] == "approved"
    assert robot(site, site.member()).get("/api/participants/", {"competition": site.competition.pk}).status_code == 404
    assert client.get("/api/queues/").json()["results"][0]["name"] == site.queue.name
