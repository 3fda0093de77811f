"""The site's verdict on this machine: what `podium run` does. It needs a worker's code, which is looked for when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urljoin

import platformdirs

from podium.client import Client
from podium.commands.local import part
from podium.errors import InvalidInput
from podium.models import DownloadFile
from podium.parts import packed
from podium.transfers import download

METERS: Final = ("wall_s", "cpu_s", "memory_peak_bytes", "output_bytes", "gpu_s", "gpu_memory_peak_bytes")
FILE_INVALID: Final = "file_invalid"  # as the site names what it does not run at all


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


def rehearse(client: Client, slug: str, path: Path, *, phase: str = "", calibrate: bool = False) -> Verdict:
    """Run code on the phase's public mini split, as the site would. Raises `PodiumError`."""
    worker, code_check = (
        part("workers.rehearsal", extra="worker"),
        part("competitions.submissions.file_checks.code_check", extra="worker"),
    )
    chosen = client.phase(slug, phase)
    offer = worker.read_offer(client.site.get(f"competitions/{slug}/phases/{chosen.slug}/smoke/"))
    cache = Path(platformdirs.user_cache_dir("podium"))
    with TemporaryDirectory() as scratch:
        zipped = packed(path, Path(scratch))
        try:
            code_check.check_code(zipped, file_name=zipped.name, needs_command=offer.needs_command)
        except part("core.refusals", extra="worker").InvalidFile as fault:
            return Verdict("failed", FILE_INVALID, fault.stable_code, fault.detail)
        files = _fetched(client, slug, chosen.slug, worker.files_of(offer), cache / "files")
        try:
            if calibrate:
                worker.measure(offer, cache)
            run = worker.rehearse(offer, zipped, files)
        except (ValueError, part("workers.errors", extra="worker").SandboxError) as error:
            raise InvalidInput(str(error), code="cannot_run") from error
    return _verdict(worker, offer, run, cache)


def _fetched(client: Client, slug: str, phase: str, files: Mapping[str, Any], folder: Path) -> dict[str, Path]:
    """The files of the run, by digest, each fetched once."""
    found = {}
    for sha256, file in files.items():
        wanted = DownloadFile(
            phase=phase, name=sha256, file_name=sha256, size_bytes=file.size_bytes, sha256=sha256,
            url=urljoin(client.site.url, file.url),
        )  # fmt: skip
        found[sha256] = download(client.site, wanted, folder)
    return found


def _verdict(worker: Any, offer: Any, run: Any, cache: Path) -> Verdict:
    result = run.result
    metered = next((stage for stage in result.stages if stage.name != "scoring"), None)
    meters = {name: value for name in METERS if (value := getattr(metered, name, None)) is not None}
    projection = worker.projection_of(offer, run, cache)
    return Verdict(
        outcome=str(result.outcome), reason=str(result.reason or ""), code=result.code, detail=result.detail, scores=result.scores,
        meters=meters, limit_s=offer.job.stages[0].limits.wall_s, projection=projection, logs=run.logs, notes=tuple(result.notes),
        remarks=tuple(_remarks(worker, offer, run, is_projected=projection is not None)),
    )  # fmt: skip


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
