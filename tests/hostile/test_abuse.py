"""Hostile programs in real containers, with the promised outcomes; none leaves anything behind."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from tests.engines import IN_GVISOR, skip_unless_held
from tests.hostile.programs import escapes, outputs, resources, truth
from tests.hostile.programs.answer import ANSWER
from tests.integration.workers.harness import MIB, SECRET, Bench, Outcome
from workers.engines.spec import FIRST_UID
from workers.protocol.hosts import HeldLimit

Check = Callable[[Outcome], bool]


@dataclass(frozen=True)
class Case:
    """A program and what must come of it: no reason means that it is scored like any other."""

    source: str
    reason: str | None = None
    code: str | None = None
    limits: dict[str, float] = field(default_factory=dict)
    check: Check = lambda outcome: True
    needs: HeldLimit | None = None  # without which nothing here is held to it, or measured


def stage(outcome: Outcome, name: str = "ingestion") -> dict[str, object]:
    """The record of one stage."""
    return next(record for record in outcome.result["stages"] if record["name"] == name)


def number_after(text: str, word: str) -> int:
    """The number after a word in the log."""
    match = re.search(rf"{word}\D*(\d+)", text)
    assert match is not None, text[-500:]
    return int(match.group(1))


def says(*words: str) -> Check:
    """The log holds all of these."""
    return lambda outcome: all(word in outcome.log for word in words)


def silent_about(*words: str) -> Check:
    """The program ran and its log holds none of these."""
    return lambda outcome: bool(outcome.log) and not any(word in outcome.log for word in words)


def ends_near(limit_s: float) -> Check:
    """Killed within seconds of the limit, by the worker's clock; a busy machine kills late."""
    return lambda outcome: (
        stage(outcome)["killed_by"] == "time_limit" and limit_s <= float(str(stage(outcome)["wall_s"])) <= limit_s + 6
    )


def stages_run(*names: str) -> Check:
    """Exactly these stages were started."""
    return lambda outcome: [record["name"] for record in outcome.result["stages"]] == list(names)


SHORT = {"wall_s": 4.0}

RESOURCES = {
    "fork_bomb": Case(
        resources.FORK_BOMB,
        "output_invalid",
        "no_output",
        check=lambda o: number_after(o.log, "stopped at") < 64,
        needs=HeldLimit.PROCESSES,
    ),
    "thread_bomb": Case(
        resources.THREAD_BOMB, check=lambda o: number_after(o.log, "stopped at") < 64, needs=HeldLimit.PROCESSES
    ),
    "zombie_flood": Case(
        resources.ZOMBIE_FLOOD, check=lambda o: number_after(o.log, "stopped at") < 64, needs=HeldLimit.PROCESSES
    ),
    "mem_hog": Case(
        resources.MEM_HOG,
        "memory_limit",
        "out_of_memory",
        check=lambda o: bool(stage(o)["oom_killed"]) and "134217728" in o.result["detail"],
        needs=HeldLimit.MEMORY,
    ),
    "mem_hog_child": Case(
        resources.MEM_HOG_CHILD, check=lambda o: stage(o)["oom_killed"] is True, needs=HeldLimit.MEMORY
    ),
    "disk_fill_output": Case(resources.DISK_FILL, "disk_limit", limits={"output_bytes": 8 * MIB}),
    "disk_fill_output, error caught": Case(
        resources.DISK_FILL_MANY, "disk_limit", limits={"output_bytes": 10 * MIB}, check=says("errno 28")
    ),
    "disk_fill_deleted": Case(resources.DISK_FILL_DELETED, check=says("errno 28")),
    "disk_fill_tmp and disk_fill_rootfs": Case(
        resources.DISK_FILL_TMP,
        limits={"tmp_bytes": 8 * MIB},
        check=says("/tmp ENOSPC", "/ EROFS", "/usr EROFS", "/app/program EROFS", "/etc EROFS"),
    ),
    "shm and sysv_ipc": Case(
        resources.SYSV_IPC,
        "memory_limit",
        "out_of_memory",
        check=lambda o: bool(stage(o)["oom_killed"]),
        needs=HeldLimit.MEMORY,
    ),
    "inode_fill": Case(
        resources.INODE_FILL, "disk_limit", "too_many_files", check=lambda o: number_after(o.log, "stopped at") < 200
    ),
    "more folders than the count": Case(resources.MANY_FOLDERS, "disk_limit", "too_many_files"),
    "sparse_1tb": Case(resources.SPARSE_1TB, "program_error", "exit_code", check=says("File too large")),
    "holes that add up": Case(resources.SPARSE_MANY, "disk_limit", "output_too_large"),
    "stderr_one_line": Case(
        resources.STDERR_ONE_LINE, check=lambda o: len(o.outbox["ingestion.log"]) <= (256 << 10) + 200
    ),
    "stdout_drip": Case(resources.STDOUT_DRIP, check=lambda o: o.log.count(".") == 300),
    "sleep_past_limit": Case(resources.SLEEP_PAST_LIMIT, "time_limit", "time_limit", SHORT, ends_near(4.0)),
    "partial_output_then_hang": Case(
        resources.PARTIAL_THEN_HANG, "time_limit", "time_limit", SHORT, stages_run("ingestion")
    ),
    "hang_at_exit": Case(resources.HANG_AT_EXIT, "time_limit", "time_limit", SHORT, ends_near(4.0)),
    "ignore_sigterm": Case(resources.IGNORE_SIGTERM, "time_limit", "time_limit", SHORT, ends_near(4.0)),
    "sigstop_self": Case(resources.SIGSTOP_SELF, "time_limit", "time_limit", SHORT, ends_near(4.0)),
    "busy_forever": Case(
        resources.BUSY_FOREVER,
        "time_limit",
        "time_limit",
        {"wall_s": 2.0},  # each second of it is one of a core
        lambda o: float(str(stage(o)["cpu_s"])) > 0.1,
        HeldLimit.MEMORY,  # without its groups nothing is measured
    ),
    "fd_exhaust": Case(resources.FD_EXHAUST, check=lambda o: number_after(o.log, "stopped at") <= 16384),
    "deep_dirs": Case(resources.DEEP_DIRS, "output_invalid", "too_deep", limits={"output_files": 4000}),
    "core_dump": Case(
        resources.CORE_DUMP,
        "program_error",
        "exit_code",
        check=lambda o: set(o.archived()) == {"answer.txt"} and "SIGABRT" in o.result["detail"],
    ),
    "priority_grab": Case(resources.PRIORITY_GRAB, check=silent_about("GRABBED")),
    "kill_everyone": Case(resources.KILL_EVERYONE, "program_error", "exit_code"),
}

