"""Warnings on a competition name everything that cannot work before anybody runs into it."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from competitions.catalog.models import Column, Competition, Leaderboard
from competitions.catalog.readiness import competition_warnings
from tests.scenario import Scenario


def codes(site: Scenario) -> set[str]:
    return {warning.code for warning in competition_warnings(Competition.objects.get(pk=site.competition.pk))}


def change(site: Scenario, **fields: object) -> None:
    for name, value in fields.items():
        setattr(site.phase, name, value)
    site.phase.save()


BREAKS: dict[str, Callable[[Scenario], object]] = {
    "no_rules": lambda site: (
        site.competition.registrations.all().delete(),
        site.competition.rules_versions.all().delete(),
    ),
    "no_phase": lambda site: site.competition.phases.all().delete(),
    "no_task": lambda site: site.phase.tasks.clear(),
    "accepts_nothing": lambda site: change(site, accepts_predictions=False, accepts_code=False),
    "no_reference": lambda site: site.phase.tasks.update(reference_data=None),
    "no_input": lambda site: site.phase.tasks.update(input_data=None),
    "phases_overlap": lambda site: change(site, visibility="sealed"),
    "no_gpu_worker": lambda site: change(site, gpus=1),
    "no_sandbox_worker": lambda site: change(site, isolation="sandboxed"),
    "sandbox_with_gpu": lambda site: change(site, isolation="sandboxed", gpus=1),
    "no_worker": lambda site: site.queue.workers.all().delete(),
    "queue_paused": lambda site: type(site.queue).objects.update(is_paused=True),
    "not_published": lambda site: Competition.objects.update(is_published=False),
    "no_board": lambda site: Leaderboard.objects.all().delete(),
    "no_column": lambda site: Column.objects.all().delete(),
    "image_name": lambda site: change(site, docker_image="Not An Image"),
    "no_sample": lambda site: change(
        site, prediction_format={"table": {"id_column": "id", "columns": [{"name": "price"}]}}
    ),
}


@pytest.mark.parametrize("code", list(BREAKS))
def test_each_thing_that_cannot_work_has_its_warning(site: Scenario, code: str) -> None:
    site.worker()
    assert codes(site) == set()
    BREAKS[code](site)
    assert code in codes(site)
    assert all(warning.text.endswith(".") for warning in competition_warnings(site.competition))


def test_phases_one_after_the_other_do_not_overlap(site: Scenario) -> None:
    site.worker()
    assert site.phase.closes_at is not None
    change(site, visibility="sealed", closes_at=site.sealed.opens_at + timedelta(days=1), opens_at=site.sealed.opens_at)
    assert "phases_overlap" in codes(site)
    change(site, opens_at=site.sealed.opens_at - timedelta(days=9), closes_at=site.sealed.opens_at)
    assert codes(site) == set()


@pytest.mark.parametrize(
    ("images", "policy", "expected_text"),
    [
        (None, "never", ""),
        (["podium/runtime:1", "lab/model:2"], "never", ""),
        (["podium/runtime:1"], "never", "nothing is accepted"),
        (["podium/runtime:1"], "missing", "They pull it"),
    ],
    ids=["not known", "it is there", "it is on no host", "it can be pulled"],
)
def test_an_image_that_no_worker_has_is_told_before_a_run(
    site: Scenario, images: list[str] | None, policy: str, expected_text: str
) -> None:
    worker = site.worker()
    worker.images, worker.last_seen_at = images, timezone.now()
    worker.save()
    site.queue.pull_policy = policy
    site.queue.save()
    change(site, docker_image="lab/model:2")
    warnings = competition_warnings(Competition.objects.get(pk=site.competition.pk))
    texts = [warning.text for warning in warnings if warning.code == "no_image" and "lab/model:2" in warning.text]
    assert [expected_text in text for text in texts] == ([True] if expected_text else [])
