"""Tables of drafts, read in the background: columns, types, first rows, and their likely role."""

from functools import partial
from typing import Any, Final

import structlog
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from competitions.organize.models import DraftFile
from competitions.organize.tables.program import work_on_tables
from competitions.resources.storage import local_copy
from core.background import jobs
from core.background.bounded import AnswerTooLong, OverBounds, Stopped
from core.background.rows import RENEWALS, claim, renew

log = structlog.get_logger(__name__)
RECOGNITION_JOB: Final = "draft-file"
TOO_WIDE: Final = "It has more columns, or longer names of columns, than this site can list. Upload a table with fewer."
OURS: Final = "It could not be read by a fault of ours; the administrators find it in the log. Upload it again."


def waiting_files() -> QuerySet[DraftFile]:
    """Files that somebody must read, or is reading."""
    return DraftFile.objects.filter(state=DraftFile.State.WAITING)


def recognition_perform(pk: int) -> None:
    """Read one file and store its description or error; do nothing if nobody asks for it any more."""
    claim_id = claim(waiting_files(), pk, now=timezone.now(), lease_s=settings.BACKGROUND_LEASE_S)
    if claim_id is None:
        return
    file = DraftFile.objects.select_related("file").get(pk=pk)
    claimed = waiting_files().filter(pk=pk, claim_id=claim_id)
    try:
        answer = {"fault": OURS} if file.attempts > settings.BACKGROUND_ATTEMPTS else _read(file, claimed)
    except Stopped:
        log.info("recognition_stopped", file=pk)
        return
    state = DraftFile.State.FAILED if answer["fault"] else DraftFile.State.FINISHED
    claimed.update(state=state, fault=answer["fault"], preview=answer.get("preview", {}), claimed_until=None)


RECOGNITION: Final = jobs.Job(RECOGNITION_JOB, waiting=waiting_files, perform=recognition_perform)


def _read(file: DraftFile, claimed: QuerySet[DraftFile]) -> dict[str, Any]:
    lease_s = settings.BACKGROUND_LEASE_S
    with local_copy(file.file) as path:
        request = {"do": "recognise", "path": str(path), "file_name": file.file_name}
        try:
            return work_on_tables(request, is_wanted=partial(_is_wanted, claimed, lease_s), every_s=lease_s / RENEWALS)
        except AnswerTooLong:
            return {"fault": TOO_WIDE}
        except OverBounds as error:
            return {"fault": f"It took more {error.what} to read than this site gives. Make it smaller."}


def _is_wanted(claimed: QuerySet[DraftFile], lease_s: float) -> bool:
    """Keep the claim while the file is read."""
    row = claimed.first()
    return (
        row is not None
        and row.claim_id is not None
        and renew(claimed.all(), row.claim_id, now=timezone.now(), lease_s=lease_s)
    )
