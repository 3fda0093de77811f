"""The job that a worker gets for a run: its planned stages, with signed URLs for its files."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.urls import reverse

from competitions.catalog.models import Phase
from competitions.catalog.sealed_keys import ScoreColumn, score_columns
from competitions.compute.models import ComputeWorker
from competitions.resources.downloads import sign_file
from competitions.resources.models import StoredFile
from competitions.runs.leases.reports import run_token
from competitions.runs.models import Run, RunOutput
from competitions.runs.planning import stages_left
from competitions.runs.queue.smoke import scoring_time_limit_s, time_limit_s
from workers.protocol.hosts import Isolation
from workers.protocol.jobs import (
    BuiltEnvironment,
    FileRef,
    Job,
    Mount,
    OwnImage,
    PullPolicy,
    Stage,
    StagedFile,
    plain_file_name,
)
from workers.protocol.limits import Limits
from workers.protocol.plan import FileRole, PlannedFile, PlannedMount, StagePlan
from workers.protocol.planning import LOG_BYTES, TMP_BYTES
from workers.protocol.stages import StageName, StageOutput, Step

OF_THE_TASK: Final = (
    FileRole.INGESTION_PROGRAM,
    FileRole.INPUT_DATA,
    FileRole.SCORING_PROGRAM,
    FileRole.REFERENCE_DATA,
)

RunFiles = dict[FileRole, tuple[StoredFile, str]]
Address = Callable[[FileRole, StoredFile], str]  # where a file is fetched


def job_for(run: Run) -> Job:
    """The answer to a successful claim. The run must be leased."""
    return planned_job(run, stages_for_worker(run), JobFiles(run_files(run), lambda _, stored: _signed(run, stored)))


def stages_for_worker(run: Run) -> list[StagePlan]:
    """The stages that the run's worker is given: one that ingests alone never gets what scoring needs."""
    is_ingesting = run.worker is not None and run.worker.role == ComputeWorker.Role.INGESTION
    return [stage for stage in stages_left(run) if not is_ingesting or stage.step == Step.FIRST]


@dataclass(frozen=True)
class JobFiles:
    """The files of a job, and where each of them is fetched."""

    known: RunFiles
    address: Address

    def ref(self, role: FileRole) -> FileRef:
        """One of them as a job names it."""
        stored, name = self.known[role]
        url = self.address(role, stored)
        return FileRef(url=url, sha256=stored.sha256, size_bytes=stored.size_bytes, name=plain_file_name(name))


def planned_job(run: Run, stages: Sequence[StagePlan], files: JobFiles) -> Job:
    """These stages of a run, as a job."""
    phase = run.submission.phase
    return Job(
        run_id=str(run.pk),
        submission_id=str(run.submission_id),
        attempt=run.attempt,
        lease_id=str(run.lease_id),
        token=run_token(run),
        lease_s=settings.LEASE_S,
        heartbeat_s=settings.HEARTBEAT_S,
        gpus=1 if run.gpus else 0,
        isolation=Isolation(phase.isolation),
        stages=tuple(_stage(run, phase, stage, files) for stage in stages),
        columns=tuple(run.receipt["columns"] if "columns" in run.receipt else column_keys(score_columns(phase))),
        detailed_results=phase.competition.enable_detailed_results,
        seed=run.submission.seed,
        replicates_s=0 if run.is_smoke else phase.replicates_time_s,
        text_files=phase.text_patterns,
    )


def file_urls(run: Run) -> dict[str, str]:
    """Fresh URLs by digest of what the run's worker is given, where a transfer outlived the first ones."""
    files = run_files(run)
    mounts = [mount for stage in stages_for_worker(run) for mount in stage.mounts if isinstance(mount, PlannedFile)]
    stored = [files[role][0] for role in (*(mount.file for mount in mounts), FileRole.IMAGE) if role in files]
    return {file.sha256: _signed(run, file) for file in stored}


def column_keys(columns: Iterable[ScoreColumn]) -> list[str]:
    """Keys of the scores that the boards with these columns show, each once."""
    return list(dict.fromkeys(column.key for column in columns))


