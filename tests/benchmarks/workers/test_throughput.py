"""The time that a worker adds to the bare containers: ratios printed in one run, nothing asserted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from competitions.compute.wakeups import wake
from competitions.runs.models import Run
from competitions.submissions.states import FINAL, State
from tests.integration.workers.harness import Bench, make_worker
from tests.integration.workers.site import ANSWER, SmallSite, WorkerProcess, ended
from tests.waiting import wait_for
from workers.engines.docker.config import container_config

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runtime_image")]
COUNT = 20


@pytest.fixture(scope="session", autouse=True)
def _static_folder() -> None:
    """The site's server warns when it has no folder for static files, and warnings are errors."""
    from django.conf import settings

    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


def prediction_job(bench: Bench) -> dict[str, Any]:
    """Predictions have one container: the scoring program's."""
    pair = bench.code_job(ANSWER)
    scoring = pair["stages"][1]
    scoring["mounts"][-1] = bench.mount("/app/input/res", {"answer.txt": "0.25"})
    return pair | {"stages": [scoring]}


def bare_s(bench: Bench, job: dict[str, Any]) -> float:
    """Seconds to make, start, wait for and remove the containers of one submission in turn."""
    execution = bench.prepared(job)
    stages = list(execution.staged.stages.values())
    api = bench.docker
    for stage in stages:
        bench.worker.engine.remove(stage.container)
    started = time.monotonic()
    for stage in stages:
        container = api.create_container_from_config(container_config(stage.spec, f"/podium/{stage.spec.group}"))["Id"]  # type: ignore[no-untyped-call]
        api.start(container)
        api.wait(container)
        api.remove_container(container)
    seconds = time.monotonic() - started
    execution.destroy()
    return seconds


def wait_for_end(runs: list[Run]) -> None:
    """Wait until all runs have ended, polling often and cheaply so as not to disturb the measurement."""
    keys = [run.pk for run in runs]
    wait_for(lambda: not Run.objects.filter(pk__in=keys).exclude(state__in=FINAL).exists(), 120, every_s=0.01)


def single_s(submit: Callable[[], list[Run]]) -> float:
    """Median seconds from a submission to its score on an idle worker, of eight."""
    seconds = []
    for _ in range(8):
        started = time.monotonic()
        runs = submit()
        wait_for_end(runs)
        seconds.append(time.monotonic() - started)
        (run,) = ended(runs)
        assert run.state == State.FINISHED, run.detail
        time.sleep(0.3)  # the last one is cleared away
    return statistics.median(seconds)


def test_runs_in_a_row_and_a_single_run_beside_the_bare_containers(
    two_web_processes: int, tmp_path: Path, runtime_image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{two_web_processes}"
    (tmp_path / "files").mkdir()
    bench = Bench(make_worker(tmp_path / "bare", runtime_image), tmp_path / "files", runtime_image)
    bare_s(bench, bench.code_job(ANSWER))
    before = [bare_s(bench, bench.code_job(ANSWER)) for _ in range(COUNT)]
    site = SmallSite(url)
    worker = WorkerProcess(site, tmp_path, name=f"bench-{site.queue.name}").start()
    ended(site.submit())  # the cache is warm afterwards
    single, prediction = single_s(site.submit), single_s(site.submit_predictions)
    site.queue.is_paused = True
    site.queue.save()
    runs = site.submit(count=COUNT)
    site.queue.is_paused = False
    site.queue.save()
    started = time.monotonic()
    wake(site.queue.wakeup_queue)
    wait_for_end(runs)
    in_a_row = time.monotonic() - started
    rows = ended(runs)
    worker.end()
    after = [bare_s(bench, bench.code_job(ANSWER)) for _ in range(COUNT)]
    bare = statistics.mean([*before, *after])
    bare_one = statistics.mean(bare_s(bench, prediction_job(bench)) for _ in range(COUNT))
    with capsys.disabled():
        print(f"\n  bare pair of containers     {bare * 1000:6.0f} ms")
        print(f"  code submission to score    {single * 1000:6.0f} ms  ({(single - bare) * 1000:+.0f} ms)")
        print(f"  bare scoring container      {bare_one * 1000:6.0f} ms")
        print(f"  predictions to score        {prediction * 1000:6.0f} ms  ({(prediction - bare_one) * 1000:+.0f} ms)")
        print(
            f"  {COUNT} in a row, each           {in_a_row / COUNT * 1000:6.0f} ms  ({bare * COUNT / in_a_row:.0%} of the bare rate)"
        )
    assert {row.state for row in rows} == {State.FINISHED}
