"""A worker that is restarted goes on with every run that its predecessor left, and takes nothing away from under it."""

from __future__ import annotations

from pathlib import Path

from tests.unit.workers.restarts import Restarts, within


def test_the_files_of_a_run_that_is_not_adopted_yet_stay_in_a_cache_over_its_cap(tmp_path: Path) -> None:
    restarts = Restarts(tmp_path, cache_bytes=1)
    run = restarts.leave(restarts.job("r1")).started("ingestion")
    service = restarts.service()
    adopters = service._adopt_all()
    service._sweep()
    assert list(tmp_path.rglob("cache/open/*/tree/main.py")), "the container reads it"
    for thread in adopters:
        thread.start()
    within(lambda: not service._held.any_adopting, "the run is adopted")
    service._sweep()
    assert list(tmp_path.rglob("cache/open/*/tree/main.py")), "the run has acquired it again"
    run.ended("ingestion")
    within(lambda: restarts.engine.observe(run.container("scoring")).started_at, "the scoring program runs")
    run.ended("scoring")
    within(lambda: not service._held.snapshot(), "the run is over")
    service._sweep()
    assert not list(tmp_path.rglob("cache/open/*/tree/main.py"))
    assert restarts.site.results["r1"].scores == {"mae": 0.5}
