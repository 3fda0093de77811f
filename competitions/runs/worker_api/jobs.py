"""The job that a worker gets for a run: stages, mounts and limits, with signed URLs for just the files of that run."""

from typing import Any

from django.conf import settings
from django.core import signing
from django.urls import reverse

from competitions.catalog.models import MIB, Phase, Task
from competitions.compute.models import ComputeWorker
from competitions.resources.models import Resource, StoredFile
from competitions.resources.signing import FileGrant, sign_file
from competitions.runs.models import Run, RunOutput
from competitions.submissions.models import Program, Submission
from competitions.submissions.states import Kind

RUN_TOKEN_SALT = "podium.runs.token"
TMP_BYTES = 512 * MIB
LOG_BYTES = 4 * MIB
FILE_NAME_BYTES = 200


def run_token(run: Run) -> str:
    """What a worker shows to speak about this run; worth nothing once the lease is over."""
    return signing.dumps([str(run.pk), run.attempt, str(run.lease_id), run.submission_id], salt=RUN_TOKEN_SALT)


def read_run_token(token: str) -> tuple[str, int, str, int | None] | None:
    """(run id, attempt, lease id, submission) of a token, or None when it was not made here."""
    try:
        run_id, attempt, lease_id, *submission = signing.loads(token, salt=RUN_TOKEN_SALT)
    except signing.BadSignature:
        return None
    return run_id, attempt, lease_id, submission[0] if submission else None  # of the first release: without


def job_for(run: Run) -> dict[str, Any]:
    """The body of a successful claim, as `docs/worker-protocol.md` says. The run must be leased."""
    submission = run.submission
    phase = submission.phase
    return {
        "run_id": str(run.pk),
        "submission_id": str(run.submission_id),
        "attempt": run.attempt,
        "lease_id": str(run.lease_id),
        "token": run_token(run),
        "lease_s": settings.LEASE_S,
        "heartbeat_s": settings.HEARTBEAT_S,
        "gpus": run.gpus,
        "stages": stages_for(run, submission, phase),
        "columns": run.receipt["columns"] if "columns" in run.receipt else column_keys(phase),
        "detailed_results": phase.competition.enable_detailed_results,
    }


def stages_for(run: Run, submission: Submission, phase: Phase) -> list[dict[str, Any]]:
    """The stages that are left, of those that the worker's role allows: labels never reach one that runs participants' code.

    What takes part follows from the kind, the task's programs and the submission itself. On Codabench's rules a submission
    with a command of its own runs beside the ingestion program, and one without a metadata file is copied into the output.
    """
    role = run.worker.role if run.worker else ComputeWorker.Role.BOTH
    first = _first_stages(run, submission, phase) if run.ingested_attempt is None else []
    if role == ComputeWorker.Role.INGESTION:
        return first
    res = _result_mount(run, submission, phase, first[0]["name"] if first else None)
    beside = []
    if submission.kind != Kind.PREDICTION and run.task.runs_beside_scoring:
        beside = [_ingestion_stage(run, submission, phase, step=2)]
        beside[0]["mounts"] += [{**res, "target": "/app/ingested_program"}, res]
    return [*first, *beside, _scoring_stage(run, phase, res)]


def _first_stages(run: Run, submission: Submission, phase: Phase) -> list[dict[str, Any]]:
    """The stages before scoring: the submission by its own command, the ingestion program, or both at once."""
    has_ingestion = run.task.ingestion_program is not None
    says_command = phase.as_on_codabench and submission.program == Program.COMMAND
    stages = []
    if submission.kind == Kind.CODE and (says_command or not (has_ingestion or phase.as_on_codabench)):
        stages.append(_submission_stage(run, submission, phase, name="submission" if has_ingestion else "ingestion"))
    if submission.kind != Kind.PREDICTION and has_ingestion and not run.task.runs_beside_scoring:
        stages.append(_ingestion_stage(run, submission, phase, step=1))
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
    scores = phase.leaderboards.filter(columns__kind="score").order_by("index", "pk", "columns__index", "columns__pk")
    return list(dict.fromkeys(scores.values_list("columns__key", flat=True)))


def _file(run: Run, stored: StoredFile, name: str) -> dict[str, Any]:
    token = sign_file(FileGrant(sha256=stored.sha256, lease_id=str(run.lease_id)))
    url = reverse("worker-file", args=[token])  # without a host: a worker may reach the site by another name
    return {"url": url, "sha256": stored.sha256, "size_bytes": stored.size_bytes, "name": plain_file_name(name)}