TRUTH = {
    "fake_oom_exit": Case(
        truth.FAKE_OOM_EXIT,
        "program_error",
        "exit_code",
        check=lambda o: stage(o)["oom_killed"] is False and "137" in o.result["detail"],
    ),
    "fake_sigterm_exit": Case(truth.FAKE_SIGTERM_EXIT, "program_error", "exit_code"),
    "fake_docker_error": Case(truth.FAKE_DOCKER_ERROR, "program_error", "exit_code"),
    "fake_infra_marker": Case(
        truth.FAKE_INFRA_MARKER, "program_error", "exit_code", check=lambda o: "retry" not in str(o.result["detail"])
    ),
    "fake_time_report": Case(
        truth.FAKE_TIME_REPORT, check=lambda o: float(str(stage(o)["wall_s"])) >= 1 and "CLOCK SET" not in o.log
    ),
    "crash_after_output": Case(
        truth.CRASH_AFTER_OUTPUT, "program_error", "exit_code", check=lambda o: o.archived() == {"answer.txt": b"0.5"}
    ),
    "no_output": Case(truth.NO_OUTPUT, "output_invalid", "no_output", check=stages_run("ingestion")),
    "fake_scores": Case(truth.FAKE_SCORES, check=lambda o: o.result["scores"] == {"score": 0.5}),
    "log_garbage": Case(truth.LOG_GARBAGE),
}

ESCAPES = {
    "read_reference": Case(escapes.READ_REFERENCE, check=says("FOUND ['/app/program/main.py'] False")),
    "env_dump": Case(
        escapes.ENV_DUMP,
        check=lambda o: (
            not re.search(r"(?i)token|secret|proxy|podium(?!_seed)|docker|kube|aws", o.log.split("HOSTS")[0])
            and "runner" in o.log
        ),
    ),
    "proc_snoop": Case(
        escapes.PROC_SNOOP,
        check=lambda o: number_after(o.log, "PIDS .1,") < 64 and "demo" not in o.log and o.log.count("PIDS") == 1,
    ),
    "network_egress, metadata_service and docker_socket": Case(
        escapes.NETWORK_EGRESS,
        check=lambda o: "CONNECTED" not in o.log and "SOCKET True" not in o.log and "INTERFACES ['lo']" in o.log,
    ),
    "socket_families": Case(
        escapes.SOCKET_FAMILIES, check=lambda o: {int(n) for n in re.findall(r"OPEN (\d+)", o.log)} <= {1, 2, 10, 16}
    ),
    "syscall_probe": Case(escapes.SYSCALL_PROBE, check=lambda o: "REACHED" not in o.log and "namespace: -1" in o.log),
    "kernel_writes": Case(
        escapes.KERNEL_WRITES, check=lambda o: not re.search(r"WROTE (?!/proc/self/oom)|True|MADE A DEVICE", o.log)
    ),
    "setuid_hunt": Case(
        escapes.SETUID_HUNT,
        check=lambda o: (
            says("SETUID []", f"CAPS {'0' * 16} {'0' * 16} {'0' * 16} {'0' * 16}", "NNP 1")(o)
            and FIRST_UID <= number_after(o.log, "NNP 1 UID") < 65_536
        ),
    ),
    "tamper_inputs": Case(escapes.TAMPER_INPUTS, check=lambda o: "CHANGED" not in o.log),
}

