"""The folder of a competition: what of it is sent, and what it remembers."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from podium.cli import main
from podium.errors import InvalidInput
from podium.folders import Folder, packed, unpack
from podium.pushing import Pull
from podium.site import Site
from podium.transfers import Progress, quiet


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder with a page and an empty `competition.yaml`."""
    (tmp_path / "overview.md").write_text("Welcome.")
    (tmp_path / "competition.yaml").write_text("")
    return tmp_path


def sent(path: Path, text: str) -> set[str]:
    """The files that are sent of the folder where its YAML is this text."""
    (path / "competition.yaml").write_text(text)
    return set(Folder(path).files()) - {"competition.yaml"}


@pytest.mark.parametrize(
    "text", ["Be fair. " * 60, "a/" * 3000, '"\\0"', '"\\ud800"', "/etc/hosts", ".."], ids=lambda text: text[:10]
)
def test_a_text_that_is_no_path_names_no_file(path: Path, text: str) -> None:
    assert sent(path, f"terms: {text}\npages: [{{file: overview.md}}]\n") == {"overview.md"}


@pytest.mark.parametrize("name", ["2024", "2024-01-01", "007", "1.50", "no", "1_000", "2026-09-31"])
def test_a_number_or_a_date_may_be_the_name_of_a_file(path: Path, name: str) -> None:
    (path / name).mkdir()
    (path / name / "labels.csv").write_text("id\n")
    assert sent(path, f"tasks: [{{reference_data: {name}}}]\nphases: [{{start: 2026-09-31}}]\n") == {
        f"{name}/labels.csv"
    }


