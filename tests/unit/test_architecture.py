"""The files that the docs name exist, and each of a newcomer's changes stays small."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text()
CHANGES = dict(re.findall(r"^\| (an? [A-Za-z ]+) \| (`.+) \|$", PAGE, re.MULTILINE))
MOST_FILES = 6


def test_nine_changes_are_described() -> None:
    assert len(CHANGES) == 9


@pytest.mark.parametrize("change", CHANGES)
def test_the_files_of_a_change_exist_and_are_few(change: str) -> None:
    named = re.findall(r"`([^`]+)`", CHANGES[change])
    assert [path for path in named if not (REPOSITORY / path).exists()] == []
    assert len(named) <= MOST_FILES


@pytest.mark.parametrize("page", [*PAGES, REPOSITORY / "README.md"], ids=lambda page: page.name)
def test_the_paths_of_a_page_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:competitions|platform|workers|scoring|client|examples|scripts|tests)/[\w/.]*)`", page.read_text()
    )
    assert [path for path in named if not (REPOSITORY / path).exists()] == []


def test_no_folder_holds_two_subjects() -> None:
    """About fifteen modules are one subject; a folder that grows past that is split."""
    crowded = {}
    for root in ("platform", "competitions", "workers", "scoring", "client"):
        for folder in {path.parent for path in (REPOSITORY / root).rglob("*.py")}:
            modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
            if len(modules) > 17 and folder.name != "migrations":
                crowded[str(folder.relative_to(REPOSITORY))] = len(modules)
    assert crowded == {}


def test_what_mutants_are_made_of_and_tested_by_is_there() -> None:
    """A module or test that was renamed would leave the core unwatched, and nobody would see it."""
    mutants = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["mutmut"]
    assert [pattern for pattern in mutants["only_mutate"] if not list(REPOSITORY.glob(pattern))] == []
    tests = [selected.partition("::") for selected in mutants["pytest_add_cli_args_test_selection"]]
    assert [path for path, _, name in tests if f"def {name}" not in (REPOSITORY / path).read_text()] == []


def test_the_program_that_checks_manifests_needs_nothing_but_python(tmp_path: Path) -> None:
    """The docs say so, for whoever does not want to trust a package."""
    alone = tmp_path / "manifest.py"
    alone.write_bytes((REPOSITORY / "files" / "manifest.py").read_bytes())
    (tmp_path / "wrong.json").write_text("{}")
    argv = [sys.executable, "-I", "-S", str(alone), str(tmp_path / "wrong.json")]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (ended.returncode, "This is not a manifest" in ended.stderr) == (2, True)
