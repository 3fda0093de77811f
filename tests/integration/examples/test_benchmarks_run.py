"""The example benchmarks in real containers: imported, with the baseline in their folder."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from competitions.bundles.importing.importer import bundle_import
from competitions.catalog.models import Competition
from competitions.catalog.sealed_keys import score_columns
from competitions.compute.models import ComputeWorker, Queue
from competitions.leaderboards.models import Entry
from competitions.resources.models import StoredFile
from competitions.resources.stores import object_store
from competitions.resources.uploads import upload_whole
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.worker_api import jobs
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind, State
from competitions.teams.services import register, team_create
from core.celery import app
from examples import autograph_small, autorl_jobshop, deconbench_small
from examples.autograph_small import bundle as autograph
from examples.autorl_jobshop import bundle as autorl
from examples.cometh_small import bundle as cometh
from examples.cometh_small.dashboard import dashboard
from examples.deconbench_small import bundle as deconbench
from examples.delivery_times import bundle as deliveries
from podium.cli import main
from tests.answers import read_result
from tests.background import run_background
from tests.integration.workers.harness import Bench, Outcome, make_worker
from tests.scenario import lease
from tests.soak import SOAKS, in_soak

R_IMAGE = "podium/r:1"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, runtime_image: str) -> Bench:
    data = tmp_path_factory.mktemp("worker") / "data"
    return Bench(make_worker(data, runtime_image), tmp_path_factory.mktemp("files"), runtime_image)


@pytest.fixture(scope="module")
def r_image(docker_engine: None) -> str:
    """The image with R, built from its recipe where the engine does not have it."""
    folder = Path(deconbench_small.__file__).parent / "image"
    known = subprocess.run(["docker", "image", "inspect", R_IMAGE], check=False, capture_output=True).returncode == 0
    if not known:
        build = ["docker", "build", "--quiet", "--network=host", "--tag", R_IMAGE, str(folder)]
        subprocess.run(build, check=True, capture_output=True, timeout=1200)
    return R_IMAGE


class Site:
    """A benchmark that was imported and published, one participant, and a worker that takes what waits."""

    def __init__(self, bench: Bench, build: Callable[..., Path], folder: Path) -> None:
        self.bench, self.now = bench, datetime.now(UTC)
        owner = User.objects.create_user("olga", "olga@example.org", "x", is_staff=True)
        queue = Queue.objects.create(name="default")
        source = build(folder, now=self.now - timedelta(hours=1))
        self.competition = bundle_import(source=source, owner=owner, queue=queue, now=self.now).competition
        Competition.objects.filter(pk=self.competition.pk).update(is_published=True)
        self.phase = self.competition.phases.get()
        self.user = User.objects.create_user("rosa", "rosa@example.org", "x")
        register(user=self.user, competition=self.competition, rules_version=1, now=self.now)
        team_create(user=self.user, competition=self.competition, name="Rosa", now=self.now)
        self.worker = ComputeWorker.objects.create(
            queue=queue, name="w", instance="i", version="1", registered_at=self.now, last_seen_at=self.now
        )

    def submit(self, files: Path, kind: Kind = Kind.CODE) -> Submission:
        packed = files.parent / f"{files.name}.zip"
        with zipfile.ZipFile(packed, "w") as archive:
            for path in sorted(path for path in files.rglob("*") if path.is_file() and path.suffix != ".pyc"):
                archive.write(path, path.relative_to(files))
        submission = self.send(packed, kind)
        packed.unlink()
        return submission

    def send(self, file: Path, kind: Kind) -> Submission:
        """Submit one file under its own name."""
        content = file.read_bytes()
        upload = upload_whole(
            user=self.user, file_name=file.name, size_bytes=len(content), chunks=[content], now=self.now
        )
        submission = submission_create(
            NewSubmission(user=self.user, phase=self.phase, upload=upload, kind=kind), now=self.now
        )
        run_background(at=self.now)
        submission.refresh_from_db()
        return submission

    def run_all(self, submission: Submission) -> list[Outcome]:
        """Every run of the submission, in containers."""
        outcomes = []
        while run := dispatch.run_claim(worker=self.worker, free_gpus=0, now=self.now):
            outcome = self.bench.run(_local(jobs.job_for(run).model_dump(mode="json")))
            result = read_result(outcome.result | {"outputs": {}}, columns=jobs.column_keys(score_columns(self.phase)))
            reports.run_complete(**lease(run), result=result, now=self.now)
            outcomes.append(outcome)
        submission.refresh_from_db()
        assert submission.status == State.FINISHED, [
            run_outcome.result["detail"] or run_outcome.log for run_outcome in outcomes
        ]
        return outcomes

    def entry(self, submission: Submission) -> Entry:
        return Entry.objects.get(score__submission=submission)


def _local(job: dict[str, Any]) -> dict[str, Any]:
    """The job with paths of this disk in place of the site's addresses."""
    for stage in job["stages"]:
        stage["pull"] = "never"
        for mount in stage["mounts"]:
            if "file" in mount:
                stored = StoredFile.objects.get(sha256=mount["file"]["sha256"])
                mount["file"]["url"] = str(object_store().local_path(stored.sha256))
    return job


