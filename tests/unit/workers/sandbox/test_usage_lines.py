"""Lines of CPU, memory and GPU: few points however long a stage runs, and no use is lost."""

from __future__ import annotations

import itertools
import time

import pytest

from workers.protocol.calls import MAX_POINTS, StageUsage
from workers.protocol.messages import read_message
from workers.sandbox.usage import Reading, UsageSampler, UsageSeries


def test_each_point_says_what_was_used_since_the_one_before() -> None:
    series = UsageSeries("ingestion")
    series.add(1.0, Reading(0.5, 100, 0.25, 7))
    series.add(3.0, Reading(4.5, 300, 2.25, 9))
    usage = series.said()
    assert usage.at_s == (1.0, 3.0)
    assert usage.cpu_cores == (0.5, 2.0)
    assert usage.memory_bytes == (100, 300)
    assert usage.gpu_share == (0.25, 1.0)
    assert usage.gpu_memory_bytes == (7, 9)


@pytest.mark.parametrize("seconds", [99, 100, 101, 1000, 14_400])
def test_a_stage_of_hours_has_as_few_points_as_one_of_minutes(seconds: int) -> None:
    series = UsageSeries("ingestion")
    for second in range(1, seconds + 1):
        series.add(float(second), Reading(2.0 * second, 10**9 if second == seconds // 2 else 10**6))
    usage = series.said()
    assert min(seconds, MAX_POINTS // 2) <= len(usage.at_s) <= MAX_POINTS
    assert usage.at_s[-1] == seconds
    assert set(usage.cpu_cores) == {2.0}
    assert max(value or 0 for value in usage.memory_bytes) == 10**9, "a peak stays"
    ends = [0.0, *(at for at in usage.at_s if at is not None)]
    widths = [last - first for first, last in itertools.pairwise(ends)]
    assert max(widths[:-1]) <= 4 * min(widths[:-1]), "the whole time is drawn alike"


def test_what_is_not_known_is_a_gap() -> None:
    series = UsageSeries("scoring")
    series.add(1.0, Reading(None, None))
    series.add(2.0, Reading(3.0, 5))
    series.add(3.0, Reading(4.0, 5))
    assert series.said().cpu_cores == (None, None, 1.0)
    assert series.said().gpu_share == (None, None, None)


def test_a_stage_that_was_adopted_goes_on_from_its_own_beginning() -> None:
    series = UsageSeries("ingestion")
    series.add(3600.0, Reading(7200.0, 5))
    series.add(3601.0, Reading(7201.0, 5))
    assert series.said().cpu_cores == (2.0, 1.0)


def test_a_sampler_ends_with_its_stage_and_outlives_what_cannot_be_read() -> None:
    calls, series = [0], UsageSeries("ingestion")

    def read() -> Reading:
        calls[0] += 1
        if calls[0] == 1:
            raise OSError("the group is gone")
        return Reading(1.0, 1)

    sampler = UsageSampler(series, read, started=time.monotonic(), sample_s=0.001)
    sampler.start()
    until = time.monotonic() + 30
    while calls[0] < 3 and time.monotonic() < until:
        time.sleep(0.001)
    sampler.stop()
    sampler.join(30)
    assert not sampler.is_alive()
    assert calls[0] >= 3
    assert series.said().at_s


def test_lines_that_are_too_long_are_cut_and_what_is_no_number_is_a_gap() -> None:
    body = {
        "name": "scoring",
        "at_s": list(range(500)),
        "cpu_cores": ["many", -1, 2],
        "memory_bytes": None,
        "colour": 1,
    }
    line = read_message(StageUsage, body)
    assert len(line.at_s) == MAX_POINTS
    assert line.cpu_cores == (None, None, 2)
    assert line.memory_bytes == ()