def test_secrets_inside_a_folder_that_the_yaml_names_are_not_sent(path: Path) -> None:
    for name in ("data/labels.csv", "data/.env.local", "data/.ssh/id_rsa", "data/.GIT/config"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(name)
    assert sent(path, "tasks: [{reference_data: data}]\npages: [.env]\n") == {"data/labels.csv"}
    with zipfile.ZipFile(io.BytesIO(packed(path / "data"))) as archive:
        assert archive.namelist() == ["labels.csv"]


def test_what_is_named_by_an_alias_inside_itself_is_read_once(path: Path) -> None:
    assert sent(path, "pages: &pages\n- *pages\n- overview.md\n") == {"overview.md"}


@pytest.mark.parametrize(
    "text", ["[" * 1000, "title: [", "? [a]\n: b\n", "a: !!python/object:os.system x", "a: !!int [1]"]
)
def test_a_yaml_that_cannot_be_read_is_said(path: Path, text: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        sent(path, text)


def test_an_address_may_be_a_number_and_an_empty_one_is_none(path: Path) -> None:
    (path / "competition.yaml").write_text("podium: {slug: 2024}")
    assert Folder(path).slug == "2024"
    (path / "competition.yaml").write_text("podium: {slug: ~}")
    with pytest.raises(InvalidInput, match="names no address"):
        assert Folder(path).slug


def test_a_zip_whose_unpacking_is_broken_off_leaves_no_folder(
    path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    archive, folder = scratch / "data.zip", scratch / "data"
    archive.write_bytes(packed(path))

    def interrupt(opened: zipfile.ZipFile, into: Path, *arguments: Any) -> None:
        opened.extract("competition.yaml", into)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken_off:
        broken_off.setattr(zipfile.ZipFile, "extractall", interrupt)
        with pytest.raises(KeyboardInterrupt):
            unpack(archive, folder)
    assert not folder.exists()
    assert unpack(archive, folder)
    assert packed(folder) == packed(path)
    assert sorted(scratch.iterdir()) == [folder, archive]


@pytest.mark.parametrize("text", ["", '{"site": "https://podium.exa', "[]", "\0"])
def test_a_damaged_memory_is_none_and_is_written_anew(path: Path, text: str) -> None:
    folder = Folder(path)
    folder.remember(site="https://podium.example.org", version="a" * 64)
    assert Folder(path).known_version("https://podium.example.org") == "a" * 64
    (path / ".podium" / "state.json").write_text(text)
    assert Folder(path).state == {}
    Folder(path).remember(version="b" * 64)
    assert Folder(path).state == {"version": "b" * 64}


def test_a_memory_that_cannot_be_written_whole_stays_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Folder(path).remember(version="a" * 64)

    def broken(source: Path, target: Path) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="the disk is full"):
        Folder(path).remember(version="b" * 64)
    assert Folder(path).state == {"version": "a" * 64}
    assert sorted(file.name for file in (path / ".podium").iterdir()) == [".gitignore", "state.json"]


@pytest.mark.parametrize("verb", ["push", "pull"])
def test_a_file_in_place_of_the_folder_is_said(
    path: Path, verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PODIUM_SITE", "https://podium.example.org")
    assert main(["competition", verb, str(path / "competition.yaml")]) == 2
    assert f"Name the folder of the competition: {path}" in capsys.readouterr().err


class AnsweringSite:
    """A site that names these texts and files of a competition."""

    url = "https://podium.example.org"
    patience_s = 1.0

    def __init__(self, texts: Mapping[str, str], files: Mapping[str, bytes] = {}) -> None:  # never changed
        self._texts, self._files = dict(texts), dict(files)

    def get(self, path: str) -> dict[str, object]:
        files = [
            {"path": name, "sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content), "url": name}
            for name, content in self._files.items()
        ]
        return {"version": "a" * 64, "texts": self._texts, "files": files}

    @contextmanager
    def call(self, method: str, url: str, **_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(status_code=200, iter_content=lambda size: [self._files[url]])


@contextmanager
def no_bars(what: str) -> Iterator[Progress]:
    yield quiet


def fetch(folder: Path, site: AnsweringSite) -> Pull:
    return Pull(cast("Site", site), Folder(folder), "prices", bars=no_bars)


HIDDEN = [".git/config", ".git/hooks.zip", "pages/.git/config", ".podium/state.json", ".envrc", "linked/config"]
NO_PLACES = ["", ".", "..", "../x", "pages/../x", "./x", "pages//x", "pages/", "/etc/x", "pages\\x", "a\0b", "a\x1b[2J"]


@pytest.mark.parametrize("name", [*HIDDEN, *NO_PLACES, "/proc/self/cwd/.git/config"], ids=ascii)
def test_a_site_writes_nothing_hidden_and_nothing_outside_the_folder(
    path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path / ".git").mkdir()
    (path / ".git" / "config").write_text("[core]\n")
    (path / "linked").symlink_to(".git")
    monkeypatch.chdir(path)
    Folder(path).remember(version="b" * 64)
    for site in (AnsweringSite({name: "evil"}), AnsweringSite({}, {name: zip_of_hook(path.parent)})):
        with pytest.raises(InvalidInput, match="not a place in the folder") as refusal:
            fetch(path, site)
        assert str(refusal.value) == f"The site calls a file {name!a}, which is not a place in the folder."
    assert [file.name for file in (path / ".git").iterdir()] == ["config"]
    assert (path / ".git" / "config").read_text() == "[core]\n"
    assert Folder(path).state == {"version": "b" * 64}


def zip_of_hook(scratch: Path) -> bytes:
    """A zip that is unpacked to a folder with a program."""
    hooks = scratch / f"hooks-{os.urandom(4).hex()}"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\n")
    (hooks / "pre-commit").chmod(0o755)
    return packed(hooks)


def test_what_a_site_names_in_the_folder_is_written_with_consent_alone(path: Path) -> None:
    texts = {"competition.yaml": "title: x\ndata: input_data.zip\n", "overview.md": "Hello.", "pages/terms.md": "Fair."}
    site = AnsweringSite(texts, {"input_data.zip": zip_of_hook(path.parent), "tasks/a-b/labels.csv": b"id\n"})
    fetched = fetch(path, site)
    assert fetched.replaced == ["competition.yaml", "overview.md"]
    assert (path / "overview.md").read_text() == "Welcome."
    fetched.write()
    assert (path / "competition.yaml").read_text() == "title: x\ndata: input_data\n"
    assert ((path / "overview.md").read_text(), (path / "pages/terms.md").read_text()) == ("Hello.", "Fair.")
    assert (path / "input_data/pre-commit").read_text() == "#!/bin/sh\n"
    assert (path / "tasks/a-b/labels.csv").read_bytes() == b"id\n"
    assert Folder(path).state == {"site": site.url, "version": "a" * 64}
