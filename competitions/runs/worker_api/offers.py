"""A phase's smoke run for a participant's own machine: the same job, made by the same code as a worker's."""

import uuid
from typing import Any, Final

from competitions.catalog.models import Phase
from competitions.compute.models import ComputeWorker
from competitions.resources.models import StoredFile
from competitions.runs.models import Run
from competitions.runs.planning import plan_for
from competitions.runs.worker_api.jobs import Address, JobFiles, job_of, run_files
from competitions.submissions.file_checks.preflight import contract_of
from competitions.submissions.models import Submission
from competitions.submissions.refusals import NoSmokeRun, SmokeTaskHidden
from competitions.submissions.states import Kind, State
from workers.protocol.hosts import Calibration
from workers.protocol.messages import MessageInvalid, read_message
from workers.protocol.plan import FileRole
from workers.protocol.smoke import SUBMISSION, SmokeOffer

FILE_NAME: Final = "code.zip"
LATELY: Final = 20  # submissions of the phase that are looked at for the image's digest
WORKERS: Final = 20


def smoke_offer(phase: Phase, address: Address) -> SmokeOffer:
    """What runs, with files by `address`. Raises `NoSmokeRun` or `SmokeTaskHidden`."""
    task = phase.smoke_task
    if task is None:
        raise NoSmokeRun(phase)
    if task.hidden_part(phase.competition):
        raise SmokeTaskHidden(phase)
    sent = StoredFile(sha256="0" * 64, size_bytes=0)
    submission = Submission(phase=phase, kind=Kind.CODE, file=sent, file_name=FILE_NAME)
    run = Run(
        submission=submission, task=task, queue=phase.competition.queue, is_smoke=True, gpus=phase.gpus, lease_id=uuid.uuid4()
    )  # fmt: skip
    files = JobFiles(
        run_files(run), lambda role, stored: SUBMISSION if role == FileRole.SUBMISSION else address(role, stored)
    )
    return SmokeOffer(
        job=job_of(run, plan_for(submission, task).stages, files).model_copy(update={"token": "none"}),
        needs_command=contract_of(phase=phase, kind=Kind.CODE, file_name=FILE_NAME).needs_command,
        time_limit_s=phase.time_limit_s, scale=phase.smoke_scale, image_digest=_image_digest(phase),
        calibrations=tuple(_calibrations(phase)),
    )  # fmt: skip


def _image_digest(phase: Phase) -> str:
    """Of the image as the phase's submissions ran in it last; empty where none has run lately."""
    newest = list(Submission.objects.filter(phase=phase).order_by("-pk").values_list("pk", flat=True)[:LATELY])
    runs = Run.objects.filter(submission__in=newest, state=State.FINISHED).order_by("-finished_at")
    for receipt in runs.values_list("receipt", flat=True)[:LATELY]:
        for stage in receipt.get("stages") or []:
            if stage.get("image") == phase.image_name and stage.get("image_digest"):
                return str(stage["image_digest"])
    return ""


def _calibrations(phase: Phase) -> list[Calibration]:
    """Of the workers of the phase's queue, as far as they were measured. What names a host is left out."""
    workers = ComputeWorker.objects.filter(queue=phase.competition.queue, quarantined_at=None).order_by("-last_seen_at")
    kept: list[Any] = list(workers.exclude(calibration={}).values_list("calibration", flat=True)[:WORKERS])
    found = []
    for said in kept:
        try:
            found.append(_anonymous(read_message(Calibration, said)))
        except MessageInvalid:  # of a release that measured otherwise: nothing to compare with
            continue
    return found


def _anonymous(calibration: Calibration) -> Calibration:
    """Times and models, and no device by its number."""
    gpus = tuple(gpu.model_copy(update={"uuid": ""}) for gpu in calibration.gpus)
    return calibration.model_copy(update={"gpus": gpus})
