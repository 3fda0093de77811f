"""A phase's smoke run on a participant's own machine: the site's job, with files of this disk."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from workers.calibration import calibrate, kept_calibration
from workers.local import LocalRun, run_locally
from workers.projection import Projection, project, relative_speed
from workers.protocol.jobs import BuiltEnvironment, FileRef, Job, Mount, Stage, StagedFile, plain_file_name
from workers.protocol.messages import read_message
from workers.protocol.smoke import IMAGE, REQUIREMENTS, SUBMISSION, WEIGHTS, SmokeOffer
from workers.protocol.stages import StageName

AT_HOME: Final = (SUBMISSION, WEIGHTS, IMAGE, REQUIREMENTS)


def read_offer(body: object) -> SmokeOffer:
    """Read the site's answer. Raises `MessageInvalid`, a `ValueError`."""
    return read_message(SmokeOffer, body)


def offered_files(offer: SmokeOffer) -> dict[str, FileRef]:
    """The files to fetch from the site, by digest."""
    mounts = [mount for stage in offer.job.stages for mount in stage.mounts]
    files = [mount.file for mount in mounts if isinstance(mount, StagedFile)]
    return {file.sha256: file for file in files if file.url not in AT_HOME}


@dataclass(frozen=True)
class Brought:
    """The files of this disk: the zip of code, and its environment.

    `mirror` takes the place of the site's package mirror.
    """

    submission: Path
    weights: Path | None = None
    image: Path | None = None
    requirements: Path | None = None
    mirror: str = ""

    def ref(self, file: FileRef) -> FileRef:
        """The file of this disk in place of the one that the site named by what it is."""
        named = {WEIGHTS: self.weights, IMAGE: self.image, REQUIREMENTS: self.requirements}
        path = named.get(file.url) or self.submission
        with path.open("rb") as content:
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
        name = plain_file_name(path.name) if file.url == WEIGHTS else file.name
        return FileRef(url=str(path), sha256=sha256, size_bytes=path.stat().st_size, name=name)


def run_offer(
    offer: SmokeOffer, brought: Brought, files: Mapping[str, Path], *, cache_dir: Path | None = None
) -> LocalRun:
    """Run code as the site would. Raises `CannotRunHere`.

    `files` are those of `offered_files` by digest; `cache_dir` keeps installed packages.
    """
    job = local_job(offer.job, brought, files)
    return run_locally(job, environments=cache_dir and cache_dir / "environments", any_mirror=bool(brought.mirror))


def offered_mirror(offer: SmokeOffer) -> str:
    """The package mirror that the site would install from; empty where it installs nothing."""
    mounts = [mount for stage in offer.job.stages for mount in stage.mounts]
    return next((mount.mirror for mount in mounts if isinstance(mount, BuiltEnvironment)), "")


def local_job(job: Job, brought: Brought, files: Mapping[str, Path]) -> Job:
    """The job with what is brought, and with the site's files, by digest, as they lie on this disk."""
    ref = cache(brought.ref)  # each file is read once

    def local(mount: Mount) -> Mount:
        if isinstance(mount, BuiltEnvironment):
            update = {"requirements": ref(mount.requirements), "mirror": brought.mirror or mount.mirror}
            return mount.model_copy(update=update)
        if not isinstance(mount, StagedFile):
            return mount
        if mount.file.url in AT_HOME:
            return mount.model_copy(update={"file": ref(mount.file)})
        here = mount.file.model_copy(update={"url": str(files[mount.file.sha256])})
        return mount.model_copy(update={"file": here})

    def changed_stage(stage: Stage) -> Stage:
        is_needed = [mount for mount in stage.mounts if brought.requirements or not isinstance(mount, BuiltEnvironment)]
        own = stage.own_image and stage.own_image.model_copy(update={"archive": ref(stage.own_image.archive)})
        return stage.model_copy(update={"mounts": tuple(map(local, is_needed)), "own_image": own})

    return job.model_copy(update={"stages": tuple(map(changed_stage, job.stages))})


def project_run(offer: SmokeOffer, run: LocalRun, calibration_dir: Path) -> Projection | None:
    """The time of the run on the site's hardware.

    None where one of the two was never measured, or no program was run.
    """
    stage = next((record for record in run.result.stages if record.name != StageName.SCORING), None)
    limits = next(job_stage.limits for job_stage in offer.job.stages)
    if stage is None or stage.wall_s is None:
        return None
    here, on_gpu = kept_calibration(calibration_dir), bool(offer.job.gpus)
    speed = relative_speed(here, offer.calibrations, on_gpu=on_gpu, cores=limits.cpus)
    if speed is None:
        return None
    return project(stage.wall_s, speed, scale=offer.scale, limit_s=offer.time_limit_s)


def measure(offer: SmokeOffer, calibration_dir: Path) -> None:
    """Run the fixed loads on this machine, and keep their times. Takes about a minute.

    They run in the phase's image; scoring has no other.
    """
    calibration_dir.mkdir(parents=True, exist_ok=True)
    gpus = "auto" if offer.job.gpus else "none"
    calibrate(image=offer.job.stages[-1].image, data_dir=calibration_dir, engine=None, gpus=gpus)


def other_image(offer: SmokeOffer, run: LocalRun) -> str:
    """The digest of the image that was used here, where the site uses another one; else empty."""
    used = next((stage.image_digest for stage in run.result.stages if stage.image_digest), "")
    return used if offer.image_digest and used and used != offer.image_digest else ""
