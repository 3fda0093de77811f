"""`podium-worker run` ends at once, even while threads of adopted runs wait."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import time
from concurrent.futures import ThreadPoolExecutor
from workers import cli
from workers.agent.config import ConfigError
from workers.agent.site.client import NotWelcome

def run(chosen):
    ThreadPoolExecutor().submit(time.sleep, 300)
    {ending}

cli.COMMANDS["run"] = run
cli.main(["run"])
"""


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        ("return 0", 0, ""),
        ("raise ConfigError('stopped')", 2, "podium-worker: stopped"),
        ("raise NotWelcome(401, 'x', 'unknown token')", 1, "podium-worker: 401 x: unknown token"),
        ("raise RuntimeError('a fault of ours')", 1, "RuntimeError: a fault of ours"),
    ],
)
def test_a_worker_leaves_while_programs_of_adopted_runs_go_on(ending: str, status: int, words: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(ending=ending)], check=False, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == status
    assert words in ended.stdout + ended.stderr
