"""Drafts: begin, answer, add files that the background reads, discard. `building` builds them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Sum

from accounts.models import User
from competitions.catalog.organizers import require_host
from competitions.organize.building.removal import competition_remove
from competitions.organize.models import CompetitionDraft, DraftFile
from competitions.organize.refusals import ALREADY_PUBLISHED, ANSWERS_TOO_LONG, TOO_MANY_DRAFTS, DraftChangedElsewhere
from competitions.organize.steps.step import FileSlot, require_ending
from competitions.organize.tables.program import work_on_tables
from competitions.resources.models import StoredFile, Upload
from competitions.resources.orphans import mark_unneeded
from competitions.resources.storage import local_copy
from competitions.resources.uploads import UploadIncomplete
from competitions.resources.versions import require_room
from core.background import jobs
from core.background.bounded import AnswerTooLong, OverBounds, Stopped
from core.background.rows import Claim, claims

log = structlog.get_logger(__name__)
RECOGNITION_JOB: Final = "draft-file"
TOO_WIDE: Final = "It has more columns, or longer names of columns, than this site can list. Upload a table with fewer."
MAX_DRAFTS: Final = 30
MAX_CHARS: Final = 200_000  # of the texts of one step

Answers = Mapping[str, Sequence[str]]


@transaction.atomic
def draft_begin(*, owner: User, start: CompetitionDraft.Start, now: datetime) -> CompetitionDraft:
    """A new draft. Raises `HostsOnly` or `TOO_MANY_DRAFTS`."""
    require_host(owner)
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # those that begin at once take turns
    if CompetitionDraft.objects.filter(owner=owner).count() >= MAX_DRAFTS:
        raise TOO_MANY_DRAFTS(limit=MAX_DRAFTS)
    return CompetitionDraft.objects.create(owner=owner, start=start, created_at=now, changed_at=now)


@transaction.atomic
def draft_answer(
    *, draft: CompetitionDraft, step: str, answers: Answers, version: int, now: datetime
) -> CompetitionDraft:
    """Keep what a step's form was sent with, right or wrong: it is judged when the competition is built.

    `version` is the one that the form was shown for; the same answers again change nothing.
    Raises `DraftChangedElsewhere`, `ALREADY_PUBLISHED` or `ANSWERS_TOO_LONG`.
    """
    locked = lock_unpublished(draft)
    if sum(len(text) for texts in answers.values() for text in texts) > MAX_CHARS:
        raise ANSWERS_TOO_LONG(limit=MAX_CHARS)
    if locked.answers.get(step) == dict(answers):
        CompetitionDraft.objects.filter(pk=locked.pk).update(step=step)
        return locked
    if locked.version != version:
        raise DraftChangedElsewhere
    locked.answers = locked.answers | {step: {name: list(texts) for name, texts in answers.items()}}
    locked.step, locked.changed_at, locked.version = step, now, version + 1
    locked.save(update_fields=["answers", "step", "changed_at", "version"])
    return locked


def lock_unpublished(draft: CompetitionDraft) -> CompetitionDraft:
    """The draft's row, locked. Raises `ALREADY_PUBLISHED`."""
    locked = CompetitionDraft.objects.select_for_update(of=("self",)).select_related("competition").get(pk=draft.pk)
    if locked.is_published:
        raise ALREADY_PUBLISHED()
    return locked


@transaction.atomic
def draft_attach(*, draft: CompetitionDraft, slot: FileSlot, upload: Upload, now: datetime) -> DraftFile:
    """Attach a finished upload, in place of the former one; a table is then read in the background.

    Raises `WRONG_KIND_OF_FILE`, `InvalidFile`, `UploadIncomplete`, `StorageQuotaUsed` or `ALREADY_PUBLISHED`.
    """
    locked = lock_unpublished(draft)
    if upload.file is None:
        raise UploadIncomplete(upload)
    require_ending(upload.file_name, slot.suffixes)
    stored_bytes = (
        DraftFile.objects.filter(draft__owner=locked.owner).aggregate(total=Sum("file__size_bytes"))["total"] or 0
    )
    require_room(locked.owner, stored_bytes + upload.file.size_bytes)
    draft_detach(draft=locked, role=slot.role, now=now)
    draft_file = DraftFile.objects.create(
        draft=locked,
        role=slot.role,
        file=upload.file,
        file_name=upload.file_name,
        created_at=now,
        state=DraftFile.State.WAITING if slot.is_table else DraftFile.State.FINISHED,
    )
    if slot.is_table:
        jobs.send_after_commit(RECOGNITION_JOB, draft_file.pk)
    return draft_file


@transaction.atomic
def draft_detach(*, draft: CompetitionDraft, role: str, now: datetime) -> None:
    """Take a file out of the draft. Raises `ALREADY_PUBLISHED`."""
    locked = lock_unpublished(draft)
    files = list(locked.files.filter(role=role).values_list("file", flat=True))
    locked.files.filter(role=role).delete()
    CompetitionDraft.objects.filter(pk=locked.pk).update(version=F("version") + 1, changed_at=now)
    mark_unneeded(StoredFile.objects.filter(pk__in=files), now=now)


@transaction.atomic
def draft_discard(*, draft: CompetitionDraft, now: datetime) -> None:
    """Throw the draft away, and its competition with it unless that is published."""
    locked = CompetitionDraft.objects.select_for_update(of=("self",)).select_related("competition").get(pk=draft.pk)
    competition, files = locked.competition, list(locked.files.values_list("file", flat=True))
    locked.delete()
    if competition is not None and competition.is_trial:
        competition_remove(competition, now=now)
    mark_unneeded(StoredFile.objects.filter(pk__in=files), now=now)


def files_being_read(draft: CompetitionDraft, slots: Sequence[FileSlot]) -> list[DraftFile]:
    """The draft's files in these places that the background has not read yet."""
    roles = {slot.role for slot in slots}
    return [file for file in draft.files.all() if file.role in roles and file.state == DraftFile.State.WAITING]


def find_file(draft: CompetitionDraft, role: str) -> DraftFile | None:
    """The draft's file in this place."""
    return next((file for file in draft.files.all() if file.role == role), None)


def waiting_files() -> QuerySet[DraftFile]:
    """Files that somebody must read, or is reading."""
    return DraftFile.objects.filter(state=DraftFile.State.WAITING)


@claims(waiting_files, "file")
def recognition_perform(file: DraftFile, claimed: Claim) -> None:
    """Read one file and store its description or error; do nothing if nobody asks for it any more."""
    try:
        answer = {"fault": jobs.OUR_ERROR} if file.attempts > settings.BACKGROUND_ATTEMPTS else _read(file, claimed)
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
            return {"fault": f"It took more {error.what} to read than this site allows. Make it smaller."}
