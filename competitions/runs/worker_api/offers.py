"""A phase's smoke run for a participant's own machine, made by the code that makes workers' jobs."""

import uuid
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings

from competitions.catalog.models import Phase
from competitions.compute.models import ComputeWorker
from competitions.disclosure.scores import hidden_keys
from competitions.environments.choice import fault_of_mirror, image_by_digest, require_accepted
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import require_size
from competitions.resources.models import StoredFile
from competitions.runs.models import Run
from competitions.runs.planning import plan_for
from competitions.runs.worker_api.jobs import Address, JobFiles, planned_job, run_files
from competitions.submissions.file_checks.preflight import file_contract
from competitions.submissions.models import Submission
from competitions.submissions.refusals import SMOKE_TASK_HIDDEN, NoSmokeRun
from competitions.submissions.states import Kind, State
from workers.protocol.hosts import Calibration, Isolation
from workers.protocol.jobs import IMAGE_ID
from workers.protocol.messages import MessageInvalid, read_message
from workers.protocol.plan import FileRole
from workers.protocol.smoke import IMAGE, REQUIREMENTS, SUBMISSION, WEIGHTS, SmokeOffer

FILE_NAME: Final = "code.zip"
AT_HOME: Final = {
    FileRole.SUBMISSION: SUBMISSION,
    FileRole.WEIGHTS: WEIGHTS,
    FileRole.IMAGE: IMAGE,
    FileRole.REQUIREMENTS: REQUIREMENTS,
}
LATELY: Final = 20  # submissions of the phase that are looked at for the image's digest
WORKERS: Final = 20


@dataclass(frozen=True)
class Brought:
    """A team's environment on its own machine: file sizes in bytes (None: no such file) and image.

    The image is an archive's digest (`sha256:…`) or `registry/repository@sha256:…`.
    """

    weights_bytes: int | None = None
    image: str = ""
    image_bytes: int | None = None


NOTHING: Final = Brought()


def smoke_offer(phase: Phase, address: Address, brought: Brought = NOTHING) -> SmokeOffer:
    """The smoke run of a phase as a job to run at home, with files by `address`.

    Raises `NoSmokeRun` or `SMOKE_TASK_HIDDEN`, and for what is brought the refusal that a submission or an upload would meet:
    `EnvironmentNotAccepted`, `FileTooLarge`, `REFERENCE_INVALID` or `RegistryNotAllowed`.
    """
    task = phase.smoke_task
    if task is None:
        raise NoSmokeRun(phase)
    if task.hidden_part(phase.competition):
        raise SMOKE_TASK_HIDDEN(phase=phase)
    submission, queue = _submission(phase, brought), phase.competition.queue
    run = Run(submission=submission, task=task, queue=queue, is_smoke=True, gpus=phase.gpus, lease_id=uuid.uuid4())
    files = JobFiles(run_files(run), lambda role, stored: AT_HOME.get(role) or address(role, stored))
    job = planned_job(run, plan_for(submission, task).stages, files)
    # At home a program is its author's own, and few have gVisor there.
    job = job.model_copy(update={"isolation": Isolation.STANDARD})
    hidden = hidden_keys(phase)
    known = tuple(key for key in job.columns if key not in hidden)
    contract = file_contract(phase=phase, kind=Kind.CODE, file_name=FILE_NAME)
    return SmokeOffer(
        job=job.model_copy(update={"token": "none", "columns": known}),
        needs_command=contract.needs_command,
        takes_requirements=contract.takes_requirements,
        no_mirror=fault_of_mirror(queue),
        image_platform=settings.IMAGE_PLATFORM,
        time_limit_s=phase.time_limit_s,
        scale=phase.smoke_scale,
        image_digest="" if brought.image else _image_digest(phase),
        calibrations=tuple(_calibrations(phase)),
    )


def _submission(phase: Phase, brought: Brought) -> Submission:
    """Build an unsaved submission with the environment; nothing is known of its files here."""
    require_accepted(phase, weights=brought.weights_bytes is not None, image=bool(brought.image))
    kinds = EnvironmentFile.Kind
    for kind, size_bytes in ((kinds.WEIGHTS, brought.weights_bytes), (kinds.IMAGE, brought.image_bytes)):
        require_size(phase.competition, kind, size_bytes or 0)
    at_home = StoredFile(sha256="0" * 64, size_bytes=0)
    # Plans ask for keys: 0 is the key of no row.
    weights = EnvironmentFile(pk=0, file=at_home, file_name="weights") if brought.weights_bytes is not None else None
    is_archive = IMAGE_ID.fullmatch(brought.image) is not None
    return Submission(
        phase=phase,
        kind=Kind.CODE,
        file=at_home,
        file_name=FILE_NAME,
        weights=weights,
        image=EnvironmentFile(pk=0, file=at_home, image_id=brought.image) if is_archive else None,
        image_reference=image_by_digest(phase, brought.image) if brought.image and not is_archive else "",
        requirements=at_home if phase.own_requirements and not fault_of_mirror(phase.competition.queue) else None,
    )


def _image_digest(phase: Phase) -> str:
    """The digest of the image that the phase's submissions ran in last; empty if none ran lately."""
    newest = list(Submission.objects.filter(phase=phase).order_by("-pk").values_list("pk", flat=True)[:LATELY])
    runs = Run.objects.filter(submission__in=newest, state=State.FINISHED).order_by("-finished_at")
    for receipt in runs.values_list("receipt", flat=True)[:LATELY]:
        for stage in receipt.get("stages") or []:
            if stage.get("image") == phase.image_name and stage.get("image_digest"):
                return str(stage["image_digest"])
    return ""


def _calibrations(phase: Phase) -> list[Calibration]:
    """The calibrations of the queue's workers that were measured, without what names a host."""
    workers = ComputeWorker.objects.filter(queue=phase.competition.queue, quarantined_at=None).order_by("-last_seen_at")
    rows: list[Any] = list(workers.exclude(calibration={}).values_list("calibration", flat=True)[:WORKERS])
    calibrations = []
    for row in rows:
        try:
            calibrations.append(_anonymous(read_message(Calibration, row)))
        except MessageInvalid:  # of a release that measured otherwise: nothing to compare with
            continue
    return calibrations


def _anonymous(calibration: Calibration) -> Calibration:
    """Times and models, and no device by its number."""
    gpus = tuple(gpu.model_copy(update={"uuid": ""}) for gpu in calibration.gpus)
    return calibration.model_copy(update={"gpus": gpus})
