"""The site's verdict on this machine: what `podium run` does. It needs a worker's code, which is looked for when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urljoin

import platformdirs

from podium.client import Client
from podium.commands.local import not_installed, part
from podium.errors import InvalidInput
from podium.models import DownloadFile
from podium.parts import packed
from podium.transfers import download

METERS: Final = ("wall_s", "cpu_s", "memory_peak_bytes", "output_bytes", "gpu_s", "gpu_memory_peak_bytes")
FILE_INVALID: Final = "file_invalid"  # as the site names what it does not run at all
SETUP_ERROR: Final = "setup_error"
MIRROR_UNREACHABLE: Final = "mirror_unreachable"
PUBLIC_INDEX: Final = "https://pypi.org/simple/"


@dataclass(frozen=True)
class Verdict:
    """How a run ended, in the site's words, and what it took. `meters`: of the program that was sent in, in seconds and bytes."""

    outcome: str
    reason: str = ""
    code: str = ""
    detail: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    meters: Mapping[str, float] = field(default_factory=dict)
    limit_s: float | None = None
    projection: Any = None  # of `workers.projection`
    logs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # on what is different here


@dataclass(frozen=True)
class Own:
    """What the code runs with: a file of weights, an image (an archive's path, or `registry/repository@sha256:…`), and a package
    mirror in place of the site's."""

    weights: Path | None = None
    image: str = ""
    mirror: str = ""

    @property
    def archive(self) -> Path | None:
        """The image's archive, where it is one."""
        return Path(self.image) if self.image and Path(self.image).is_file() else None

    def require(self) -> None:
        """Raise `InvalidInput` for what is not there, or cannot be meant."""
        if self.weights is not None and not self.weights.is_file():
            raise InvalidInput(f"There is no file {str(self.weights)!r} with weights.", code="no_file")
        if self.image and self.archive is None and "@sha256:" not in self.image:
            raise InvalidInput(
                f"There is no file {self.image!r}. Name the archive of an image, or an image as registry/repository@sha256:….",
                code="no_file",
            )
        if self.mirror and not self.mirror.startswith(("http://", "https://")):
            raise InvalidInput(
                f"{self.mirror!r} is no address of a package mirror, such as {PUBLIC_INDEX}.", code="mirror"
            )


def rehearse(
    client: Client, slug: str, path: Path, *, phase: str = "", own: Own = Own(), calibrate: bool = False
) -> Verdict:
    """Run code on the phase's public mini split, as the site would. Raises `PodiumError`."""
    worker, code_check = (
        part("workers.rehearsal", extra="worker"),
        part("competitions.submissions.file_checks.code_check", extra="worker"),
    )
    own.require()
    chosen = client.phase(slug, phase)
    address = f"competitions/{slug}/phases/{chosen.slug}/smoke/"
    offer = worker.read_offer(client.site.get(address, **_announced(own)))
    cache_dir = Path(platformdirs.user_cache_dir("podium"))
    with TemporaryDirectory() as scratch:
        zipped = packed(path, Path(scratch))
        try:
            lock = code_check.check_code(
                zipped,
                file_name=zipped.name,
                needs_command=offer.needs_command,
                takes_requirements=offer.takes_requirements,
            )
        except part("core.refusals", extra="worker").InvalidFile as fault:
            return Verdict("failed", FILE_INVALID, fault.code, fault.detail)
        if lock and offer.no_mirror:
            return Verdict(
                "failed", SETUP_ERROR, part("workers.protocol.smoke", extra="worker").NO_MIRROR, offer.no_mirror
            )
        _check_image(own, offer)
        brought = worker.Brought(
            zipped,
            weights=own.weights,
            image=own.archive,
            requirements=_written(lock, Path(scratch)),
            mirror=own.mirror,
        )
        files = _fetched(client, slug, chosen.slug, worker.files_of(offer), cache_dir / "files")
        try:
            if calibrate:
                worker.measure(offer, cache_dir)
            run = worker.rehearse(offer, brought, files, cache_dir=cache_dir)
        except (ValueError, part("workers.errors", extra="worker").SandboxError) as error:
            raise InvalidInput(str(error), code="cannot_run") from error
    site_mirror = worker.mirror_of(offer) if lock else ""
    require_mirror(run.result, own.mirror or site_mirror)
    verdict = _verdict(worker, offer, run, cache_dir)
    return replace(verdict, remarks=(*verdict.remarks, *_other_mirror(own.mirror, site_mirror)))