OUTPUTS = {
    "symlink_output": Case(outputs.SYMLINK_OUTPUT, "output_invalid", "link_in_output", check=stages_run("ingestion")),
    "symlink to a host file": Case(outputs.SYMLINK_ABSOLUTE, "output_invalid", "link_in_output"),
    "symlink to a folder": Case(outputs.SYMLINK_FOLDER, "output_invalid", "link_in_output"),
    "output_dir_swap": Case(outputs.OUTPUT_DIR_SWAP, check=lambda o: "SWAPPED" not in o.log),
    "symlink_race": Case(outputs.SYMLINK_RACE, "output_invalid", "link_in_output"),
    "hardlink_output": Case(outputs.HARDLINK_OUTPUT, "output_invalid", "link_in_output"),
    "a pipe named scores.json": Case(outputs.FIFO_SCORES, "output_invalid", "special_file"),
    "a unix socket": Case(outputs.UNIX_SOCKET, "output_invalid", "special_file"),
    "a newline in a name": Case(outputs.NEWLINE_NAME, "output_invalid", "bad_name"),
    "a name that is not UTF-8": Case(outputs.NON_UTF8_NAME, "output_invalid", "bad_name"),
    "text that is not UTF-8": Case(outputs.NON_UTF8_TEXT, "output_invalid", "not_utf8", check=stages_run("ingestion")),
    "a name that turns the text around": Case(outputs.BIDI_NAME, "output_invalid", "bad_name"),
    "a name with backslashes": Case(outputs.BACKSLASH_NAME, "output_invalid", "bad_name"),
    "markup in a name": Case(outputs.HTML_NAME, check=lambda o: "<script>alert(1)<script>" in o.archived()),
    "a name of 255 bytes": Case(outputs.LONG_NAME),
    "unreadable_output": Case(outputs.UNREADABLE_OUTPUT, check=lambda o: o.result["scores"] == {"score": 0.5}),
    "a hidden folder": Case(
        outputs.HIDDEN_FOLDER, check=lambda o: o.archived() == {"answer.txt": b"0.5", "hidden/deep/x": b"x"}
    ),
    "a hidden folder that grows": Case(outputs.HIDDEN_GROWTH, "disk_limit", "output_full"),
    "zip_bomb_output": Case(outputs.ZIP_BOMB_OUTPUT, check=lambda o: len(o.outbox["predictions.zip"]) < 1 * MIB),
}
# gVisor's kernel answers by itself: what it lets a program have there is nothing of the host's, and is gone with it.
DIFFERENT_IN_GVISOR = {
    "fork_bomb": Case(  # each process costs gVisor memory, too
        resources.FORK_BOMB,
        "output_invalid",
        "no_output",
        limits={"memory_bytes": 512 * MIB},
        check=lambda o: number_after(o.log, "stopped at") < 64,
    ),
    "mem_hog_child": Case(resources.MEM_HOG_CHILD, "memory_limit", "out_of_memory"),
    "disk_fill_tmp and disk_fill_rootfs": Case(
        resources.DISK_FILL_TMP,
        limits={"tmp_bytes": 8 * MIB},
        check=says("/tmp ENOSPC", "/ EACCES", "/usr EACCES", "/app/program EACCES", "/etc EACCES"),
    ),
    "priority_grab": Case(resources.PRIORITY_GRAB),
    "kernel_writes": Case(escapes.KERNEL_WRITES, check=silent_about("WROTE /sys", "WROTE /proc/sys", "MADE A DEVICE")),
    "setuid_hunt": Case(escapes.SETUID_HUNT, "program_error", "exit_code", check=says("SETUID []", "CapAmb")),
    "a pipe named scores.json": Case(outputs.FIFO_SCORES),
    "a unix socket": Case(outputs.UNIX_SOCKET),
}
# Outputs that are watched, as no file system bounds them: the program meets no error before it is ended.
WATCHED = {
    "disk_fill_output, error caught": Case(
        resources.DISK_FILL_MANY, "disk_limit", limits={"output_bytes": 10 * MIB, "output_files": 10_000}
    ),
    "disk_fill_deleted": Case(resources.DISK_FILL_DELETED, check=says("errno 27")),  # the limit of each single file
    "inode_fill": Case(resources.INODE_FILL, "disk_limit", "too_many_files"),
}
ALL = RESOURCES | TRUTH | ESCAPES | OUTPUTS
HERE = ALL | DIFFERENT_IN_GVISOR if IN_GVISOR else ALL
if IN_GVISOR:
    HERE.pop("syscall_probe")  # it asks the host's kernel, which does not answer


