"""A phase's smoke run on a participant's own machine: the job that the site offers, with files that lie on this disk."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers.calibration import calibrate, kept_calibration
from workers.local import LocalRun, run_locally
from workers.projection import Projection, project, speed_of
from workers.protocol.jobs import FileRef, Job, Mount, StagedFile
from workers.protocol.messages import read_message
from workers.protocol.smoke import SUBMISSION, SmokeOffer
from workers.protocol.stages import StageName


def read_offer(body: object) -> SmokeOffer:
    """Read the site's answer. Raises `MessageInvalid`, a `ValueError`."""
    return read_message(SmokeOffer, body)


def files_of(offer: SmokeOffer) -> dict[str, FileRef]:
    """The files to fetch from the site, by digest."""
    mounts = [mount for stage in offer.job.stages for mount in stage.mounts]
    files = [mount.file for mount in mounts if isinstance(mount, StagedFile)]
    return {file.sha256: file for file in files if file.url != SUBMISSION}


def rehearse(offer: SmokeOffer, submission: Path, files: Mapping[str, Path], *, engine: str = "") -> LocalRun:
    """Run a zip of code as the site would. `files`: those of `files_of`, by digest. Raises `CannotRunHere`."""
    return run_locally(local_job(offer.job, submission, files), engine=engine)


def local_job(job: Job, submission: Path, files: Mapping[str, Path]) -> Job:
    """The job with the zip that is sent in, and with the site's files, by digest, as they lie on this disk."""
    with submission.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    sent = {"url": str(submission), "sha256": sha256, "size_bytes": submission.stat().st_size}

    def local(mount: Mount) -> Mount:
        if not isinstance(mount, StagedFile):
            return mount
        is_sent = mount.file.url == SUBMISSION
        here: dict[str, Any] = sent if is_sent else {"url": str(files[mount.file.sha256])}
        return mount.model_copy(update={"file": mount.file.model_copy(update=here)})

    stages = (stage.model_copy(update={"mounts": tuple(map(local, stage.mounts))}) for stage in job.stages)
    return job.model_copy(update={"stages": tuple(stages)})


def projection_of(offer: SmokeOffer, run: LocalRun, calibration_dir: Path) -> Projection | None:
    """What the run would take on the site's hardware; None where one of the two was never measured, or no program was run."""
    stage = next((one for one in run.result.stages if one.name != StageName.SCORING), None)
    limits = next(one.limits for one in offer.job.stages)
    if stage is None or stage.wall_s is None:
        return None
    here, on_gpu = kept_calibration(calibration_dir), bool(offer.job.gpus)
    speed = speed_of(here, offer.calibrations, on_gpu=on_gpu, cores=limits.cpus)
    if speed is None:
        return None
    return project(stage.wall_s, speed, scale=offer.scale, limit_s=offer.time_limit_s)


def measure(offer: SmokeOffer, calibration_dir: Path, *, engine: str = "") -> None:
    """Run the fixed loads on this machine, in the phase's image, and keep their times. Takes about a minute."""
    calibration_dir.mkdir(parents=True, exist_ok=True)
    gpus = "auto" if offer.job.gpus else "none"
    calibrate(image=offer.job.stages[0].image, data_dir=calibration_dir, engine=engine or None, gpus=gpus)


def other_image(offer: SmokeOffer, run: LocalRun) -> str:
    """The digest of the image that was used here, where the site uses another one; else empty."""
    used = next((stage.image_digest for stage in run.result.stages if stage.image_digest), "")
    return used if offer.image_digest and used and used != offer.image_digest else ""
