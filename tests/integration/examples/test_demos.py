"""Demos run from nothing: site, worker and containers, each baseline scored as expected.

The one with code; `make soak` runs them all.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from config.demo.content import DEFAULT, DEMOS
from tests.services import REPOSITORY
from tests.soak import mostly_in_soak

NAMES = mostly_in_soak(sorted(DEMOS), always=[DEFAULT])


@pytest.mark.timeout(1260)
@pytest.mark.parametrize("name", NAMES)
def test_a_demo_is_scored_as_expected(name: str, tmp_path: Path) -> None:
    command = ["scripts/demo.sh", "--check", *(("--teams", "1") if name == DEFAULT else ("--content", name))]
    # As a user's shell has it: nothing of the tests' own settings.
    ours = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE")
    environment = {key: value for key, value in os.environ.items() if key not in ours and not key.startswith("PODIUM_")}
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env=environment | {"PODIUM_DATA_DIR": str(tmp_path / "data")},
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Leaderboard" in done.stdout
    assert ("They are scored" in done.stdout) == (name == DEFAULT), "its simulated teams"
