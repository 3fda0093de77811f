"""The site's verdict on this machine: what `podium run` does.

It runs a worker's code, so it comes with the extra `run`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urljoin

from files.bundles.local_jobs import PUBLIC_INDEX
from files.code_check import NOTHING, OwnEnvironment, check_code
from files.refusals import InvalidFile
from podium.client import Client
from podium.errors import InvalidInput
from podium.files import cache_dir, packed
from podium.models import DownloadFile
from podium.transfers import download
from workers.agent.host.gpus import GpuError
from workers.errors import SandboxError
from workers.local import LocalRun
from workers.projection import Projection
from workers.protocol.files.image_archive import ArchiveLimits, ImageArchiveInvalid, check_archive, describe_archive
from workers.protocol.jobs import FileRef
from workers.protocol.results import Complete
from workers.protocol.smoke import NO_MIRROR, SmokeOffer
from workers.protocol.stages import StageName
from workers.rehearsal import (
    Brought,
    measure,
    offered_files,
    offered_mirror,
    other_image,
    project_run,
    read_offer,
    run_offer,
)

METERS: Final = ("wall_s", "cpu_s", "memory_peak_bytes", "output_bytes", "gpu_s", "gpu_memory_peak_bytes")
FILE_INVALID: Final = "file_invalid"  # as the site names what it does not run at all
SETUP_ERROR: Final = "setup_error"
MIRROR_UNREACHABLE: Final = "mirror_unreachable"
CANNOT_RUN: Final = (ValueError, SandboxError, GpuError)  # faults of this machine, or of what it was asked to run


@dataclass(frozen=True)
class Verdict:
    """The end of a run, in the site's words, and the use of resources.

    `meters` are those of the program that was sent in, in seconds and bytes.
    """

    outcome: str
    reason: str = ""
    code: str = ""
    detail: str = ""
    scores: Mapping[str, object] = field(default_factory=dict)
    meters: Mapping[str, float] = field(default_factory=dict)
    limit_s: float | None = None
    projection: Projection | None = None
    logs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # on differences between this machine and the site


def require_environment(own: OwnEnvironment) -> None:
    """Raise `InvalidInput` for files that are not there, and names that cannot be meant."""
    if own.weights is not None and not own.weights.is_file():
        raise InvalidInput(f"There is no file {str(own.weights)!r} with weights.", code="no_file")
    if own.image and own.archive is None and "@sha256:" not in own.image:
        raise InvalidInput(
            f"There is no file {own.image!r}. Name the archive of an image, or an image as registry/repository@sha256:….",
            code="no_file",
        )
    if own.mirror and not own.mirror.startswith(("http://", "https://")):
        raise InvalidInput(
            f"{own.mirror!r} is not an address of a package mirror, such as {PUBLIC_INDEX}.", code="mirror"
        )


def rehearse(
    client: Client, slug: str, path: Path, *, phase: str = "", own: OwnEnvironment = NOTHING, calibrate: bool = False
) -> Verdict:
    """Run code on the phase's public mini split, as the site would. Raises `PodiumError`."""
    require_environment(own)
    chosen = client.phase(slug, phase)
    address = f"competitions/{slug}/phases/{chosen.slug}/smoke/"
    offer = read_offer(client.site.get(address, **_describe(own)))
    with TemporaryDirectory() as scratch:
        zipped = packed(path, Path(scratch))
        try:
            lock = check_code(
                zipped,
                file_name=zipped.name,
                needs_command=offer.needs_command,
                takes_requirements=offer.takes_requirements,
            )
        except InvalidFile as refusal:
            return Verdict("failed", FILE_INVALID, refusal.code, refusal.detail)
        if lock and offer.no_mirror:
            return Verdict("failed", SETUP_ERROR, NO_MIRROR, offer.no_mirror)
        _check_image(own, offer)
        requirements = _write_lock(lock, Path(scratch))
        brought = Brought(zipped, own.weights, own.archive, requirements, own.mirror)
        run = _run(client, offer, brought, phase=chosen.slug, calibrate=calibrate)
    site_mirror = offered_mirror(offer) if lock else ""
    require_mirror(run.result, own.mirror or site_mirror)
    verdict = _verdict(offer, run)
    return replace(verdict, remarks=(*verdict.remarks, *_remarks_on_mirror(own.mirror, site_mirror)))


