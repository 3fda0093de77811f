"""`make test` runs suites side by side: whole outputs, a true exit status, and Ctrl-C ends all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.services import REPOSITORY

SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, {scripts!r})
import suites
suites.PATIENCE_S = {patience_s}
suites.OVERDUE_S = {overdue_s}
suites.command = lambda name: ["bash", "-c", {commands!r}.get(name, "true")]
suites.REPOSITORY = Path({folder!r})
sys.exit(suites.main({names!r}))
"""


def started(
    folder: Path, commands: dict[str, str], *, at_once: int = 2, patience_s: float = 20, overdue_s: float = 3600
) -> subprocess.Popen[str]:
    """The runner with other commands in place of the suites'."""
    code = SCRIPT.format(
        scripts=str(REPOSITORY / "scripts"),
        commands=commands,
        folder=str(folder),
        names=[name for name in commands if name != "machine"],
        patience_s=patience_s,
        overdue_s=overdue_s,
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PODIUM_SUITES_AT_ONCE": str(at_once)},
    )


def run(folder: Path, commands: dict[str, str], *, at_once: int = 2) -> tuple[int, list[str]]:
    process = started(folder, commands, at_once=at_once)
    printed, _ = process.communicate(timeout=60)
    return process.returncode, printed.splitlines()


def test_a_name_that_no_suite_has_runs_nothing(tmp_path: Path) -> None:
    status, printed = run(tmp_path, {"lint": "echo ran", "hostil": "true"})
    assert (status, len(printed)) == (2, 1)
    assert "no suite is called hostil; there are integration, deployment," in printed[0]


@pytest.mark.parametrize("at_once", [1, 2, 6])
def test_each_suites_output_stands_in_one_piece_under_its_heading(tmp_path: Path, at_once: int) -> None:
    talks = "for number in 1 2 3; do echo {name} $number; sleep 0.05; done"
    names = ("lint", "unit", "hostile", "browser")
    status, printed = run(tmp_path, {name: talks.format(name=name) for name in names}, at_once=at_once)
    assert status == 0
    for name in names:
        heading = printed.index(f"== {name}")
        assert printed[heading + 1 : heading + 4] == [f"{name} {number}" for number in (1, 2, 3)]
        assert printed[heading + 4].startswith(f"test: {name}")
    assert [line.split()[:2] for line in printed[printed.index("== all suites") + 1 :]] == [
        [name, "passed"] for name in names
    ]


@pytest.mark.parametrize("fails", ["lint", "browser"], ids=["the first to end", "the last to end"])
def test_one_suite_that_fails_fails_the_run_and_the_others_are_seen_through(tmp_path: Path, fails: str) -> None:
    commands = {"lint": "echo clean", "browser": "sleep 0.5; echo seen"}
    status, printed = run(tmp_path, commands | {fails: commands[fails] + "; exit 3"})
    assert status == 1
    outcomes = dict(line.split()[:2] for line in printed[printed.index("== all suites") + 1 :])
    assert outcomes == {"lint": "passed", "browser": "passed"} | {fails: "FAILED"}
    assert {"clean", "seen"} <= set(printed)


def test_two_suites_run_at_once_and_one_that_computes_beside_them(tmp_path: Path) -> None:
    """Each of the three waits for the other two to begin; the last two see one before them end."""
    others = f"[ -e {tmp_path}/{{1}} ] && [ -e {tmp_path}/{{2}} ]"
    meets = f"touch {tmp_path}/{{0}}; until {others}; do sleep 0.02; done; touch {tmp_path}/{{0}}-end"
    commands = {
        "hostile": meets.format("hostile", "browser", "lint"),
        "browser": meets.format("browser", "hostile", "lint"),
        "lint": meets.format("lint", "hostile", "browser"),
        "faults": f"[ -e {tmp_path}/hostile-end ] || [ -e {tmp_path}/browser-end ]",
        "functional": f"[ -e {tmp_path}/lint-end ]",
    }
    assert run(tmp_path, commands)[0] == 0


def test_what_computes_begins_while_the_machine_is_prepared_and_the_rest_after_that(tmp_path: Path) -> None:
    commands = {
        "machine": f"until [ -e {tmp_path}/unit-end ]; do sleep 0.02; done; touch {tmp_path}/machine-end",
        "unit": f"[ ! -e {tmp_path}/machine-end ] && touch {tmp_path}/unit-end",
        "hostile": f"[ -e {tmp_path}/machine-end ]",
    }
    assert run(tmp_path, commands)[0] == 0


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_machine_that_cannot_be_prepared_fails_the_suites_that_need_it_and_says_why(
    tmp_path: Path, at_once: int
) -> None:
    commands = {"machine": "echo no space is left; exit 1", "lint": "echo clean", "hostile": f"touch {tmp_path}/begun"}
    status, printed = run(tmp_path, commands, at_once=at_once)
    assert status == 1
    assert {"no space is left", "clean"} <= set(printed)
    outcomes = dict(line.split()[:2] for line in printed[printed.index("== all suites") + 1 :])
    assert outcomes == {"lint": "passed", "hostile": "FAILED"}
    assert not (tmp_path / "begun").exists()


def test_one_at_a_time_is_one_whatever_it_does(tmp_path: Path) -> None:
    alone = f"mkdir {tmp_path}/taken && sleep 0.3 && rmdir {tmp_path}/taken"
    assert run(tmp_path, dict.fromkeys(("lint", "browser", "unit"), alone), at_once=1)[0] == 0


@pytest.fixture
def stubborn(tmp_path: Path) -> dict[str, str]:
    """Suites that leave a note when they are interrupted, and one that does not listen."""
    note = f"trap 'echo stopped >{tmp_path}/{{name}}; exit 1' INT; touch {tmp_path}/{{name}}-begun; while :; do sleep 0.05; done"
    deaf = f"trap '' INT; touch {tmp_path}/deaf-begun; exec sleep 600"
    return {"lint": note.format(name="lint"), "browser": note.format(name="browser"), "hostile": deaf}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupt_reaches_every_suite_and_what_does_not_listen_is_killed(
    tmp_path: Path, stubborn: dict[str, str], number: int
) -> None:
    process = started(tmp_path, stubborn, at_once=3, patience_s=5)
    give_up = time.monotonic() + 120
    while len(list(tmp_path.glob("*-begun"))) < 3:
        assert time.monotonic() < give_up
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted" in printed
    assert [(tmp_path / name).read_text() for name in ("lint", "browser")] == ["stopped\n", "stopped\n"]
    assert [child for child in children if child.is_running() and child.status() != psutil.STATUS_ZOMBIE] == []


def test_a_suite_that_hangs_is_interrupted_and_has_failed_with_what_it_said(
    tmp_path: Path, stubborn: dict[str, str]
) -> None:
    process = started(tmp_path, stubborn | {"unit": "true"}, at_once=2, patience_s=2, overdue_s=10)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "hostile has not ended after 10 s; it is interrupted" in printed
    assert [(tmp_path / name).read_text() for name in ("lint", "browser")] == ["stopped\n", "stopped\n"]
    outcomes = dict(line.split()[:2] for line in printed.split("== all suites")[1].splitlines() if line)
    assert outcomes == {"lint": "FAILED", "browser": "FAILED", "hostile": "FAILED", "unit": "passed"}
