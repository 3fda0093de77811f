"""A worker's answer updates run, receipt, history and worker; a refused one changes nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from competitions.compute.models import ComputeWorker
from competitions.resources.storage import store_bytes
from competitions.runs.leases import reports
from competitions.runs.leases.reports import InvalidResult, Result
from competitions.runs.models import Attempt, Run, RunEvent, RunOutput
from competitions.runs.services import submission_cancel
from competitions.runs.worker_api.jobs import file_urls, job_for
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, Reason, State
from tests.scenario import Scenario, lease
from workers.protocol.plan import Needs
from workers.protocol.results import StageRecord
from workers.protocol.stages import StageName

pytestmark = pytest.mark.django_db
INGESTED = Result(target=State.QUEUED, meters={"wall_s": 12.5}, receipt={"host": {"cpus": 8}})


def claimed(site: Scenario, role: ComputeWorker.Role = ComputeWorker.Role.BOTH) -> Run:
    """A code submission's run, held by a worker of this role that has failed once."""
    site.submit(kind=Kind.CODE)
    worker = site.worker()
    worker.role, worker.infrastructure_failures = role, 1
    worker.save()
    return site.claim(worker)


def arrived(run: Run, name: str, content: bytes = b"PK", *, attempt: int = 1) -> str:
    """The digest of an output that an attempt has sent."""
    stored = store_bytes(content)
    RunOutput.objects.create(run=run, attempt=attempt, name=name, file=stored)
    return stored.sha256


def answer(site: Scenario, run: Run, result: Result, **options: Any) -> State:
    return reports.run_complete(**lease(run), result=result, now=site.now + timedelta(minutes=1), **options)


def failures(worker: ComputeWorker | None) -> int:
    """Infrastructure failures in a row, as they are now."""
    assert worker is not None
    return ComputeWorker.objects.get(pk=worker.pk).infrastructure_failures


def test_a_failure_is_written_down_with_its_reason_receipt_and_meters(site: Scenario) -> None:
    run, another = claimed(site), site.worker()
    ComputeWorker.objects.filter(pk=another.pk).update(infrastructure_failures=2)
    digest = arrived(run, "submission.log")
    arrived(run, "of-another-attempt.log", attempt=2)
    arrived(site.submit(team=site.join()).runs.get(), "of-another-run.log")
    result = Result(
        target=State.FAILED,
        reason=Reason.PROGRAM_ERROR,
        code="exit_code",
        detail="It ended with status 3.",
        stages=(StageRecord(name=StageName.SUBMISSION),),
        meters={"wall_s": 3.0},
        receipt={"notes": ["slow disk"]},
    )
    assert answer(site, run, result) == State.FAILED
    ended = Run.objects.get(pk=run.pk)
    assert (ended.state, ended.reason, ended.code) == (State.FAILED, Reason.PROGRAM_ERROR, "exit_code")
    assert (ended.detail, ended.meters) == ("It ended with status 3.", {"wall_s": 3.0})
    assert ended.receipt == run.receipt | {"notes": ["slow disk"], "outputs": {"submission.log": digest}}
    assert ended.started_at == ended.finished_at == site.now + timedelta(minutes=1), "no heartbeat said so before"
    event, attempt = RunEvent.objects.latest("pk"), Attempt.objects.get()
    assert (event.actor, event.note) == (reports.worker_actor(run), "It ended with status 3.")
    assert (attempt.outcome, attempt.reason, attempt.detail) == (
        State.FAILED,
        Reason.PROGRAM_ERROR,
        "It ended with status 3.",
    )
    assert (failures(run.worker), failures(another)) == (0, 2)


def test_what_no_container_began_has_not_started_and_what_had_keeps_its_start(site: Scenario) -> None:
    run = claimed(site)
    answer(site, run, Result(target=State.FAILED, reason=Reason.PROGRAM_ERROR, code="x", detail="Nothing ran."))
    assert Run.objects.get(pk=run.pk).started_at is None
    run = claimed(site)
    began = site.now + timedelta(seconds=5)
    reports.run_heartbeat(**lease(run), state=State.INGESTING, meters={}, now=began)
    stages = (StageRecord(name=StageName.SUBMISSION),)
    answer(site, run, Result(target=State.FINISHED, scores={"mae": 0.5}, stages=stages))
    assert Run.objects.get(pk=run.pk).started_at == began


@pytest.mark.parametrize(
    ("ingested_attempt", "meters", "shown"),
    [(None, {"wall_s": 3.0}, {"wall_s": 3.0}), (None, {}, {"wall_s": 1.0}), (1, {"wall_s": 3.0}, {"wall_s": 1.0})],
    ids=["as answered", "as last reported", "what scoring takes is not the team's budget"],
)
def test_the_meters_of_an_ended_run(
    site: Scenario, ingested_attempt: int | None, meters: dict[str, float], shown: dict[str, float]
) -> None:
    run = claimed(site)
    reports.run_heartbeat(**lease(run), state=State.INGESTING, meters={"wall_s": 1.0}, now=site.now)
    Run.objects.filter(pk=run.pk).update(ingested_attempt=ingested_attempt)
    answer(site, run, Result(target=State.FINISHED, scores={"mae": 0.5}, meters=meters))
    assert Run.objects.get(pk=run.pk).meters == shown


