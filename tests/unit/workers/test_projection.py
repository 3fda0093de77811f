"""The time of a run on other hardware: an interval that holds every load's ratio."""

from __future__ import annotations

import pytest

from workers.projection import Interval, project, relative_speed
from workers.protocol.hosts import Calibration, CpuTimes, GpuTimes
from workers.protocol.smoke import WholeTime

SAME = Interval(1.0, 1.0, 1.0)


def measured(*, loads: int = 1, gpu_s: float | None = None, **cpu: float) -> Calibration:
    gpus = () if gpu_s is None else (GpuTimes(model="a GPU", fma_s=gpu_s, memory_s=gpu_s),)
    return Calibration(loads=loads, cpu=CpuTimes(**cpu), gpus=gpus)


HOME = measured(interpreter_s=2.0, digest_s=1.0, copy_s=1.0, everywhere_s=4.0, gpu_s=1.0)


def test_the_interval_goes_over_every_load_of_every_worker() -> None:
    there = [
        measured(interpreter_s=1.0, digest_s=1.0, copy_s=1.0),
        measured(interpreter_s=4.0, digest_s=1.0, copy_s=1.0),
    ]
    speed = relative_speed(HOME, there, on_gpu=False, cores=1)
    assert speed is not None
    assert (speed.low, speed.high) == (0.5, 2.0)
    assert speed.middle == pytest.approx(1.0)


@pytest.mark.parametrize(("cores", "low"), [(1, 1.0), (4, 0.25)])
def test_the_load_on_all_cores_counts_where_the_budget_has_several(cores: float, low: float) -> None:
    there = [measured(interpreter_s=2.0, everywhere_s=1.0)]
    speed = relative_speed(HOME, there, on_gpu=False, cores=cores)
    assert speed is not None
    assert speed.low == low


def test_loads_of_gpus_count_where_the_run_has_one() -> None:
    there = [measured(interpreter_s=2.0, gpu_s=3.0)]
    with_gpu, without = (relative_speed(HOME, there, on_gpu=on_gpu, cores=1) for on_gpu in (True, False))
    assert with_gpu is not None
    assert without is not None
    assert (with_gpu.high, without.high) == (3.0, 1.0)


@pytest.mark.parametrize(
    "there", [[], [measured(loads=2, interpreter_s=1.0)], [measured()]], ids=["none", "other loads", "no times"]
)
def test_what_cannot_be_compared_is_not_projected(there: list[Calibration]) -> None:
    assert relative_speed(HOME, there, on_gpu=False, cores=1) is None


def test_a_projection_of_the_whole_needs_to_know_its_size() -> None:
    known = project(2.0, Interval(0.5, 1.0, 2.0), scale=10, limit_s=60)
    assert (known.smoke_s, known.whole) == (Interval(1.0, 2.0, 4.0), WholeTime(1.0, 40.0))
    assert project(2.0, SAME, scale=None, limit_s=60).whole is None


@pytest.mark.parametrize(
    ("start_s", "grows_s"),
    [(1.8, 0.2), (0.0, 2.0), (2.0, 0.0)],
    ids=["mostly start-up", "no start-up", "nothing grows"],
)
def test_the_projection_holds_whatever_part_of_the_run_is_start_up(start_s: float, grows_s: float) -> None:
    whole = project(start_s + grows_s, SAME, scale=150, limit_s=60).whole
    assert whole is not None
    assert whole.least_s <= start_s + 150 * grows_s <= whole.most_s
    assert whole.verdict(60) == "unclear"
