"""Downloads: the places of a competition's files, and the parts that are fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from competitions.catalog.models import Phase
from competitions.resources.models import Resource
from podium import Client
from podium.cli import main
from podium.files import file_digest
from tests.client.conftest import make_token
from tests.scenario import Scenario, resource, zip_bytes


def offer(site: Scenario, kind: Resource.Kind, file_name: str, content: bytes) -> None:
    """Have the phase offer a file of this name."""
    file = resource(site.organizer, kind, content)
    Resource.objects.filter(pk=file.pk).update(file_name=file_name)
    Phase.objects.filter(pk=site.phase.pk).update(**{kind.value: file})


def test_files_that_share_a_name_are_put_apart(
    site: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offer(site, Resource.Kind.PUBLIC_DATA, "FILE.zip", zip_bytes({"train.csv": "1"}))
    offer(site, Resource.Kind.SAMPLE_SUBMISSION, "sample.csv", b"id\n1\n")
    client = Client(url, make_token(site.member()))
    files = client.files(site.competition.slug)
    paths = {client.download(file, tmp_path / "data").relative_to(tmp_path / "data"): file.sha256 for file in files}
    assert {path.as_posix() for path in paths} == {
        "test-dev/starting_kit/file.zip",
        "test-dev/public_data/FILE.zip",
        "sample.csv",
    }
    assert {path: file_digest(tmp_path / "data" / path) for path in paths} == paths
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    assert main(["download", site.competition.slug, "--to", str(tmp_path / "again")]) == 0
    assert set(capsys.readouterr().out.split()) == {str(tmp_path / "again" / path) for path in paths}


def test_an_empty_file_is_downloaded(site: Scenario, url: str, tmp_path: Path) -> None:
    offer(site, Resource.Kind.PUBLIC_DATA, "empty.txt", b"")
    client = Client(url, make_token(site.member()))
    (path,) = [
        client.download(file, tmp_path) for file in client.files(site.competition.slug) if file.name == "public_data"
    ]
    assert (path.name, path.read_bytes()) == ("empty.txt", b"")


def test_a_file_that_is_called_as_a_phase_leaves_room_for_its_folder(site: Scenario, url: str, tmp_path: Path) -> None:
    offer(site, Resource.Kind.PUBLIC_DATA, "file.zip", zip_bytes({"train.csv": "1"}))
    offer(site, Resource.Kind.SAMPLE_SUBMISSION, "test-dev", b"id\n1\n")
    client = Client(url, make_token(site.member()))
    paths = [client.download(file, tmp_path) for file in client.files(site.competition.slug)]
    assert tmp_path / "test-dev/sample_submission/test-dev" in paths


def test_a_folder_that_cannot_be_written_to_is_said_in_a_line(
    site: Scenario, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PODIUM_SITE", url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    target = tmp_path / "a-file"
    target.touch()
    assert main(["download", site.competition.slug, "--to", str(target)]) == 1
    assert f"podium: {target}: File exists" in capsys.readouterr().err