def test_ingested_code_waits_for_a_worker_that_scores(site: Scenario) -> None:
    run = claimed(site, ComputeWorker.Role.INGESTION)
    reports.run_heartbeat(**lease(run), state=State.INGESTING, meters={}, now=site.now)
    digest = arrived(run, "predictions.zip")
    assert answer(site, run, INGESTED) == State.QUEUED
    waits = Run.objects.get(pk=run.pk)
    assert (waits.state, waits.attempt, waits.ingested_attempt, waits.needs) == (State.QUEUED, 2, 1, Needs.SCORING)
    assert (waits.worker, waits.lease_id, waits.started_at, waits.meters) == (None, None, None, {"wall_s": 12.5})
    ingestion = {"host": {"cpus": 8}, "outputs": {"predictions.zip": digest}}
    assert waits.receipt == run.receipt | {"ingestion": ingestion}
    event, attempt = RunEvent.objects.latest("pk"), Attempt.objects.get()
    assert (event.source, event.target, event.attempt) == (State.INGESTING, State.QUEUED, 1)
    assert (event.actor, event.note) == (reports.worker_actor(run), "ingested; scoring is next")
    assert event.at == attempt.ended_at == site.now + timedelta(minutes=1)
    assert (attempt.run_id, attempt.outcome, attempt.reason, attempt.detail) == (run.pk, State.QUEUED, "", "ingested")
    assert failures(run.worker) == 0


def test_code_that_is_cancelled_while_it_waits_for_scoring_is_charged(site: Scenario) -> None:
    """It has read the hidden input: otherwise a team would run on it as often as it likes."""
    run = claimed(site, ComputeWorker.Role.INGESTION)
    reports.run_heartbeat(**lease(run), state=State.INGESTING, meters={}, now=site.now)
    arrived(run, "predictions.zip")
    answer(site, run, INGESTED)
    submission_cancel(submission=run.submission, actor="user:a", now=site.now)
    submission = Submission.objects.get()
    assert (submission.status, submission.is_charged) == (State.CANCELLED, True)


def test_a_worker_that_only_ingests_reports_no_score(site: Scenario) -> None:
    run = claimed(site, ComputeWorker.Role.INGESTION)
    before = Run.objects.values().get(pk=run.pk)
    with pytest.raises(InvalidResult, match="started for ingestion alone"):
        answer(site, run, Result(target=State.FINISHED, scores={"mae": 0.0}))
    assert Run.objects.values().get(pk=run.pk) == before
    failed = Result(target=State.FAILED, reason=Reason.PROGRAM_ERROR, code="exit_code", detail="Status 3.")
    assert answer(site, run, failed) == State.FAILED


def test_a_worker_that_only_ingests_gets_no_address_of_a_label(site: Scenario) -> None:
    for role, gets_labels in ((ComputeWorker.Role.INGESTION, False), (ComputeWorker.Role.BOTH, True)):
        run = claimed(site, role)
        assert run.task.reference_data is not None
        labels = run.task.reference_data.file.sha256
        assert run.submission.file.sha256 in file_urls(run)
        assert (labels in job_for(run).model_dump_json(), labels in file_urls(run)) == (gets_labels, gets_labels)


@pytest.mark.parametrize(
    "wrong", ["no predictions", "a worker that scores, too", "ingested before", "no worker any more"]
)
def test_ingestion_that_was_not_asked_for_changes_nothing(site: Scenario, wrong: str) -> None:
    is_both = wrong == "a worker that scores, too"
    run = claimed(site, ComputeWorker.Role.BOTH if is_both else ComputeWorker.Role.INGESTION)
    arrived(run, "submission.log" if wrong == "no predictions" else "predictions.zip")
    if wrong == "ingested before":
        Run.objects.filter(pk=run.pk).update(ingested_attempt=1)
    if wrong == "no worker any more":
        Run.objects.filter(pk=run.pk).update(worker=None)
    before = Run.objects.values().get(pk=run.pk)
    with pytest.raises(InvalidResult) as refused:
        answer(site, run, INGESTED)
    detail = "'outcome' is 'ingested', but this run has no predictions or was to be scored, too."
    assert refused.value.detail == detail
    assert (Run.objects.values().get(pk=run.pk), Attempt.objects.count()) == (before, 0)


def test_an_answer_waits_for_every_output_that_it_names(site: Scenario) -> None:
    run = claimed(site)
    digest = arrived(run, "scoring.zip")
    finished = Result(target=State.FINISHED, scores={"mae": 0.5})
    for name, announced_digest in (("x" * 70, digest), ("scoring.zip", "f" * 70)):
        with pytest.raises(InvalidResult) as refused:
            answer(site, run, finished, outputs={"scoring.zip": digest} | {name: announced_digest})
        detail = f"The output {name[:60]!r} has not arrived with the digest {announced_digest[:64]}. Send it first."
        assert refused.value.detail == detail
    assert Run.objects.get(pk=run.pk).state == State.LEASED
    assert answer(site, run, finished, outputs={"scoring.zip": digest}) == State.FINISHED


def test_the_answer_of_a_worker_that_was_deleted_counts(site: Scenario) -> None:
    run = claimed(site)
    Run.objects.filter(pk=run.pk).update(worker=None)
    assert answer(site, run, Result(target=State.FINISHED, scores={"mae": 0.5})) == State.FINISHED
    assert RunEvent.objects.latest("pk").actor == "worker:unknown"
