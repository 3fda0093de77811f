"""How much a worker adds to the bare containers: ratios printed in one run, nothing asserted about time."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from competitions.compute.bell import ring
from competitions.submissions.states import State
from tests.integration.workers.harness import Bench, make_worker
from tests.integration.workers.site import ANSWER, SmallSite, WorkerProcess, ended
from workers.sandbox.container import container_config

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runtime_image")]
COUNT = 20


@pytest.fixture(scope="session", autouse=True)
def _static_folder() -> None:
    """The site's server warns when it has no folder for static files, and warnings are errors."""
    from django.conf import settings

    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


def bare_pair_s(bench: Bench) -> float:
    """Seconds for the two containers of one code submission, made, started, waited for and removed one after the other."""
    execution = bench.prepared(bench.code_job(ANSWER))
    stages = [execution.staged.stages[name] for name in ("ingestion", "scoring")]
    api = bench.worker.engine.api
    for stage in stages:
        bench.worker.engine.remove(stage.container)
    started = time.monotonic()
    for stage in stages:
        container = api.create_container_from_config(container_config(stage.spec))["Id"]  # type: ignore[no-untyped-call]
        api.start(container)
        api.wait(container)
        api.remove_container(container)
    seconds = time.monotonic() - started
    execution.destroy()
    return seconds


def test_runs_in_a_row_and_a_single_run_beside_the_bare_containers(
    two_web_processes: int, tmp_path: Path, runtime_image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{two_web_processes}"
    (tmp_path / "files").mkdir()
    bench = Bench(make_worker(tmp_path / "bare", runtime_image), tmp_path / "files", runtime_image)
    bare_pair_s(bench)
    before = [bare_pair_s(bench) for _ in range(COUNT)]
    site = SmallSite(url)
    worker = WorkerProcess(site, tmp_path, name=f"bench-{site.queue.name}").start()
    ended(site.submit())  # the cache is warm afterwards
    singles = []
    for _ in range(8):
        started = time.monotonic()
        run = ended(site.submit())[0]
        singles.append(time.monotonic() - started)
        time.sleep(0.3)  # the last one is cleared away
    site.queue.is_paused = True
    site.queue.save()
    runs = site.submit(count=COUNT)
    site.queue.is_paused = False
    site.queue.save()
    started = time.monotonic()
    ring(site.queue.bell)
    rows = ended(runs, 120, every_s=0.2)  # the site is served by this very process: asking often would slow it
    in_a_row = time.monotonic() - started
    worker.end()
    after = [bare_pair_s(bench) for _ in range(COUNT)]
    bare = statistics.mean([*before, *after])
    single = statistics.median(singles)
    with capsys.disabled():
        print(f"\n  bare pair of containers     {bare * 1000:6.0f} ms")
        print(f"  submission to score         {single * 1000:6.0f} ms  ({(single - bare) * 1000:+.0f} ms)")
        print(
            f"  {COUNT} in a row, each           {in_a_row / COUNT * 1000:6.0f} ms  ({bare * COUNT / in_a_row:.0%} of the bare rate)"
        )
    assert {row.state for row in [*rows, run]} == {State.FINISHED}
