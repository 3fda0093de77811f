"""Resumable uploads: begin, append, finish. What was accepted is on disk before it is acknowledged.

No lock file guards an upload: `received_bytes` in its row moves on for one of two racing requests, on whatever hosts they are. Its parts
lie in `UPLOADS_DIR`, which hosts of one site share.
"""

import errno
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import F, Sum
from django.shortcuts import get_object_or_404

from accounts.models import User
from competitions.resources.models import StoredFile, Upload, UploadFailures
from competitions.resources.storage import CHUNK_BYTES, spooled, store_path
from competitions.resources.stores.base import StoreFull
from core.refusals import Refusal, RefusalKind

log = structlog.get_logger(__name__)

NO_FILE: Final = RefusalKind(422, "no_file", "No file was chosen. Choose the file to upload.")

EMPTY_UPLOAD: Final = RefusalKind(
    422, "empty_upload", "The file {file_name!r} is empty (0 bytes). Choose the file that holds your submission."
)

UPLOAD_TOO_LARGE: Final = RefusalKind(
    413,
    "upload_too_large",
    "The upload has {size_bytes:,} bytes; this site accepts at most {limit_bytes:,}. Make the file smaller.",
    tells=("limit_bytes",),
)

TOO_MANY_UPLOADS: Final = RefusalKind(
    429,
    "too_many_uploads",
    "You have begun {limit} uploads within an hour, the most that this site takes from one person. "
    "Resume those that are unfinished, or begin again later.",
    tells=("limit",),
)

UPLOAD_ROOM_USED: Final = RefusalKind(
    413,
    "upload_room_used",
    "Your uploads of the last day take {used:,} of {limit:,} bytes, and this one has {size_bytes:,}. Cancel those that you do not "
    "need, or wait until they expire.",
    tells=("used", "limit"),
)


class UploadIncomplete(Refusal):
    code, http_status = "upload_incomplete", 409

    def __init__(self, upload: Upload) -> None:
        super().__init__(
            f"The upload of {upload.file_name!r} stopped after {upload.received_bytes:,} of {upload.size_bytes:,} bytes. "
            "Resume it from there, then submit.",
            received_bytes=upload.received_bytes,
            size_bytes=upload.size_bytes,
        )


class UploadExpired(Refusal):
    code, http_status = "upload_expired", 410

    def __init__(self) -> None:
        super().__init__("This upload was not finished in time and its parts were removed. Start it again.")


STORAGE_FULL: Final = RefusalKind(
    507,
    "storage_full",
    "The site's disk is full, so this part was not kept; all before it was. The administrators see it; resume later.",
)

WRONG_OFFSET: Final = RefusalKind(
    409,
    "wrong_offset",
    "The part starts at byte {got:,}, but {expected_offset:,} bytes have been received. Continue from byte {expected_offset:,}.",
    tells=("expected_offset",),
)


def clean_file_name(name: str) -> str:
    """The last part of a path, without control characters, at most 255 characters; never empty."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(char for char in last if char.isprintable()).strip()[-255:] or "upload"


@transaction.atomic
def upload_begin(
    *, user: User, file_name: str, size_bytes: int, now: datetime, is_bundle: bool = False, is_environment: bool = False
) -> Upload:
    """Announce an upload.

    Raises `EMPTY_UPLOAD`, `UPLOAD_TOO_LARGE`, `TOO_MANY_UPLOADS` or `UPLOAD_ROOM_USED`; then nothing is kept. Weights and images
    (`is_environment`) may have tens of gigabytes; no request stores them.
    """
    name = clean_file_name(file_name)
    if size_bytes <= 0:
        raise EMPTY_UPLOAD(file_name=name)
    limit_bytes = settings.ENVIRONMENT_FILE_MAX_BYTES if is_environment else settings.UPLOAD_MAX_BYTES
    if size_bytes > limit_bytes:
        raise UPLOAD_TOO_LARGE(size_bytes=size_bytes, limit_bytes=limit_bytes)
    _lock(user.pk)
    lately = Upload.objects.filter(user=user, began_at__gt=now - timedelta(hours=1))
    if lately.count() >= settings.UPLOADS_PER_HOUR:
        raise TOO_MANY_UPLOADS(limit=settings.UPLOADS_PER_HOUR)
    _require_room(user.pk, size_bytes)
    upload = Upload.objects.create(
        user=user,
        file_name=name,
        size_bytes=size_bytes,
        began_at=now,
        expires_at=Upload.default_expiry(now),
        is_bundle=is_bundle,
        is_environment=is_environment,
    )
    upload.folder.mkdir(mode=0o700, parents=True)
    return upload


def _lock(user_id: int) -> None:
    """Make a person's uploads that begin at once take turns. Call in a transaction, before counting."""
    User.objects.select_for_update(no_key=True).only("pk").get(pk=user_id)