@pytest.fixture
def benchmark_site(
    bench: Bench, tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[..., Path]], Site]:
    monkeypatch.setattr(app, "send_task", lambda *args, **named: None)  # the worker here needs no waking
    return lambda build: Site(bench, build, tmp_path / "bundle")


Make = Callable[[Callable[..., Path]], Site]


def package_folder(package: Any) -> Path:
    return Path(package.__file__).parent


def test_one_code_is_run_on_every_graph_and_scored_by_two_metrics(
    benchmark_site: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not SOAKS:
        monkeypatch.setattr(autograph, "GRAPHS", autograph.GRAPHS[:2])
    site = benchmark_site(autograph.build_bundle)
    submission = site.submit(package_folder(autograph_small) / "baseline")
    outcomes = site.run_all(submission)
    assert len(outcomes) == len(autograph.GRAPHS)
    assert all("detailed_results.html" in outcome.outbox for outcome in outcomes)
    values = site.entry(submission).values
    assert 0.5 < values["bacc"] <= 1
    assert 0.6 < values["acc"] <= 1
    assert len([key for key in values if key.startswith("acc@")]) == len(autograph.GRAPHS)


@in_soak  # builds an image with R
def test_programs_and_submission_in_r(benchmark_site: Make, r_image: str) -> None:
    site = benchmark_site(deconbench.build_bundle)
    submission = site.submit(package_folder(deconbench_small) / "baseline")
    site.run_all(submission)
    assert 0 < site.entry(submission).values["mae"] < 0.25


def test_a_dataset_is_put_to_every_algorithm_and_shown_by_the_dashboard(
    benchmark_site: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = benchmark_site(cometh.build_bundle)
    submission = site.submit(cometh.dataset(tmp_path / "data"), Kind.DATASET)
    assert len(site.run_all(submission)) == len(cometh.ALGORITHMS)
    by_task = {run.task.name: run.scores["mae"] for run in submission.runs.select_related("task")}
    assert max(by_task["Projected gradients"], by_task["Least squares"]) < by_task["Equal parts"] / 3
    monkeypatch.setattr(dashboard, "fetch", lambda address: Client().get(address.removeprefix("http://site")).json())
    page = dashboard.page(dashboard.board("http://site", site.competition.slug, site.phase.slug))
    assert page.count("<meter") == len(cometh.ALGORITHMS), page
    assert site.phase.leaderboards.get().is_transposed


def test_agent_and_environment_play_in_two_containers(benchmark_site: Make, tmp_path: Path) -> None:
    site = benchmark_site(autorl.build_bundle)
    submission = site.submit(package_folder(autorl_jobshop) / "baseline")
    (outcome,) = site.run_all(submission)
    assert {stage["name"] for stage in outcome.result["stages"]} == {"ingestion", "scoring"}
    best = site.entry(submission).values["flow_time"]
    worst = site.submit(_stubborn(tmp_path / "agent"))
    site.run_all(worst)
    assert best < worst.runs.get().scores["flow_time"]


def _stubborn(folder: Path) -> Path:
    """An agent that takes the longest operation first."""
    folder.mkdir()
    source = (Path(autorl_jobshop.__file__).parent / "baseline" / "agent.py").read_text()
    (folder / "agent.py").write_text(source.replace("chosen = min(", "chosen = max("))
    return folder


def from_template(template: str) -> Callable[..., Path]:
    """Builds what `podium bundle new` writes, as if it had been begun yesterday."""

    def build(dest: Path, *, now: datetime) -> Path:
        assert main(["bundle", "new", str(dest), "--template", template]) == 0
        return dest

    return build


def files(folder: Path, content: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in content.items():
        (folder / name).write_text(text)
    return folder


RIGHT = "1\n0\n1\n1\n"
MODEL = """
class Model:
    def fit(self, rows, labels): pass
    def predict(self, rows): return [1 if row[0] > 0.5 else 0 for row in rows]
"""
AGENT = """
low, high, guess = 0, 10, 5
def act(hint):
    global low, high, guess
    if hint == "new": low, high = 0, 10
    elif hint == "higher": low = guess + 1
    else: high = guess - 1
    guess = (low + high) // 2
    return guess
"""


@pytest.mark.parametrize(
    ("template", "submissions", "column"),
    [
        ("results", [{"predictions.txt": RIGHT}], "accuracy"),
        (
            "code",
            [
                {"model.py": MODEL},
                {"predictions.txt": RIGHT},  # the ingestion program ends with an error: there is no model.py
                {"metadata": "description: none\n", "model.py": MODEL},
            ],
            "accuracy",
        ),
        ("concurrent", [{"agent.py": AGENT}], "reward"),
    ],
    ids=["results", "code", "concurrent"],
)
def test_templates_run_with_code_and_with_results(
    benchmark_site: Make, tmp_path: Path, template: str, submissions: list[dict[str, str]], column: str
) -> None:
    site = benchmark_site(from_template(template))
    for number, submission in enumerate(submissions):
        stored = site.submit(files(tmp_path / f"submission{number}", submission))
        site.run_all(stored)
        assert stored.runs.get().scores == {column: 1.0}


OLD = """\
title: Sum
competition_docker_image: podium/runtime:1
has_registration: False
html: {overview: o.html, terms: t.html}
phases:
  1: {phasenumber: 1, label: Only, start_date: 2020-01-01, execution_time_limit: 60, scoring_program: program.zip, reference_data: ref.zip}
leaderboard:
  leaderboards: {Results: &r {label: Results, rank: 1}}
  columns: {set1_score: {leaderboard: *r, label: Score, rank: 1}}
"""
OLD_SCORER = """
import os, sys
given, out = sys.argv[1:3]
truth = float(open(os.path.join(given, 'ref', 'truth.txt')).read())
answer = float(open(os.path.join(given, 'res', 'answer.txt')).read())
open(os.path.join(out, 'scores.txt'), 'w').write('set1_score:%f\\n' % (answer - truth))
"""


def test_a_bundle_of_codalab_runs_with_zipped_parts_and_its_own_commands(benchmark_site: Make, tmp_path: Path) -> None:
    def build(dest: Path, *, now: datetime) -> Path:
        files(dest, {"competition.yaml": OLD, "o.html": "<p>Sum</p>", "t.html": "<p>Fair</p>"})
        scorer = {"metadata": "command: python3 $program/s.py $input $output\n", "s.py": OLD_SCORER}
        members = {"program": scorer, "ref": {"truth.txt": "2"}}
        for name, parts in members.items():
            with zipfile.ZipFile(dest / f"{name}.zip", "w") as archive:
                for member, text in parts.items():
                    archive.writestr(member, text)
        return dest

    site = benchmark_site(build)
    results = site.submit(files(tmp_path / "results", {"answer.txt": "5"}))
    site.run_all(results)
    assert results.runs.get().scores == {"set1_score": 3.0}
    program = "open('/app/output/answer.txt', 'w').write('9')"
    code = site.submit(
        files(tmp_path / "code", {"metadata": "command: python3 $program/m.py $input $output\n", "m.py": program})
    )
    site.run_all(code)
    assert (code.kind, code.runs.get().scores) == (Kind.CODE, {"set1_score": 7.0})


def test_a_table_is_scored_by_the_organizers_own_metric(benchmark_site: Make, tmp_path: Path) -> None:
    site = benchmark_site(deliveries.build_bundle)
    submission = site.send(
        deliveries.baseline(tmp_path / "bundle" / "public_data", tmp_path / "mine.csv"), Kind.PREDICTION
    )
    [outcome] = site.run_all(submission)
    scores = outcome.result["scores"]
    assert scores == pytest.approx({"cost_public": 26.5705, "cost_private": 25.771667}, rel=1e-4)
    boards = Entry.objects.filter(score__submission=submission).values_list("leaderboard__key", flat=True)
    assert sorted(boards) == ["private", "public"]
