"""The folder of a competition: what of it is sent, and what it remembers."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from podium.folders import Folder, packed, unpack


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder with a page and an empty `competition.yaml`."""
    (tmp_path / "overview.md").write_text("Welcome.")
    (tmp_path / "competition.yaml").write_text("")
    return tmp_path


def sent(path: Path, text: str) -> set[str]:
    """What is sent of the folder where its YAML is this text."""
    (path / "competition.yaml").write_text(text)
    return set(Folder(path).files()) - {"competition.yaml"}


@pytest.mark.parametrize(
    "text", ["Be fair. " * 60, "a/" * 3000, '"\\0"', '"\\ud800"', "/etc/hosts", ".."], ids=lambda text: text[:10]
)
def test_a_text_that_is_no_path_names_no_file(path: Path, text: str) -> None:
    assert sent(path, f"terms: {text}\npages: [{{file: overview.md}}]\n") == {"overview.md"}


def test_a_zip_whose_unpacking_is_broken_off_leaves_no_folder(
    path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path_factory.mktemp("scratch")
    archive, folder = scratch / "data.zip", scratch / "data"
    archive.write_bytes(packed(path))

    def interrupted(opened: zipfile.ZipFile, into: Path, *arguments: Any) -> None:
        opened.extract("competition.yaml", into)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken_off:
        broken_off.setattr(zipfile.ZipFile, "extractall", interrupted)
        with pytest.raises(KeyboardInterrupt):
            unpack(archive, folder)
    assert not folder.exists()
    assert unpack(archive, folder)
    assert packed(folder) == packed(path)
    assert sorted(scratch.iterdir()) == [folder, archive]
