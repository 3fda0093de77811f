"""A board that grows both ways, in real containers: submitted, checked, filled and ranked."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from competitions.catalog.sealed_keys import score_columns
from competitions.leaderboards.growing.joining import JOINING_JOB, datasets_join
from competitions.leaderboards.growing.missing_runs import boards_fill, datasets_begin_to_count
from competitions.leaderboards.models import Entry
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.runs.worker_api import jobs
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import Kind, State
from competitions.teams.services import register, team_create
from examples import both_grow_small
from examples.both_grow_small import bundle as both
from tests.answers import read_result
from tests.background import run_background
from tests.integration.examples.test_benchmarks_run import (  # noqa: F401  # its fixtures
    Make,
    Site,
    _local,
    bench,
    benchmark_site,
    files,
    package_folder,
)
from tests.scenario import lease
from tests.soak import SOAKS

ALGORITHMS = package_folder(both_grow_small) / "algorithms"
# Tells whether labels, or the file that held both, lie anywhere in its container; then as the nearest mean.
SPY = """
import os
for folder, _, names in os.walk("/app"):
    assert not any("label" in name or name.endswith(".zip") for name in names), (folder, names)
    assert "reference_data" not in folder, folder
"""


def person(site: Site, name: str) -> User:
    user = User.objects.create_user(name.lower(), f"{name}@example.org", "x")
    register(user=user, competition=site.competition, rules_version=1, now=site.now)
    team_create(user=user, competition=site.competition, name=name, now=site.now)
    return user


def send(site: Site, user: User, folder: Path, kind: Kind) -> Submission:
    site.user = user
    return site.submit(folder, kind)


def run_all(site: Site) -> list[str]:
    """Every run that waits, in containers; returns what each said."""
    logs = []
    while run := dispatch.run_claim(worker=site.worker, free_gpus=0, now=site.now):
        outcome = site.bench.run(_local(jobs.job_for(run).model_dump(mode="json")))
        result = read_result(outcome.result | {"outputs": {}}, columns=jobs.column_keys(score_columns(site.phase)))
        reports.run_complete(**lease(run), result=result, now=site.now)
        logs.append(f"{outcome.result['detail']} {outcome.log}")
    return logs


def settle(site: Site) -> None:
    while _reconcile(site.now) or run_all(site):
        run_background(at=site.now, only=JOINING_JOB)


def _reconcile(now: datetime) -> int:
    return datasets_join(now=now) + boards_fill(now=now) + datasets_begin_to_count(now=now)


@pytest.fixture
def spy(tmp_path: Path) -> Path:
    return files(tmp_path / "spy", {"model.py": (ALGORITHMS / "centroids" / "model.py").read_text() + SPY})


def test_algorithms_and_datasets_are_submitted_and_every_cell_is_run(
    benchmark_site: Make,  # noqa: F811
    tmp_path: Path,
    spy: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not SOAKS:
        monkeypatch.setattr(both, "OWN", both.OWN[:1])
    site = benchmark_site(both.build_bundle)
    ann, ben, cay = (person(site, name) for name in ("Ann", "Ben", "Cay"))
    send(site, ann, ALGORITHMS / "neighbours", Kind.CODE)
    send(site, ben, spy, Kind.CODE)
    stripes = send(site, cay, both.dataset(tmp_path / "stripes", shape="stripes"), Kind.DATASET)
    noise = both.dataset(tmp_path / "noise", shape="blobs")
    (noise / "reference_data" / "labels.txt").write_text("0\n1\n2\n" * 50)
    bad = send(site, cay, noise, Kind.DATASET)
    logs = run_all(site)
    assert any("is there anything to learn?" in log for log in logs), logs
    bad.refresh_from_db()
    assert (bad.status, bad.reason) == (State.FAILED, "program_error")
    settle(site)
    assert Dataset.objects.get().submission == stripes
    assert Run.objects.filter(fills_board=True, state=State.FINISHED).count() == 2
    send(site, cay, ALGORITHMS / "majority", Kind.CODE)  # a new algorithm, run on what is there
    wide = send(site, ann, both.dataset(tmp_path / "wide", shape="wide"), Kind.DATASET)
    settle(site)
    cells = Run.objects.filter(fills_board=True)
    assert set(cells.values_list("submission__team__name", "task", "state")) == {
        (team, sent.dataset.task_id, "finished") for team in ("Ann", "Ben", "Cay") for sent in (stripes, wide)
    }
    values = {entry.team.name: entry.values for entry in Entry.objects.select_related("team")}
    assert (
        values["Ann"][f"accuracy@{stripes.dataset.task_id}"]
        > values["Ben"][f"accuracy@{stripes.dataset.task_id}"] + 0.2
    )
    assert values["Ben"][f"accuracy@{wide.dataset.task_id}"] > values["Cay"][f"accuracy@{wide.dataset.task_id}"] + 0.2
    answer = Client().get(reverse("api:leaderboard", args=[site.competition.slug, site.phase.slug])).json()
    assert [row["team"] for row in answer["rows"]] == (["Ann", "Ben", "Cay"] if SOAKS else ["Ben", "Ann", "Cay"])
    assert {cell["state"] for row in answer["rows"] for cell in row["cells"]} == {"scored"}
