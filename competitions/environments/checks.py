"""Stores and checks uploaded files in the background: one claim at a time, images in a child.

It may run twice or late: its result is stored only while the row still asks for it and the claim is ours.
"""

from functools import partial
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.db.models import Q, QuerySet

from competitions.environments.models import EnvironmentFile
from competitions.environments.services import JOB
from competitions.resources.models import StoredFile
from competitions.resources.storage import local_copy
from competitions.resources.uploads import UploadExpired, upload_finish
from core.background import jobs
from core.background.allowance import TooManyRefusedFiles, require_allowance
from core.background.bounded import Bounds, OverBounds, Stopped, run_bounded
from core.background.rows import Claim, claims
from workers.protocol.files.image_archive import ArchiveLimits, ImageArchiveInvalid, check_archive
from workers.protocol.files.image_layers import SAVE_AGAIN

log = structlog.get_logger(__name__)
State = EnvironmentFile.State
LOST: Final = "check_lost"
NOT_THE_TEAMS: Final = ("", LOST, "upload_expired", "upload_incomplete", "too_many_refused_files")  # codes


def waiting() -> QuerySet[EnvironmentFile]:
    """Files that somebody must store and check, or does."""
    return EnvironmentFile.objects.filter(state=State.CHECKING)


def refused() -> QuerySet[EnvironmentFile]:
    """Files that were read for nothing by their team's fault, or removed while they were read."""
    files = EnvironmentFile.objects.filter(state__in=(State.REFUSED, State.REMOVED))
    is_stopped = Q(state=State.REMOVED, sha256="", code="")
    return files.filter(is_stopped | ~Q(code__in=NOT_THE_TEAMS))


@claims(waiting, "upload", "team__competition__queue")
def file_check(file: EnvironmentFile, claimed: Claim) -> None:
    """Store one file and check it; nothing when it no longer asks for that, or another process does it."""
    try:
        fields = _check_file(file, claimed)
    except Stopped:
        log.info("environment_check_stopped", file=file.pk)
        return
    if claimed.release(**fields):
        log.info("environment_file_checked", file=file.pk, state=fields["state"], code=fields.get("code", ""))


CHECK = jobs.Job(JOB, waiting=waiting, perform=file_check, queue=jobs.Queue.LONG, refused=refused)


def _check_file(file: EnvironmentFile, claimed: Claim) -> dict[str, object]:
    """The fields of the row once it is checked."""
    if file.attempts > settings.BACKGROUND_ATTEMPTS:
        return _refusal(LOST, "The file could not be checked because of an error on our side. Upload it again.")
    if file.upload is None:
        return _refusal("upload_expired", UploadExpired().detail)
    try:
        require_allowance(asker=file.asker, now=file.created_at)  # others may have been refused since it was sent
        with claimed.kept():
            stored = upload_finish(file.upload).file
    except (TooManyRefusedFiles, UploadExpired) as refusal:
        return _refusal(refusal.code, refusal.detail)
    if stored is None:
        return _refusal("upload_incomplete", "The upload is not whole. Upload the file again.")
    facts = {"sha256": stored.sha256, "size_bytes": stored.size_bytes}
    if file.kind == EnvironmentFile.Kind.WEIGHTS:
        return {"state": State.READY, "file": stored, **facts}
    return _check_image(stored, claimed, file.team.competition.queue.max_image_bytes) | facts


def _refusal(code: str, detail: str) -> dict[str, object]:
    return {"state": State.REFUSED, "code": code, "detail": detail[:1000]}


def _check_image(stored: StoredFile, claimed: Claim, max_image_bytes: int) -> dict[str, object]:
    bounds = Bounds(
        wall_s=settings.IMAGE_CHECK_WALL_S, cpu_s=settings.IMAGE_CHECK_WALL_S, memory_bytes=settings.CHECK_MEMORY_BYTES
    )
    limits = ArchiveLimits(max_bytes=max_image_bytes, platform=settings.IMAGE_PLATFORM)
    try:
        with local_copy(stored) as path:
            inspect = partial(_inspect, path, limits)
            inspection = run_bounded(inspect, bounds, is_wanted=claimed.renew, every_s=claimed.renew_every_s)
    except OverBounds as error:
        return _refusal("check_too_costly", f"The archive took more {error.what} to read than a check may use.")
    if "refused" in inspection:
        return _refusal(*inspection["refused"])
    return {"state": State.READY, "file": stored, "image_id": inspection["image_id"], "facts": inspection["facts"]}


def _inspect(path: Path, limits: ArchiveLimits) -> dict[str, object]:
    """In the child: what the image is, or why it is refused, in words that JSON can hold."""
    try:
        image = check_archive(path, limits)
    except ImageArchiveInvalid as refusal:
        return {"refused": [refusal.code, str(refusal)]}
    except (OSError, MemoryError):  # ours
        raise
    except Exception as error:
        log.exception("image_unreadable")  # whatever it made a reader raise, it is the archive's
        return {"refused": ["damaged", f"The archive cannot be read ({type(error).__name__}). {SAVE_AGAIN}"]}
    return {
        "image_id": image.image_id,
        "facts": {
            "platform": image.platform,
            "layers": len(image.layers),
            "unpacked_bytes": image.unpacked_bytes,
            "entries": image.entries,
            "layout": image.layout,
        },
    }