def plain_file_name(name: str) -> str:
    """The name under which a worker can place the file: its end, which has the suffix, in at most 200 bytes.

    People may call a file what no file system takes; their run must not fail by it.
    """
    cut = name.encode()[-FILE_NAME_BYTES:].decode(errors="ignore")
    return cut if cut not in ("", ".", "..") else "file"


def _mount(run: Run, target: str, resource: Resource, *, secret: bool = False) -> dict[str, Any]:
    return {"target": target, "file": _file(run, resource.file, resource.file_name), "unpack": True, "secret": secret}


def _stage(
    run: Run, name: str, phase: Phase, mounts: list[dict[str, Any]], step: int, **limits: float
) -> dict[str, Any]:
    shared = {
        "cpus": phase.cpus, "pids": phase.pids, "output_bytes": phase.output_bytes,
        "output_files": phase.output_files, "tmp_bytes": TMP_BYTES, "log_bytes": LOG_BYTES,
    }  # fmt: skip
    return {
        "name": name,
        "step": step,
        "image": phase.image_name,
        "pull": run.queue.pull_policy,
        "mounts": mounts,
        "command_from": "/app/program",
        "command": None,
        "limits": shared | limits,
        "network": phase.allow_network,
        "writable": phase.as_on_codabench,
        "shared": phase.as_on_codabench and step == 2,
        "tolerant": phase.as_on_codabench and name != "scoring",
        "prefill": None,
    }


def _submission_stage(run: Run, submission: Submission, phase: Phase, *, name: str) -> dict[str, Any]:
    """The stage that runs a submission by the command of its own metadata file."""
    mounts = [{"target": "/app/program", **_submitted(run, submission)}, *_input_data(run)]
    stage = _stage(run, name, phase, mounts, 1, wall_s=phase.time_limit_s, memory_bytes=phase.memory_bytes)
    # Without an ingestion program beside it, how it ends is the verdict.
    return stage | {"tolerant": stage["tolerant"] and name == "submission"}


def _ingestion_stage(run: Run, submission: Submission, phase: Phase, *, step: int) -> dict[str, Any]:
    """The stage of the organizer's ingestion program, which sees the submission and the input data, never reference data."""
    assert run.task.ingestion_program is not None, "asked before"
    mounts = [_mount(run, "/app/program", run.task.ingestion_program)]
    if step == 1:
        mounts.append({"target": "/app/ingested_program", **_submitted(run, submission)})
    mounts += _input_data(run)
    stage = _stage(run, "ingestion", phase, mounts, step, wall_s=phase.time_limit_s, memory_bytes=phase.memory_bytes)
    copied = step == 1 and phase.as_on_codabench and submission.kind == Kind.CODE and submission.program == Program.NONE
    return stage | {"shared": step == 2, "prefill": "/app/ingested_program" if copied else None}


def _submitted(run: Run, submission: Submission) -> dict[str, Any]:
    return {"file": _file(run, submission.file, submission.file_name), "unpack": True}


def _input_data(run: Run) -> list[dict[str, Any]]:
    return [] if run.task.input_data is None else [_mount(run, "/app/input_data", run.task.input_data)]


def _result_mount(run: Run, submission: Submission, phase: Phase, first: str | None) -> dict[str, Any]:
    """What is scored: the output of the first step, or the submission as it was sent in."""
    if first is not None:
        return {"target": "/app/input/res", "stage_output": first}
    if run.ingested_attempt is not None:
        handed = RunOutput.objects.select_related("file").get(
            run=run, attempt=run.ingested_attempt, name="predictions.zip"
        )
        return {"target": "/app/input/res", "file": _file(run, handed.file, handed.name), "unpack": True}
    is_single_file = phase.prediction_format is not None
    return {"target": "/app/input/res", **_submitted(run, submission), "unpack": not is_single_file}


def _scoring_stage(run: Run, phase: Phase, res: dict[str, Any]) -> dict[str, Any]:
    """The stage that sees the labels: it runs the organizer's program alone, on data."""
    task: Task = run.task
    mounts = [_mount(run, "/app/program", task.scoring_program)]
    if task.reference_data is not None:
        mounts.append(_mount(run, "/app/input/ref", task.reference_data, secret=True))
    beside = task.runs_beside_scoring
    if beside:
        mounts += _input_data(run)
    wall_s = max(phase.scoring_time_limit_s, phase.time_limit_s) if beside else phase.scoring_time_limit_s
    stage = _stage(
        run, "scoring", phase, [*mounts, res], 2, wall_s=wall_s, memory_bytes=phase.scoring_memory_bytes, cpus=1.0
    )
    return stage | {"shared": stage["shared"] or beside}