def run_files(run: Run) -> RunFiles:
    """Every file that the run may be given, as it is now."""
    files = {FileRole.SUBMISSION: (run.submission.file, run.submission.file_name)}
    for role in OF_THE_TASK:
        resource = getattr(run.task, role)
        if resource is not None:
            files[role] = (resource.file, resource.file_name)
    if run.submission.weights is not None and run.submission.weights.file is not None:
        files[FileRole.WEIGHTS] = (run.submission.weights.file, run.submission.weights.file_name)
    if run.submission.image is not None and run.submission.image.file is not None:
        files[FileRole.IMAGE] = (run.submission.image.file, "image.tar")
    if run.submission.requirements is not None:
        files[FileRole.REQUIREMENTS] = (run.submission.requirements, "requirements.txt")
    if run.ingested_attempt is not None:
        outputs = RunOutput.objects.select_related("file")
        predictions = outputs.get(run=run, attempt=run.ingested_attempt, name="predictions.zip")
        files[FileRole.PREDICTIONS] = (predictions.file, predictions.name)
    return files


def _signed(run: Run, stored: StoredFile) -> str:
    token = sign_file(stored.sha256, str(run.lease_id))
    return reverse("worker-file", args=[token])  # without a host: a worker may reach the site by another name


def _stage(run: Run, phase: Phase, plan: StagePlan, files: JobFiles) -> Stage:
    return Stage(
        **plan.model_dump(exclude={"mounts"}),
        **_image(run, phase, plan, files),
        mounts=tuple(_mount(run, mount, files) for mount in plan.mounts if _is_there(mount, files.known)),
        limits=_limits(run, phase, plan),
        network=phase.allow_network,
    )


def _image(run: Run, phase: Phase, plan: StagePlan, files: JobFiles) -> dict[str, Any]:
    """The image that a stage runs in: the team's where it brought one, but for the scoring program's."""
    submission = run.submission
    of_team = {"is_image_of_team": True, "image_max_bytes": run.queue.max_image_bytes}
    if plan.name != StageName.SCORING and submission.image is not None and FileRole.IMAGE in files.known:
        own = OwnImage(archive=files.ref(FileRole.IMAGE), image_id=submission.image.image_id)
        return {"image": own.image_id, "own_image": own, "pull": PullPolicy.NEVER} | of_team
    if plan.name != StageName.SCORING and submission.image_reference:
        return {"image": submission.image_reference, "pull": PullPolicy.MISSING} | of_team
    return {"image": phase.image_name, "pull": PullPolicy(run.queue.pull_policy)}


def _is_there(mount: PlannedMount, files: RunFiles) -> bool:
    """False for a file removed from the task since the run was leased; the next attempt omits it."""
    return isinstance(mount, StageOutput) or mount.file in files


def _mount(run: Run, mount: PlannedMount, files: JobFiles) -> Mount:
    if isinstance(mount, StageOutput):
        return mount
    file = files.ref(mount.file)
    if mount.file == FileRole.REQUIREMENTS:
        queue = run.queue
        return BuiltEnvironment(
            target="/app/environment",
            requirements=file,
            mirror=queue.package_mirror,
            wall_s=float(queue.environment_time_limit_s),
            max_bytes=queue.environment_bytes,
        )
    return StagedFile(target=mount.target, secret=mount.secret, unpack=mount.unpack, file=file)


def _limits(run: Run, phase: Phase, plan: StagePlan) -> Limits:
    """The phase's budget; the organizer's scoring program has one of its own."""
    is_scoring = plan.name == StageName.SCORING
    return Limits(
        wall_s=scoring_time_limit_s(run, phase) if is_scoring else time_limit_s(run, phase),
        memory_bytes=phase.scoring_memory_bytes if is_scoring else phase.memory_bytes,
        cpus=1.0 if is_scoring else phase.cpus,
        pids=phase.pids,
        output_bytes=phase.output_bytes,
        output_files=phase.output_files,
        tmp_bytes=TMP_BYTES,
        log_bytes=LOG_BYTES,
    )