def _run(client: Client, offer: SmokeOffer, brought: Brought, *, phase: str, calibrate: bool) -> LocalRun:
    """Fetch the files of the run on this phase, and run it. Raises `InvalidInput`."""
    files = _fetch(client, phase, offered_files(offer), cache_dir() / "files")
    try:
        if calibrate:
            measure(offer, cache_dir())
        return run_offer(offer, brought, files, cache_dir=cache_dir())
    except CANNOT_RUN as error:
        raise InvalidInput(str(error), code="cannot_run") from error


def _describe(own: OwnEnvironment) -> dict[str, str | int]:
    """The environment as the site's address for smoke runs takes it.

    Raises `InvalidInput` for an archive that is none of an image.
    """
    described: dict[str, str | int] = {}
    if own.weights is not None:
        described["weights_bytes"] = own.weights.stat().st_size
    if own.archive is not None:
        try:
            described["image"] = describe_archive(own.archive).image_id
        except ImageArchiveInvalid as fault:
            raise InvalidInput(str(fault), code=fault.code) from fault
        described["image_bytes"] = own.archive.stat().st_size
    elif own.image:
        described["image"] = own.image
    return described


def _check_image(own: OwnEnvironment, offer: SmokeOffer) -> None:
    """Check the archive as the site does when it is uploaded. Raises `InvalidInput`."""
    if own.archive is None:
        return
    limits = ArchiveLimits(max_bytes=offer.job.stages[0].image_max_bytes, platform=offer.image_platform)
    try:
        check_archive(own.archive, limits)
    except ImageArchiveInvalid as fault:
        raise InvalidInput(str(fault), code=fault.code) from fault


def _write_lock(lock: str, folder: Path) -> Path | None:
    """Write the lock file as the site keeps it; None where there is none."""
    if not lock:
        return None
    path = folder / "requirements.txt"
    path.write_bytes(lock.encode())
    return path


def require_mirror(result: Complete, mirror: str) -> None:
    """Raise `InvalidInput` where the run ended because this machine cannot use the mirror."""
    if result.code == MIRROR_UNREACHABLE:
        why = result.detail.partition(": ")[2]
        raise InvalidInput(
            f"The package mirror {mirror} cannot be used from this machine: {why}. Name another one, such as --mirror {PUBLIC_INDEX}.",
            code=MIRROR_UNREACHABLE,
        )


def _remarks_on_mirror(used: str, site_mirror: str) -> list[str]:
    if not used or not site_mirror or used == site_mirror:
        return []
    return [f"Packages came from {used}, and the site installs from {site_mirror}, which may have other files."]


def _fetch(client: Client, phase: str, files: Mapping[str, FileRef], folder: Path) -> dict[str, Path]:
    """Fetch the files, by digest, each once."""
    paths = {}
    for sha256, file in files.items():
        download_file = DownloadFile(
            phase=phase,
            name=sha256,
            file_name=sha256,
            size_bytes=file.size_bytes,
            sha256=sha256,
            url=urljoin(client.site.url, file.url),
        )
        paths[sha256] = download(client.site, download_file, folder)
    return paths


def _verdict(offer: SmokeOffer, run: LocalRun) -> Verdict:
    result = run.result
    metered = next((stage for stage in result.stages if stage.name != StageName.SCORING), None)
    projection = project_run(offer, run, cache_dir())
    return Verdict(
        outcome=str(result.outcome),
        reason=str(result.reason or ""),
        code=result.code,
        detail=result.detail,
        scores=result.scores or {},
        meters={name: value for name in METERS if (value := getattr(metered, name, None)) is not None},
        limit_s=offer.job.stages[0].limits.wall_s,
        projection=projection,
        logs=run.logs,
        notes=tuple(result.notes),
        remarks=tuple(_remarks(offer, run, is_projected=projection is not None)),
    )


def _remarks(offer: SmokeOffer, run: LocalRun, *, is_projected: bool) -> list[str]:
    remarks = []
    if digest := other_image(offer, run):
        remarks.append(
            f"The image here is {digest}, and the site ran {offer.image_digest}: another build of the same name. Where both come from "
            "one registry, pull it again."
        )
    if run.result.code.startswith("image_"):
        remarks.append(
            "Podium's own images are made in its checkout with `make images`; others are pulled from their registry."
        )
    if not offer.calibrations:
        remarks.append("No worker of the site was measured, so nobody can say how long the run takes there.")
    elif not is_projected and run.result.stages:
        remarks.append(
            "This machine was not measured: with --calibrate (a minute, once) you learn how long the run takes on the site."
        )
    return remarks
