"""The set-up scripts: nothing to do costs nothing, and what is wrong is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import REPOSITORY

LONG = "def f():\n" + "    x = 1\n" * 90


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=REPOSITORY,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_make_alone_lists_every_public_target() -> None:
    listed = {line.split()[1] for line in run("make").stdout.splitlines()}
    assert {"demo", "test", "test-unit", "lint", "bench", "help", "secret", "production"} <= listed


def test_a_secret_is_long_random_and_different_each_time() -> None:
    first, second = run("make", "secret").stdout.strip(), run("make", "secret").stdout.strip()
    assert len(first) >= 60
    assert first != second


def test_an_environment_that_is_ready_is_not_touched() -> None:
    before = {path: path.stat().st_mtime_ns for path in (REPOSITORY / ".venv").glob("lib/*/site-packages/*.dist-info")}
    done = run("scripts/venv.sh", "web,worker")
    assert (done.returncode, done.stderr) == (0, "")
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_extras_that_do_not_exist_are_named_with_those_that_do() -> None:
    done = run(sys.executable, "scripts/requirements.py", "wbe")
    assert done.returncode == 2
    assert "scoring, tables, worker, files, web, docs, dev; not wbe" in done.stderr


def test_extras_that_refer_to_others_are_resolved() -> None:
    listed = run(sys.executable, "scripts/requirements.py", "web").stdout.splitlines()
    assert {"numpy>=2.0", "gunicorn>=23"} <= set(listed)
    assert [line for line in listed if line.startswith("podium")] == []


def test_every_package_that_the_extras_name_has_a_pinned_version() -> None:
    named = {
        line.split("[")[0].split(">")[0].split("<")[0].lower().replace("_", "-")
        for line in run(sys.executable, "scripts/requirements.py", "dev").stdout.splitlines()
    }
    pins = (REPOSITORY / "constraints.txt").read_text().splitlines()
    assert named - {pin.split("==")[0].lower().replace("_", "-") for pin in pins} == set()
    assert [pin for pin in pins if "://" in pin or "@" in pin] == []


@pytest.mark.parametrize(("text", "status"), [(LONG, 1), ("def f():\n    return 1\n", 0)], ids=["too long", "short"])
def test_functions_that_grow_too_long_are_named(tmp_path: Path, text: str, status: int) -> None:
    (tmp_path / "module.py").write_text(text)
    done = run(sys.executable, "scripts/checks/function_lengths.py", str(tmp_path))
    assert done.returncode == status
    assert ("module.py:1 f" in done.stdout) == bool(status)


def test_an_unknown_suite_is_refused_before_anything_runs() -> None:
    done = run("scripts/test.sh", "untit")
    assert done.returncode == 2
    assert (
        "there are integration, deployment, browser, hostile, faults, client, cluster, lint, unit, functional"
        in done.stderr
    )


def test_the_program_podium_runs_from_any_folder(tmp_path: Path) -> None:
    program = REPOSITORY / ".venv" / "bin" / "podium"
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "DJANGO_SETTINGS_MODULE")
    }
    done = subprocess.run(
        [program, "verify", "--help"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--digest" in done.stdout