@pytest.mark.parametrize("name", HERE)
def test_a_hostile_program_comes_to_the_catalogued_end(bench: Bench, name: str) -> None:
    case = HERE[name] if bench.worker.quota else (HERE | WATCHED)[name]
    if case.needs is not None:
        skip_unless_held(bench.worker.facts, case.needs)
    outcome = bench.run(bench.code_job(case.source, **case.limits))
    seen = (outcome.reason, outcome.code, outcome.result["detail"], outcome.log[-1500:])
    assert outcome.reason == case.reason, seen
    assert outcome.result["outcome"] == ("failed" if case.reason else "finished"), seen
    if case.code is not None:
        assert outcome.code == case.code, seen
    assert case.check(outcome), seen
    assert SECRET not in str(outcome.result)


def test_a_flood_of_output_is_cut_to_head_and_tail_within_bounded_memory(bench: Bench) -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    outcome = bench.run(bench.code_job(resources.STDOUT_FLOOD))
    assert process.memory_info().rss - before < 100 * MIB
    log = outcome.log
    assert len(log) <= (256 << 10) + 200
    assert log.startswith("the first line")
    assert "longer than its limit of 262144 bytes" in log
    assert log.rstrip().endswith("the last line")
    assert outcome.reason is None


def test_a_daemon_writes_nothing_after_the_recorded_end(bench: Bench) -> None:
    execution = bench.prepared(bench.code_job(resources.DAEMON_OUTLIVES))
    execution.execute()
    alive = execution.staged.stages["ingestion"].volume.path / "alive"
    size = alive.stat().st_size
    time.sleep(0.2)
    assert alive.stat().st_size == size > 0
    finished = execution.result({}).stages[0].finished_at
    assert alive.stat().st_mtime <= datetime.fromisoformat(finished).timestamp() + 0.1
    assert bench.see_through(execution).result["stages"][0]["exit_code"] == 0


def test_nothing_of_a_first_run_is_seen_by_a_second(bench: Bench) -> None:
    first = bench.run(bench.code_job(escapes.RESIDUE))
    second = bench.run(bench.code_job(escapes.RESIDUE + "# of another account\n"))
    assert "RESIDUE []" in first.log
    assert "RESIDUE []" in second.log


def test_space_and_files_are_given_back_to_the_host(bench: Bench) -> None:
    def used() -> int:
        return sum(path.lstat().st_blocks * 512 for path in bench.worker.data_dir.rglob("*"))

    before = used()
    bench.run(bench.code_job(resources.DISK_FILL, output_bytes=64 * MIB))
    bench.run(bench.code_job(resources.INODE_FILL))
    assert used() - before < 4 * MIB  # logs and results
    # Space is held as well by a file system that is still mounted, and by a deleted file that is still open.
    assert not any(str(bench.worker.data_dir) in line for line in [*loop_devices(), *deleted_files_still_open()])


def deleted_files_still_open() -> list[str]:
    """Files without a name that this process, which runs the worker's code, holds open."""
    links = [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return [link for link in links if link.endswith("(deleted)")]


def loop_devices() -> list[str]:
    """Backing files of all loop devices."""
    return [path.read_text().strip() for path in Path("/sys/block").glob("loop*/loop/backing_file")]


def control_groups(pid: int) -> str:
    """The control groups of a process; nothing when it has ended."""
    try:
        return Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return ""


def test_an_ordinary_program_after_all_that_gets_the_usual_score(bench: Bench) -> None:
    outcome = bench.run(bench.code_job(ANSWER))
    assert outcome.result["scores"] == {"score": 0.5}
    assert [pid for pid in psutil.pids() if bench.worker.key in control_groups(pid)] == []