def _announced(own: Own) -> dict[str, Any]:
    """What the site is told of it. Raises `InvalidInput` for an archive that is none of an image."""
    told: dict[str, Any] = {}
    if own.weights is not None:
        told["weights_bytes"] = own.weights.stat().st_size
    if own.archive is not None:
        archives = part("workers.protocol.files.image_archive", extra="worker")
        try:
            told["image"] = archives.describe_archive(own.archive).image_id
        except archives.ImageArchiveInvalid as fault:
            raise InvalidInput(str(fault), code=fault.code) from fault
        told["image_bytes"] = own.archive.stat().st_size
    elif own.image:
        told["image"] = own.image
    return told


def _check_image(own: Own, offer: Any) -> None:
    """Check the archive as the site does when it is uploaded. Raises `InvalidInput`."""
    if own.archive is None:
        return
    archives = part("workers.protocol.files.image_archive", extra="worker")
    limits = archives.ArchiveLimits(max_bytes=offer.job.stages[0].image_max_bytes, platform=offer.image_platform)
    try:
        archives.check_archive(own.archive, limits)
    except archives.ImageArchiveInvalid as fault:
        raise InvalidInput(str(fault), code=fault.code) from fault
    except ModuleNotFoundError as error:  # of layers that are packed as few are
        raise not_installed(error, extra="tables") from error


def _written(lock: str, folder: Path) -> Path | None:
    """The lock file as the site keeps it."""
    if not lock:
        return None
    path = folder / "requirements.txt"
    path.write_bytes(lock.encode())
    return path


def require_mirror(result: Any, mirror: str) -> None:
    """Raise `InvalidInput` where the run ended because this machine cannot use the mirror."""
    if result.code == MIRROR_UNREACHABLE:
        why = str(result.detail).partition(": ")[2]
        raise InvalidInput(
            f"The package mirror {mirror} cannot be used from this machine: {why}. Name another one, such as --mirror {PUBLIC_INDEX}.",
            code=MIRROR_UNREACHABLE,
        )


def _other_mirror(used: str, of_site: str) -> list[str]:
    if not used or not of_site or used == of_site:
        return []
    return [f"Packages came from {used}, and the site installs from {of_site}: what one has, the other may lack."]


def _fetched(client: Client, slug: str, phase: str, files: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """The files of the run, by digest, each fetched once."""
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


def _verdict(worker: Any, offer: Any, run: Any, cache: Path) -> Verdict:
    result = run.result
    metered = next((stage for stage in result.stages if stage.name != "scoring"), None)
    meters = {name: value for name in METERS if (value := getattr(metered, name, None)) is not None}
    projection = worker.projection_of(offer, run, cache)
    return Verdict(
        outcome=str(result.outcome),
        reason=str(result.reason or ""),
        code=result.code,
        detail=result.detail,
        scores=result.scores,
        meters=meters,
        limit_s=offer.job.stages[0].limits.wall_s,
        projection=projection,
        logs=run.logs,
        notes=tuple(result.notes),
        remarks=tuple(_remarks(worker, offer, run, is_projected=projection is not None)),
    )


def _remarks(worker: Any, offer: Any, run: Any, *, is_projected: bool) -> list[str]:
    remarks = []
    if digest := worker.other_image(offer, run):
        remarks.append(
            f"The image here is {digest}, and the site ran {offer.image_digest}: another build of the same name. Where both come from "
            "one registry, pull it anew."
        )
    if run.result.code.startswith("image_"):
        remarks.append(
            "Podium's own images are made in its checkout with `make images`; others are pulled from their registry."
        )
    if not offer.calibrations:
        remarks.append("No worker of the site was measured, so what the run takes there cannot be said.")
    elif not is_projected and run.result.stages:
        remarks.append(
            "This machine was not measured: with --calibrate (a minute, once) you are told what the run takes at the site."
        )
    return remarks