def _require_room(user_id: int, size_bytes: int, *, except_for: int = 0) -> None:
    """Raise `UPLOAD_ROOM_USED` when the person's uploads would take too much. Call behind `_lock`."""
    used = upload_room_used(User(pk=user_id), except_for=except_for)
    if used + size_bytes > settings.UPLOAD_ROOM_BYTES:
        raise UPLOAD_ROOM_USED(used=used, limit=settings.UPLOAD_ROOM_BYTES, size_bytes=size_bytes)


def upload_room_used(user: User, *, except_for: int = 0) -> int:
    """Bytes that a person's uploads of the last day take."""
    others = Upload.objects.filter(user=user.pk).exclude(pk=except_for)
    total: int = others.aggregate(total=Sum("size_bytes"))["total"] or 0
    return total


@transaction.atomic
def upload_resize(*, upload: Upload, size_bytes: int) -> Upload:
    """Announce another size for an upload without a byte: a client may not have known it.

    Raises `EMPTY_UPLOAD`, `UPLOAD_TOO_LARGE` or `UPLOAD_ROOM_USED`. An upload that has begun is left as it is.
    """
    if size_bytes <= 0:
        raise EMPTY_UPLOAD(file_name=upload.file_name)
    if size_bytes > settings.UPLOAD_MAX_BYTES:
        raise UPLOAD_TOO_LARGE(size_bytes=size_bytes, limit_bytes=settings.UPLOAD_MAX_BYTES)
    _lock(upload.user_id)
    _require_room(upload.user_id, size_bytes, except_for=upload.pk)
    Upload.objects.filter(pk=upload.pk, received_bytes=0, file=None).update(size_bytes=size_bytes)
    upload.refresh_from_db()
    return upload


def upload_append(*, key: UUID, user: User, offset: int, chunks: Iterable[bytes], now: datetime) -> Upload:
    """Append bytes at `offset` (the number of bytes received) and finish the upload when it is whole.

    Bytes that arrived before the client went away are kept: `received_bytes` says from where to resume.
    Raises `WRONG_OFFSET`, `UPLOAD_TOO_LARGE` (more bytes than announced), `UploadExpired` or `STORAGE_FULL`.
    """
    return _append_to(Upload.objects.get(key=key, user=user), offset, chunks, now)


def _append_to(upload: Upload, offset: int, chunks: Iterable[bytes], now: datetime) -> Upload:
    try:
        return _append(upload, offset, chunks, now)
    except (Upload.DoesNotExist, FileNotFoundError) as error:  # its time was over while the bytes came
        if Upload.objects.filter(pk=upload.pk).exists():
            raise
        raise UploadExpired from error


def require_offset(upload: Upload, offset: int) -> None:
    """Raise `WRONG_OFFSET` for a part that does not begin at the end of the last, as one sent twice."""
    if upload.is_complete or offset != upload.received_bytes:
        raise WRONG_OFFSET(expected_offset=upload.received_bytes, got=offset)


def _append(upload: Upload, offset: int, chunks: Iterable[bytes], now: datetime) -> Upload:
    if upload.expires_at <= now:
        raise UploadExpired
    require_offset(upload, offset)
    # Each request writes a file of its own, so that two at one offset, or a slow one that comes late, cannot mix their bytes.
    with tempfile.NamedTemporaryFile(dir=upload.folder, prefix="arriving-", delete=False) as file:
        arriving = Path(file.name)
        try:
            written = _receive(upload, offset, chunks, file)
            _take(upload, offset, written, arriving)
        finally:
            arriving.unlink(missing_ok=True)
    upload.received_bytes = offset + written
    return upload if upload.is_environment else upload_finish(upload)


def _receive(upload: Upload, offset: int, chunks: Iterable[bytes], file: IO[bytes]) -> int:
    """Write what comes, never more than was announced; returns the bytes written, synced to disk."""
    written = 0
    for chunk in _until_the_client_leaves(chunks):
        if offset + written + len(chunk) > upload.size_bytes:
            raise UPLOAD_TOO_LARGE(size_bytes=offset + written + len(chunk), limit_bytes=upload.size_bytes)
        with _disk_errors():
            written += file.write(chunk)
    with _disk_errors():
        file.flush()
        os.fsync(file.fileno())
    return written


