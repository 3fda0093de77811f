"""A run is planned once, when queued; later changes by organizers are noticed at hand-out."""

from __future__ import annotations

import itertools
from dataclasses import fields

import pytest

from competitions.compute.models import ComputeWorker
from competitions.runs import dispatch
from competitions.runs.models import Run
from competitions.runs.services import submission_rerun
from competitions.runs.worker_api.jobs import job_for
from competitions.submissions.models import Program, Submission
from competitions.submissions.states import Kind, Reason, State
from tests.scenario import Scenario
from workers.protocol import results
from workers.protocol.plan import FileRole, Needs, Plan, PlannedFile
from workers.protocol.planning import RunFacts, plan_stages
from workers.protocol.stages import StageName

SWITCHES = [field.name for field in fields(RunFacts) if field.name not in ("kind", "program")]
ALL_FACTS = [
    RunFacts(kind=kind, program=program, **dict(zip(SWITCHES, values, strict=True)))
    for kind in Kind
    for program in Program
    for values in itertools.product((False, True), repeat=len(SWITCHES))
]
POSSIBLE = [facts for facts in ALL_FACTS if facts.has_ingestion or not facts.beside_scoring]


def planned_files(plan: Plan, name: StageName) -> set[FileRole]:
    mounts = [mount for stage in plan.stages if stage.name == name for mount in stage.mounts]
    return {mount.file for mount in mounts if isinstance(mount, PlannedFile)}


def test_every_plan_ends_with_scoring_and_shows_labels_to_nothing_else() -> None:
    for facts in POSSIBLE:
        plan = plan_stages(facts)
        assert plan.stages[-1].name == StageName.SCORING
        for stage in plan.stages[:-1]:
            assert not planned_files(plan, stage.name) & {FileRole.REFERENCE_DATA, FileRole.SCORING_PROGRAM}
        assert (FileRole.REFERENCE_DATA in planned_files(plan, StageName.SCORING)) == facts.has_reference_data


def test_every_plan_survives_being_stored() -> None:
    for facts in POSSIBLE:
        plan = plan_stages(facts)
        assert Plan.model_validate(plan.model_dump(mode="json", exclude_defaults=True)) == plan


def test_predictions_are_only_ever_scored() -> None:
    for facts in POSSIBLE:
        if facts.kind == Kind.PREDICTION:
            assert plan_stages(facts).needs == Needs.SCORING


def test_what_workers_may_take_a_run_follows_from_its_programs() -> None:
    for facts in POSSIBLE:
        if facts.kind == Kind.PREDICTION:
            continue
        by_itself = facts.kind == Kind.CODE and (
            facts.program == Program.COMMAND if facts.on_codabench else not facts.has_ingestion
        )
        expected = Needs.INGESTION if facts.has_ingestion or by_itself else Needs.SCORING
        assert plan_stages(facts).needs == (Needs.TOGETHER if facts.beside_scoring else expected)


def with_role(site: Scenario, role: ComputeWorker.Role) -> ComputeWorker:
    worker = site.worker()
    worker.role = role
    worker.save()
    return worker


def claimed_by(site: Scenario, role: ComputeWorker.Role) -> Run | None:
    return dispatch.run_claim(worker=with_role(site, role), free_gpus=0, now=site.now)


@pytest.mark.django_db
def test_a_run_whose_ingestion_program_was_taken_away_is_planned_again_for_a_worker_that_scores(site: Scenario) -> None:
    task = site.sealed.tasks.get()
    task.ingestion_program = task.scoring_program
    task.save()
    site.submit(phase=site.sealed, kind=Kind.CODE)
    Submission.objects.update(program="")
    site.sealed.as_on_codabench = True
    site.sealed.save()
    assert Run.objects.get().needs == Needs.INGESTION
    task.ingestion_program = None
    task.save()
    assert claimed_by(site, ComputeWorker.Role.INGESTION) is None
    assert Run.objects.get().needs == Needs.SCORING
    run = claimed_by(site, ComputeWorker.Role.SCORING)
    assert run is not None
    assert [stage.name for stage in job_for(run).stages] == ["scoring"]


@pytest.mark.django_db
def test_a_run_that_got_an_ingestion_program_goes_to_no_worker_that_only_scores(site: Scenario) -> None:
    site.phase.as_on_codabench = True
    site.phase.save()
    site.submit(kind=Kind.CODE)
    Submission.objects.update(program="")
    Run.objects.update(plan={}, needs=Needs.SCORING)
    task = site.phase.tasks.get()
    task.ingestion_program = task.scoring_program
    task.save()
    assert claimed_by(site, ComputeWorker.Role.SCORING) is None
    run = claimed_by(site, ComputeWorker.Role.INGESTION)
    assert run is not None
    assert [stage.name for stage in job_for(run).stages] == ["ingestion"]


@pytest.mark.django_db
def test_a_run_that_became_separable_is_not_ended_as_inseparable(site: Scenario) -> None:
    task = site.phase.tasks.get()
    task.ingestion_program, task.ingestion_only_during_scoring = task.scoring_program, True
    task.save()
    site.submit(kind=Kind.CODE)
    assert Run.objects.get().needs == Needs.TOGETHER
    task.ingestion_only_during_scoring = False
    task.save()
    site.queue.separate_scoring = True
    site.queue.save()
    assert claimed_by(site, ComputeWorker.Role.INGESTION) is not None


@pytest.mark.django_db
def test_a_run_that_is_opened_again_is_planned_again(site: Scenario) -> None:
    submission = site.score(site.submit(kind=Kind.CODE), 0.5)
    before = Run.objects.get().plan
    task = site.phase.tasks.get()
    task.ingestion_program = task.scoring_program
    task.save()
    submission_rerun(submission=submission, actor="test", now=site.now)
    run = Run.objects.get()
    assert run.plan != before
    assert planned_files(Plan.model_validate(run.plan), StageName.INGESTION) >= {FileRole.INGESTION_PROGRAM}


@pytest.mark.django_db
def test_an_image_that_is_none_ends_the_run_before_a_worker_has_it(site: Scenario) -> None:
    submission = site.submit()
    site.phase.docker_image = "--privileged"
    site.phase.save()
    assert dispatch.run_claim(worker=site.worker(), free_gpus=0, now=site.now) is None
    submission.refresh_from_db()
    run = submission.runs.get()
    assert (run.state, run.reason, run.code) == (State.FAILED, Reason.SETUP_ERROR, "image_invalid")
    assert "--privileged" in run.detail


def test_site_and_workers_know_the_same_reasons() -> None:
    # What is wrong with a file the site finds out by itself.
    assert set(Reason.values) - {Reason.FILE_INVALID} == {reason.value for reason in results.Reason}
