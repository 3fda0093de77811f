"""The job that a worker gets for a run: stages, mounts and limits, with signed URLs for just the files of that run."""

from typing import Any

from django.conf import settings
from django.core import signing
from django.urls import reverse

from competitions.catalog.models import MIB, Phase, Task
from competitions.compute.models import ComputeWorker
from competitions.resources.models import Resource, StoredFile
from competitions.resources.signing import FileGrant, sign_file
from competitions.submissions.models import Run, RunOutput, Submission
from competitions.submissions.states import Kind

RUN_TOKEN_SALT = "podium.submissions.run"
TMP_BYTES = 512 * MIB
LOG_BYTES = 4 * MIB


def run_token(run: Run) -> str:
    """What a worker shows to speak about this run; worth nothing once the lease is over."""
    return signing.dumps([str(run.pk), run.attempt, str(run.lease_id)], salt=RUN_TOKEN_SALT)


def read_run_token(token: str) -> tuple[str, int, str] | None:
    """(run id, attempt, lease id) of a token, or None when it was not made here."""
    try:
        run_id, attempt, lease_id = signing.loads(token, salt=RUN_TOKEN_SALT)
    except signing.BadSignature:
        return None
    return run_id, attempt, lease_id


def job_for(run: Run) -> dict[str, Any]:
    """The body of a successful claim, as `docs/worker-protocol.md` says. The run must be leased."""
    submission = run.submission
    phase = submission.phase
    stages = stages_for(run, submission, phase)
    return {
        "run_id": str(run.pk),
        "attempt": run.attempt,
        "lease_id": str(run.lease_id),
        "token": run_token(run),
        "lease_s": settings.LEASE_S,
        "heartbeat_s": settings.HEARTBEAT_S,
        "gpus": run.gpus,
        "stages": stages,
        "columns": column_keys(phase),
    }


def stages_for(run: Run, submission: Submission, phase: Phase) -> list[dict[str, Any]]:
    """The stages that are left, of those that the worker's role allows: labels never reach one that runs participants' code."""
    role = run.worker.role if run.worker else ComputeWorker.Role.BOTH
    stages = []
    if submission.kind == Kind.CODE and run.ingested_attempt is None:
        stages.append(_ingestion_stage(run, submission, phase))
    if role != ComputeWorker.Role.INGESTION:
        stages.append(_scoring_stage(run, submission, phase))
    return stages


def file_urls(run: Run) -> dict[str, str]:
    """Fresh URLs by digest of every input of the run, for a transfer that outlived the first ones."""
    return {
        mount["file"]["sha256"]: mount["file"]["url"]
        for stage in job_for(run)["stages"]
        for mount in stage["mounts"]
        if "file" in mount
    }


def column_keys(phase: Phase) -> list[str]:
    """Keys of the scores that the phase's boards show, each once. Boards are an app above this one, reached by relation."""
    boards = phase.leaderboards.all()
    columns = [column for board in boards for column in board.columns.all() if column.kind == "score"]
    return list(dict.fromkeys(column.key for column in columns))


def _file(run: Run, stored: StoredFile, name: str) -> dict[str, Any]:
    token = sign_file(FileGrant(sha256=stored.sha256, lease_id=str(run.lease_id)))
    url = reverse("worker-file", args=[token])  # without a host: a worker may reach the site by another name
    return {"url": url, "sha256": stored.sha256, "size_bytes": stored.size_bytes, "name": name}


def _mount(run: Run, target: str, resource: Resource, *, secret: bool = False) -> dict[str, Any]:
    return {"target": target, "file": _file(run, resource.file, resource.file_name), "unpack": True, "secret": secret}


def _stage(run: Run, name: str, phase: Phase, mounts: list[dict[str, Any]], **limits: float) -> dict[str, Any]:
    shared = {
        "cpus": phase.cpus, "pids": phase.pids, "output_bytes": phase.output_bytes,
        "output_files": phase.output_files, "tmp_bytes": TMP_BYTES, "log_bytes": LOG_BYTES,
    }  # fmt: skip
    return {
        "name": name,
        "image": phase.image_name,
        "pull": run.queue.pull_policy,
        "mounts": mounts,
        "command_from": "/app/program",
        "command": None,
        "limits": shared | limits,
        "network": False,
    }


def _ingestion_stage(run: Run, submission: Submission, phase: Phase) -> dict[str, Any]:
    """The stage that runs the participant's code: it is given inputs, never reference data."""
    task: Task = run.task
    code = {"file": _file(run, submission.file, submission.file_name), "unpack": True}
    if task.ingestion_program is None:
        mounts = [{"target": "/app/program", **code}]
    else:
        mounts = [_mount(run, "/app/program", task.ingestion_program), {"target": "/app/ingested_program", **code}]
    if task.input_data is not None:
        mounts.append(_mount(run, "/app/input_data", task.input_data))
    return _stage(run, "ingestion", phase, mounts, wall_s=phase.time_limit_s, memory_bytes=phase.memory_bytes)


def _scoring_stage(run: Run, submission: Submission, phase: Phase) -> dict[str, Any]:
    """The stage that sees the labels: it runs the organizer's program alone, on data."""
    task: Task = run.task
    mounts = [_mount(run, "/app/program", task.scoring_program)]
    if task.reference_data is not None:
        mounts.append(_mount(run, "/app/input/ref", task.reference_data, secret=True))
    if run.ingested_attempt is not None:
        handed = RunOutput.objects.select_related("file").get(
            run=run, attempt=run.ingested_attempt, name="predictions.zip"
        )
        mounts.append({"target": "/app/input/res", "file": _file(run, handed.file, handed.name), "unpack": True})
    elif submission.kind == Kind.CODE:
        mounts.append({"target": "/app/input/res", "stage_output": "ingestion"})
    else:
        is_single_file = phase.prediction_format is not None
        mounts.append(
            {
                "target": "/app/input/res",
                "file": _file(run, submission.file, submission.file_name),
                "unpack": not is_single_file,
            }
        )
    return _stage(
        run, "scoring", phase, mounts, wall_s=phase.scoring_time_limit_s, memory_bytes=phase.scoring_memory_bytes, cpus=1.0
    )
