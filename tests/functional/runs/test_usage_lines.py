"""CPU, memory and GPU use of a run: stored as sent, shown to readers of the log, gone with it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Phase
from competitions.runs.leases import reports
from competitions.runs.models import Run, RunUsage
from competitions.runs.records.retention import remove_old
from competitions.submissions.states import Kind
from tests.permissions import user_client
from tests.scenario import Scenario

LINE: dict[str, Any] = {
    "name": "ingestion",
    "at_s": [1, 2, 3],
    "cpu_cores": [0.5, 1.0, 0.75],
    "memory_bytes": [2**20, 3 * 2**20, 2**21],
    "gpu_share": [None, None, None],
    "gpu_memory_bytes": [None, None, None],
}


def call(run: Run, name: str, **body: Any) -> Any:
    headers = {"Authorization": f"Bearer {reports.run_token(run)}"}
    url = reverse(f"worker-{name}", args=[run.pk])
    return Client().post(url, body, content_type="application/json", headers=headers)


def beat(run: Run, *lines: dict[str, Any]) -> Any:
    return call(run, "heartbeat", state="ingesting", meters={}, logs=[], usage=list(lines))


def page(site: Scenario, run: Run, *, as_organizer: bool = False) -> str:
    who = site.organizer if as_organizer else site.member()
    return user_client(who).get(reverse("web:submission", args=[run.submission_id])).content.decode()


@pytest.fixture
def run(site: Scenario) -> Run:
    site.submit(kind=Kind.CODE)
    return site.claim()


def test_a_line_takes_the_place_of_the_one_before_and_is_drawn_while_the_run_goes(site: Scenario, run: Run) -> None:
    assert beat(run, LINE | {"at_s": [1]}).status_code == 200
    assert "usage-cpu" not in page(site, run), "one point is not a line"
    assert beat(run, LINE).status_code == 200
    assert beat(run).status_code == 200
    assert RunUsage.objects.get().line["at_s"] == [1, 2, 3]
    shown = page(site, run)
    assert "At most 1 of 1 core in use" in shown
    assert "3.0 MiB at most" in shown
    assert "after 3.0 s" in shown, "the table behind the chart"
    assert "usage-gpu" not in shown, "nothing is drawn of what was not measured"


def test_the_end_of_a_run_brings_its_last_points(site: Scenario, run: Run) -> None:
    done = call(run, "complete", outcome="finished", scores={"mae": 0.5}, usage=[LINE, LINE | {"name": "scoring"}])
    assert done.status_code == 200
    assert {usage.stage for usage in RunUsage.objects.all()} == {"ingestion", "scoring"}
    assert "usage-cpu" in page(site, run)


def test_lines_are_for_those_who_may_read_the_log(site: Scenario, run: Run) -> None:
    beat(run, LINE, LINE | {"name": "scoring"})
    members, organizers = page(site, run), page(site, run, as_organizer=True)
    assert "usage-cpu" in members
    assert "Scoring: 0.50 cores" not in members, "the scoring program may write labels into its line"
    assert "Scoring: 0.50 cores" in organizers
    Phase.objects.filter(pk=site.phase.pk).update(hide_output=True)
    assert "usage-cpu" not in page(site, run)
    assert "usage-cpu" in page(site, run, as_organizer=True)


def test_a_program_that_has_read_sealed_data_has_no_line_before_the_reveal(site: Scenario) -> None:
    site.submit(kind=Kind.CODE, phase=site.sealed)
    run = site.claim()
    beat(run, LINE)
    assert RunUsage.objects.exists()
    assert "usage-cpu" not in page(site, run)


def test_lines_go_with_the_logs(site: Scenario, run: Run, settings: Any) -> None:
    settings.KEEP_LOGS_DAYS = 30
    beat(run, LINE)
    later = site.now + timedelta(days=400)
    remove_old(now=later)
    assert RunUsage.objects.exists(), "the run goes on"
    call(run, "complete", outcome="finished", scores={"mae": 0.5})
    remove_old(now=later)
    assert not RunUsage.objects.exists()


def test_a_page_of_lines_takes_one_query_more_however_many_there_are(
    site: Scenario, run: Run, django_assert_max_num_queries: Any
) -> None:
    beat(run, LINE, LINE | {"name": "scoring"}, LINE | {"name": "submission"})
    member = user_client(site.member())
    url = reverse("web:submission", args=[run.submission_id])
    member.get(url)
    with django_assert_max_num_queries(40) as with_lines:
        member.get(url)
    RunUsage.objects.all().delete()
    with django_assert_max_num_queries(40) as without:
        member.get(url)
    assert len(with_lines) == len(without)
