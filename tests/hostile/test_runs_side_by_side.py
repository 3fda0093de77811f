"""Two runs at once: neither uses up the other's share of the kernel, nor sees it or the host."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.engines import IN_GVISOR
from tests.hostile.programs import neighbours
from tests.hostile.programs.answer import ANSWER
from tests.integration.workers.harness import MIB, Bench
from workers.agent.runs.execution import RunExecution
from workers.engines.spec import slot_uid

WAIT_S = 60.0


def wait_for_log(execution: RunExecution) -> None:
    """Until the first stage has printed something."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        log = execution.staged.stages["ingestion"].log
        if log is not None and log.has_live:
            return
        time.sleep(0.05)
    raise AssertionError("the program printed nothing")


def is_starved(bench: Bench, resource: str, is_same_user: bool) -> bool:
    """True where the kernel counts the resource for both runs together."""
    if IN_GVISOR:  # it counts for each run by itself, whoever its user is
        return False
    if bench.worker.facts.rootless:  # all are one user outside, and signals are counted for each name space as well
        return resource != "pending signals"
    return is_same_user


@pytest.mark.parametrize("resource", neighbours.EXHAUST)
@pytest.mark.parametrize(("slot", "starved"), [(1, False), (0, True)], ids=["another slot", "control: the same user"])
def test_one_run_cannot_use_up_what_the_kernel_counts_for_a_user(
    bench: Bench, resource: str, slot: int, starved: bool
) -> None:
    exhausts, uses = neighbours.EXHAUST[resource]
    greedy = bench.prepared(bench.code_job(exhausts + neighbours.HOLD + ANSWER, memory_bytes=512 * MIB, pids=256))
    modest = bench.prepared(bench.code_job(uses + ANSWER), slot=slot)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(bench.see_through, greedy, alone=False)
        wait_for_log(greedy)
        second = bench.see_through(modest, alone=False)
        assert ("STARVED" in second.log) == is_starved(bench, resource, starved), (second.log, first.result().log)
        first.result()
    bench.assert_nothing_left()


def test_the_container_has_the_user_of_its_slot_and_a_share_of_the_hosts_open_files(bench: Bench) -> None:
    source = """
import os, resource
print(os.getuid(), *resource.getrlimit(resource.RLIMIT_NOFILE), *resource.getrlimit(resource.RLIMIT_NPROC))
"""
    execution = bench.prepared(bench.code_job(source + ANSWER, pids=256), slot=5)
    uid, files, _, processes, _ = map(int, bench.see_through(execution).log.split())
    assert uid == slot_uid(bench.worker.key, 5)
    assert processes == (256 if IN_GVISOR else 2 * 256 + 64)
    host_wide = int(Path("/proc/sys/fs/file-max").read_text())
    assert files == 1024 or (256 * files <= host_wide // 4 and files <= 16384)


def test_paths_devices_and_leases_of_the_host_are_not_seen(bench: Bench) -> None:
    execution = bench.prepared(bench.code_job(neighbours.HOST_FACTS + ANSWER))
    outcome = bench.see_through(execution)
    assert outcome.log.splitlines()[0] == "PLACES []"
    assert execution.folder.lease not in outcome.log
    assert str(bench.worker.data_dir) not in outcome.log
