"""The workers that get code which is to run in gVisor, or that needs a limit."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from competitions.catalog.changes.phases import change_phase
from competitions.catalog.models.sections.runs import Isolation
from competitions.compute.models import ComputeWorker
from competitions.runs import dispatch
from competitions.runs.models import Run
from competitions.runs.worker_api.jobs import job_for
from competitions.submissions.states import Kind
from tests.scenario import Scenario
from workers.protocol.hosts import HeldLimit
from workers.protocol.hosts import Isolation as Kinds


def worker(site: Scenario, **host: Any) -> ComputeWorker:
    """A worker that describes its host like this."""
    registered = site.worker()
    registered.host |= host
    registered.save()
    return registered


def claimed(site: Scenario, by: ComputeWorker) -> Run | None:
    return dispatch.run_claim(worker=by, free_gpus=0, now=site.now)


def sandbox(site: Scenario) -> None:
    site.phase.isolation = Isolation.SANDBOXED
    site.phase.save()


def test_code_of_a_phase_in_gvisor_goes_to_a_worker_that_has_it(site: Scenario) -> None:
    sandbox(site)
    run = site.submit(kind=Kind.CODE).runs.get()
    assert claimed(site, worker(site)) is None
    assert claimed(site, worker(site, isolations=["standard"])) is None
    given = claimed(site, worker(site, isolations=["standard", "sandboxed"]))
    assert given == run
    assert job_for(given).isolation == Kinds.SANDBOXED


def test_a_phase_that_asks_for_gvisor_later_is_asked_again_when_its_run_is_claimed(site: Scenario) -> None:
    site.submit(kind=Kind.CODE)
    sandbox(site)
    assert claimed(site, worker(site)) is None


def test_predictions_of_such_a_phase_are_scored_anywhere(site: Scenario) -> None:
    sandbox(site)
    site.submit()
    assert claimed(site, worker(site)) is not None


def test_code_of_other_phases_is_unaffected(site: Scenario) -> None:
    site.submit(kind=Kind.CODE)
    given = claimed(site, worker(site, isolations=["standard", "sandboxed"]))
    assert given is not None
    assert job_for(given).isolation == Kinds.STANDARD


def test_a_phase_cannot_ask_for_gvisor_and_a_gpu(site: Scenario) -> None:
    site.phase.isolation, site.phase.gpus = Isolation.SANDBOXED, 1
    with pytest.raises(ValidationError, match="gives programs no GPU"):
        change_phase(site.phase, tasks=list(site.phase.tasks.all()), now=site.now)


@pytest.mark.parametrize("unheld", [HeldLimit.MEMORY, HeldLimit.PROCESSES])
def test_a_host_that_cannot_bound_memory_or_processes_gets_nothing(site: Scenario, unheld: HeldLimit) -> None:
    site.submit()
    assert claimed(site, worker(site, unheld=[unheld])) is None


@pytest.mark.parametrize(
    ("host", "slots", "is_given"),
    [
        ({"cores": 1}, 1, True),
        ({"cores": 2}, 1, False),
        ({"cores": 1}, 2, False),
        ({}, 1, False),
    ],
)
def test_a_host_that_cannot_bound_cores_gets_runs_that_may_use_all_of_them(
    site: Scenario, host: dict[str, int], slots: int, is_given: bool
) -> None:
    site.submit()
    by = worker(site, unheld=[HeldLimit.CPUS], **host)
    by.slots = slots
    by.save()
    assert (claimed(site, by) is not None) == is_given
