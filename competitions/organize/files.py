"""Tables of drafts, read in the background: columns, types, first rows, and their likely role."""

from typing import Final

import structlog
from django.conf import settings
from django.db.models import QuerySet

from competitions.organize.models import DraftFile
from competitions.organize.tables.program import work_on_tables
from competitions.resources.storage import local_copy
from core.background import jobs
from core.background.bounded import AnswerTooLong, OverBounds, Stopped
from core.background.rows import Claim, claims

log = structlog.get_logger(__name__)
RECOGNITION_JOB: Final = "draft-file"
TOO_WIDE: Final = "It has more columns, or longer names of columns, than this site can list. Upload a table with fewer."
OURS: Final = "It could not be read by a fault of ours; the administrators find it in the log. Upload it again."


def waiting_files() -> QuerySet[DraftFile]:
    """Files that somebody must read, or is reading."""
    return DraftFile.objects.filter(state=DraftFile.State.WAITING)


@claims(waiting_files, "file")
def recognition_perform(file: DraftFile, claimed: Claim) -> None:
    """Read one file and store its description or error; do nothing if nobody asks for it any more."""
    try:
        answer = {"fault": OURS} if file.attempts > settings.BACKGROUND_ATTEMPTS else _read(file, claimed)
    except Stopped:
        log.info("recognition_stopped", file=file.pk)
        return
    state = DraftFile.State.FAILED if answer["fault"] else DraftFile.State.FINISHED
    claimed.release(state=state, fault=answer["fault"], preview=answer.get("preview", {}))


RECOGNITION: Final = jobs.Job(RECOGNITION_JOB, waiting=waiting_files, perform=recognition_perform)


def _read(file: DraftFile, claimed: Claim) -> dict[str, object]:
    with local_copy(file.file) as path:
        request = {"do": "recognise", "path": str(path), "file_name": file.file_name}
        try:
            return work_on_tables(request, is_wanted=claimed.renew, every_s=claimed.renew_every_s)
        except AnswerTooLong:
            return {"fault": TOO_WIDE}
        except OverBounds as error:
            return {"fault": f"It took more {error.what} to read than this site gives. Make it smaller."}