def _until_the_client_leaves(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The chunks up to where the connection breaks; they are kept, and the next request goes on."""
    try:
        yield from chunks
    except OSError as error:
        log.info("upload_cut_off", error=str(error))


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except (OSError, StoreFull) as error:
        if isinstance(error, OSError) and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        count_failures("storage_full")
        raise STORAGE_FULL() from error


def count_failures(cause: str, number: int = 1) -> None:
    """Add to the count of uploads that came to nothing."""
    if number:
        UploadFailures.objects.get_or_create(cause=cause)
        UploadFailures.objects.filter(cause=cause).update(count=F("count") + number)


@transaction.atomic
def _take(upload: Upload, offset: int, written: int, arriving: Path) -> None:
    """Move `received_bytes` on for one of two racing requests, whose bytes have their final name by then."""
    whole = Upload.objects.filter(pk=upload.pk, received_bytes=offset, file=None)
    if not whole.update(received_bytes=offset + written):
        upload.refresh_from_db()
        raise WRONG_OFFSET(expected_offset=upload.received_bytes, got=offset)
    if written:
        arriving.replace(upload.folder / f"{offset:020d}")


def upload_finish(upload: Upload) -> Upload:
    """Store the object once every byte is there; safe to call again after a crash in between."""
    if upload.is_complete or upload.received_bytes < upload.size_bytes:
        return upload
    try:
        parts = sorted(path for path in upload.folder.iterdir() if path.name.isdigit())
        if sum(path.stat().st_size for path in parts) != upload.size_bytes:
            return _finished_by_another(upload)
        stored = _store_parts(parts)
    except FileNotFoundError:
        return _finished_by_another(upload)
    Upload.objects.filter(pk=upload.pk).update(file=stored)
    upload.file = stored
    shutil.rmtree(upload.folder, ignore_errors=True)
    return upload


def _finished_by_another(upload: Upload) -> Upload:
    """The upload as a faster request left it. Raises `UploadExpired` when it is gone altogether."""
    stored_upload = Upload.objects.filter(pk=upload.pk).first()
    if stored_upload is None:
        raise UploadExpired
    if not stored_upload.is_complete:
        raise RuntimeError(
            f"parts of upload {upload.key} are missing: they hold less than its {upload.size_bytes} bytes"
        )
    return stored_upload


def _store_parts(parts: list[Path]) -> StoredFile:
    with _disk_errors():
        if len(parts) == 1:
            return store_path(parts[0], link=True)
        with spooled(itertools.chain.from_iterable(map(_read, parts))) as path:
            return store_path(path, link=True)


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def upload_whole(
    *, user: User, file_name: str, size_bytes: int, chunks: Iterable[bytes], now: datetime, is_environment: bool = False
) -> Upload:
    """An upload that comes in one request."""
    upload = upload_begin(user=user, file_name=file_name, size_bytes=size_bytes, now=now, is_environment=is_environment)
    return _append_to(upload, 0, chunks, now)


def take_upload(
    user: User, file: UploadedFile[Any] | None, now: datetime, *, key: UUID | None = None, is_environment: bool = False
) -> Upload:
    """The upload with this key, which may be unfinished, else one of the request's file.

    Raises `NO_FILE` or 404.
    """
    if key:
        return get_object_or_404(Upload.objects.select_related("file"), key=key, user=user)
    if file is None:
        raise NO_FILE()
    name, size_bytes = file.name or "upload", file.size or 0
    chunks = file.chunks()
    return upload_whole(
        user=user, file_name=name, size_bytes=size_bytes, chunks=chunks, now=now, is_environment=is_environment
    )


def upload_abort(*, upload: Upload) -> None:
    """Forget an unfinished upload and its parts."""
    upload.delete()
    shutil.rmtree(upload.folder, ignore_errors=True)


def remove_expired_uploads(*, now: datetime) -> int:
    """Remove uploads past their time, with unfinished parts; returns how many. Safe to run twice.

    What was submitted from a finished one has its own reference to the stored file.
    """
    expired = list(Upload.objects.filter(expires_at__lte=now)[:500])
    count_failures("expired", sum(not upload.is_complete for upload in expired))
    for upload in expired:
        upload_abort(upload=upload)
    return len(expired)
