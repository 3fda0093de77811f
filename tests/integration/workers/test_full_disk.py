"""A run on a disk that is full of what no run needs: each of its file systems takes the place of that."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.integration.workers.harness import Bench
from tests.integration.workers.mirrors import index_pages, lock_line, serving, wheel_bytes
from tests.integration.workers.test_codabench_programs import FAILING, ingestion, scoring
from tests.integration.workers.test_own_environments import with_packages


@pytest.fixture
def full_disk(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """By the name of a file system, the bytes that are missing for it until the cache has made room."""
    missing: dict[str, int] = {}
    allocate = os.posix_fallocate

    def refuse_once(descriptor: int, offset: int, size: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().stem
        if name not in missing:
            missing[name] = size
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert missing[name] == 0, f"no room was made for {name}"
        allocate(descriptor, offset, size)

    def make_room(needed_bytes: int) -> None:
        for name, size in missing.items():
            if size == needed_bytes:
                missing[name] = 0

    monkeypatch.setattr(os, "posix_fallocate", refuse_once)
    monkeypatch.setattr(bench.worker.cache, "make_room", make_room)
    return missing


def test_outputs_and_copies_of_inputs_find_room(bench: Bench, full_disk: dict[str, int]) -> None:
    first = ingestion(bench, FAILING, {"answer.txt": "0.75"}, prefill="/app/ingested_program")
    outcome = bench.run(bench.job([first, scoring(bench, {"stage_output": "ingestion"})]))
    assert (outcome.reason, outcome.result["scores"]) == (None, {"score": 0.75})
    assert full_disk == dict.fromkeys(["ingestion", "ingestion-inputs", "scoring", "scoring-inputs", "shared-2"], 0)


def test_the_installation_of_packages_finds_room(bench: Bench, full_disk: dict[str, int]) -> None:
    name, wheel = wheel_bytes("small", "6.5")
    with serving(index_pages({name: wheel})) as address:
        outcome = bench.run(with_packages(bench, lock_line("small", wheel, "6.5"), address))
    assert outcome.result["scores"] == {"score": 6.5}, outcome.result
    assert set(full_disk) >= {"environment-python", "environment-install"}


def test_a_disk_without_room_is_not_the_failure_of_a_submission_to_codabench(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    allocate = os.posix_fallocate

    def full(descriptor: int, offset: int, size: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().stem == "ingestion-inputs":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        allocate(descriptor, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    first = ingestion(bench, FAILING, {"answer.txt": "0.75"}, prefill="/app/ingested_program")
    outcome = bench.run(bench.job([first, scoring(bench, {"stage_output": "ingestion"})]))
    assert (outcome.reason, outcome.code) == ("infrastructure", "disk_full")
