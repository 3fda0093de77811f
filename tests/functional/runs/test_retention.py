"""Old logs and outputs go after their retention, and unreferenced files a week later."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from competitions.resources.orphans import GRACE, remove_orphans
from competitions.resources.storage import store_bytes
from competitions.resources.stores import object_store
from competitions.runs.models import Run, RunLog, RunOutput
from competitions.runs.records.retention import remove_old
from tests.scenario import Scenario, scenario

pytestmark = pytest.mark.django_db
LATER = timedelta(days=40)


@pytest.fixture
def site() -> Scenario:
    new_site = scenario()
    run = new_site.score(new_site.submit(), 0.5).runs.get()
    RunLog.objects.create(run=run, attempt=1, stream="ingestion", seq=0, text="hello")
    RunOutput.objects.create(run=run, attempt=1, name="predictions.zip", file=store_bytes(b"predictions"))
    return new_site


def test_everything_is_kept_unless_a_setting_says_otherwise(site: Scenario) -> None:
    assert remove_old(now=site.now + LATER) == 0


def test_old_logs_and_outputs_go_and_scores_and_receipts_stay(site: Scenario, settings: Any) -> None:
    settings.KEEP_LOGS_DAYS = settings.KEEP_OUTPUTS_DAYS = 30
    file = RunOutput.objects.get().file
    assert remove_old(now=site.now + timedelta(days=29)) == 0
    assert remove_old(now=site.now + LATER) == 2
    remove_orphans(now=site.now + LATER)
    remove_orphans(now=site.now + LATER + GRACE)
    assert not object_store().exists(file.sha256)
    run = Run.objects.get()
    assert (run.scores, bool(run.receipt["inputs"])) == ({"mae": 0.5}, True)
    assert object_store().exists(run.submission.file_id)


def test_what_runs_keeps_its_log(site: Scenario, settings: Any) -> None:
    settings.KEEP_LOGS_DAYS = 1
    site.submit()
    run = site.claim()
    RunLog.objects.create(run=run, attempt=1, stream="ingestion", seq=0, text="hello")
    remove_old(now=site.now + LATER)
    assert RunLog.objects.get().run == run
