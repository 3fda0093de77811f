"""A worker that is a job of a cluster knows its end, its memory, its GPUs, and when to go."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workers.agent.allocation import Allocation, IdleClock, RunAllowance
from workers.agent.config import Config, ConfigError
from workers.agent.host.gpus import GpuError, choose_gpus
from workers.agent.host.janitor import remove_ended_jobs
from workers.agent.runs.handling import HeldRuns
from workers.agent.service import Service, own_folder
from workers.cli import config_from, parser
from workers.protocol.hosts import Gpu

SLURM = {"SLURM_JOB_ID": "7"}
GPUS = [Gpu(uuid=f"GPU-{number}", model="A100", memory_bytes=80 << 30, driver="550") for number in range(4)]


def source(gpus: list[Gpu]) -> Any:
    return SimpleNamespace(devices=lambda: gpus)


def settings(tmp_path: Path, *options: str) -> Config:
    token = tmp_path / "token"
    token.write_text("secret")
    base = ["run", "--site", "https://podium.example.org", "--token-file", str(token), "--data-dir", str(tmp_path)]
    return config_from(parser().parse_args([*base, *options]))


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"CUDA_VISIBLE_DEVICES": "2"}, ["GPU-2"]),
        ({"CUDA_VISIBLE_DEVICES": "3,1"}, ["GPU-3", "GPU-1"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-1"}, ["GPU-1"]),
        ({"SLURM_JOB_GPUS": "1"}, ["GPU-1"]),
        ({"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_GPUS": "3"}, ["GPU-0"]),  # the node hides the others from the job
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, []),
        ({}, []),  # a job that asked for none has none
    ],
)
def test_a_job_of_slurm_uses_the_gpus_of_its_allocation_alone(environ: dict[str, str], expected: list[str]) -> None:
    assert [gpu.uuid for gpu in choose_gpus(source(GPUS), "auto", SLURM | environ)] == expected


def test_outside_of_slurm_a_worker_has_all_gpus() -> None:
    assert choose_gpus(source(GPUS), "auto", {"CUDA_VISIBLE_DEVICES": "2"}) == GPUS


def test_a_gpu_that_the_host_does_not_have_is_named() -> None:
    with pytest.raises(GpuError, match=r"GPU 5, which this host does not have.*gres\.conf"):
        choose_gpus(source(GPUS), "auto", SLURM | {"CUDA_VISIBLE_DEVICES": "5"})


def test_a_run_may_take_what_is_left_before_the_hand_back_and_the_fetching_of_files() -> None:
    job = Allocation(job="7", ends_at=10_000.0, drain_s=100)
    assert job.seconds_left(lambda: 9_000.0) == 800
    assert job.seconds_left(lambda: 9_900.0) == 0
    assert not job.is_over(lambda: 9_899.0)
    assert job.is_over(lambda: 9_900.0)
    assert Allocation().seconds_left() is None


def test_so_many_runs_and_no_more() -> None:
    allowance = RunAllowance(2)
    assert [allowance.take() for _ in range(3)] == [True, True, False]
    assert allowance.is_used_up
    allowance.give_back()
    assert allowance.take()
    assert all(RunAllowance().take() for _ in range(100))


def test_a_worker_is_idle_once_it_has_held_nothing_for_so_long() -> None:
    now = [0.0]
    clock = IdleClock(60, lambda: now[0])
    now[0] = 50.0
    assert not clock.is_idle(busy=True)
    now[0] = 109.0
    assert not clock.is_idle(busy=False)
    now[0] = 110.0
    assert clock.is_idle(busy=False)
    assert not IdleClock(0, lambda: now[0]).is_idle(busy=False), "without a limit it stays"


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--job", "1; reboot", "--job .* must be the id of a cluster's job"),
        ("--ends-at", "2030-01-01", "--ends-at .* in seconds since 1970"),
        ("--ends-at", "-5", "--ends-at"),
        ("--memory-mib", "4G", "--memory-mib must be a whole number"),
        ("--until-idle", "-1", "--until-idle must be a whole number"),
        ("--max-runs", "many", "--max-runs must be a whole number"),
        ("--drain-s", "0", "--drain-s must be a whole number"),
    ],
)
def test_a_wrong_option_is_refused_with_what_would_be_right(
    tmp_path: Path, option: str, value: str, words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        settings(tmp_path, f"{option}={value}")


def test_jobs_that_share_a_node_have_folders_of_their_own(tmp_path: Path) -> None:
    config = settings(tmp_path, "--job", "7", "--ends-at", "2000000000", "--memory-mib", "512")
    assert config.allocation == Allocation("7", 2e9, 512 << 20, 120)
    assert own_folder(config) == tmp_path / "job-7"
    assert own_folder(settings(tmp_path)) == tmp_path


class Engine:
    """Containers by the key of their worker."""

    def __init__(self, containers: dict[str, str]) -> None:
        self.containers = containers

    def list(self, labels: Mapping[str, str]) -> Sequence[str]:
        return [name for name, key in self.containers.items() if key == labels["podium.worker"]]

    def groups(self, key: str) -> Sequence[str]:
        return ()

    def remove(self, container: str) -> None:
        del self.containers[container]


def test_a_job_removes_what_a_killed_one_left_on_the_node_and_nothing_of_one_that_lives(tmp_path: Path) -> None:
    for job in ("job-1", "job-2", "job-3"):
        (tmp_path / job / "runs" / "lease").mkdir(parents=True)
    (tmp_path / "job-1" / "key").write_text("dead")
    (tmp_path / "job-2" / "key").write_text("alive")  # job-3 is about to start: it has no key and no lock yet
    engine = Engine({"a": "dead", "b": "alive", "c": "own"})
    own = tmp_path / "job-4"
    own.mkdir()
    worker: Any = SimpleNamespace(data_dir=own, key="own", engine=engine)
    with (tmp_path / "job-2" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert remove_ended_jobs(worker) == 1
    assert engine.containers == {"b": "alive", "c": "own"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job-2", "job-3", "job-4"]


def test_what_is_held_is_interrupted_but_for_what_finishes() -> None:
    held, interrupted = HeldRuns(), dict[str, str]()
    for lease in ("runs", "finishes", "over"):
        held.add(lease, lambda words, lease=lease: interrupted.update({lease: words}))  # type: ignore[misc]
    held.finishing("finishes")
    held.drop("over")
    held.interrupt_all("the job ends")
    assert interrupted == {"runs": "the job ends"}


@pytest.mark.parametrize(
    ("config", "allocation", "used_up", "is_done"),
    [
        ({"until_idle_s": 0}, Allocation(), False, False),
        ({"until_idle_s": 0}, Allocation(), True, True),
        ({"until_idle_s": 0}, Allocation("7", ends_at=1.0, drain_s=1), False, True),
    ],
)
def test_a_worker_ends_by_itself(
    tmp_path: Path, config: dict[str, Any], allocation: Allocation, used_up: bool, is_done: bool
) -> None:
    allowance = RunAllowance(1)
    if used_up:
        allowance.take()
    worker: Any = SimpleNamespace(
        slots=1,
        host=SimpleNamespace(model_copy=lambda update: None),
        cache=SimpleNamespace(),
        data_dir=tmp_path,
        stopping=threading.Event(),
        allocation=allocation,
        allowance=allowance,
    )
    assert Service(SimpleNamespace(**config), worker, ())._is_done() is is_done  # type: ignore[arg-type]
