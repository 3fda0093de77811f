"""Resumable uploads: begin, append, finish. What was accepted is on disk before it is acknowledged."""

import os
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.models import User
from competitions.refusals import Conflict, Refusal
from competitions.resources.models import Upload
from competitions.resources.storage import store_path


class EmptyUpload(Refusal):
    code, http_status = "empty_upload", 422

    def __init__(self, file_name: str) -> None:
        super().__init__(f"The file {file_name!r} is empty (0 bytes). Choose the file that holds your submission.")


class UploadTooLarge(Refusal):
    code, http_status = "upload_too_large", 413

    def __init__(self, *, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(
            f"The upload has {size_bytes:,} bytes; this site accepts at most {limit_bytes:,}. Make the file smaller.",
            limit_bytes=limit_bytes,
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


class WrongOffset(Conflict):
    code = "wrong_offset"

    def __init__(self, *, expected: int, got: int) -> None:
        super().__init__(
            f"The part starts at byte {got:,}, but {expected:,} bytes have been received. Continue from byte {expected:,}.",
            expected_offset=expected,
        )


def clean_file_name(name: str) -> str:
    """The last part of a path, without control characters, at most 255 characters; never empty."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(char for char in last if char.isprintable()).strip()[-255:] or "upload"


def upload_begin(*, user: User, file_name: str, size_bytes: int, now: datetime) -> Upload:
    """Announce an upload. Raises `EmptyUpload` or `UploadTooLarge`; then nothing is kept."""
    name = clean_file_name(file_name)
    if size_bytes <= 0:
        raise EmptyUpload(name)
    if size_bytes > settings.UPLOAD_MAX_BYTES:
        raise UploadTooLarge(size_bytes=size_bytes, limit_bytes=settings.UPLOAD_MAX_BYTES)
    upload = Upload.objects.create(
        user=user, file_name=name, size_bytes=size_bytes, began_at=now, expires_at=Upload.default_expiry(now)
    )
    upload.part_path.parent.mkdir(parents=True, exist_ok=True)
    upload.part_path.touch(mode=0o600)
    return upload


def upload_append(*, key: UUID, user: User, offset: int, chunks: Iterable[bytes], now: datetime) -> Upload:
    """Append bytes at `offset` (the number of bytes received so far) and finish the upload when it is whole.

    Bytes that arrived before the client went away are kept: `received_bytes` says from where to resume.
    Raises `WrongOffset`, `UploadTooLarge` (more bytes than announced) or `UploadExpired`.
    """
    upload = Upload.objects.get(key=key, user=user)
    if upload.expires_at <= now:
        raise UploadExpired
    if upload.is_complete or offset != upload.received_bytes:
        raise WrongOffset(expected=upload.received_bytes, got=offset)
    written = _write_part(upload, offset, chunks)
    return _record_progress(upload, offset=offset, written=written)


def _write_part(upload: Upload, offset: int, chunks: Iterable[bytes]) -> int:
    """Write at the offset, never beyond the announced size; returns the bytes written, synced to disk."""
    written = 0
    with upload.part_path.open("r+b") as file:
        file.seek(offset)
        try:
            for chunk in chunks:
                if offset + written + len(chunk) > upload.size_bytes:
                    raise UploadTooLarge(size_bytes=offset + written + len(chunk), limit_bytes=upload.size_bytes)
                written += file.write(chunk)
        except OSError:  # the client went away: keep what came, the next request resumes behind it
            if not written:
                raise
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    return written


@transaction.atomic
def _record_progress(upload: Upload, *, offset: int, written: int) -> Upload:
    """Move `received_bytes` on, for one of two racing writers only; store the object when everything is there."""
    moved = Upload.objects.filter(pk=upload.pk, received_bytes=offset, file=None).update(
        received_bytes=offset + written
    )
    upload.refresh_from_db()
    if not moved:
        raise WrongOffset(expected=upload.received_bytes, got=offset)
    if upload.received_bytes == upload.size_bytes:
        upload.file = store_path(upload.part_path)
        upload.save(update_fields=["file"])
        transaction.on_commit(lambda: upload.part_path.unlink(missing_ok=True))
    return upload


def upload_whole(*, user: User, file_name: str, size_bytes: int, chunks: Iterable[bytes], now: datetime) -> Upload:
    """An upload that comes in one request."""
    upload = upload_begin(user=user, file_name=file_name, size_bytes=size_bytes, now=now)
    return upload_append(key=upload.key, user=user, offset=0, chunks=chunks, now=now)


def upload_abort(*, upload: Upload) -> None:
    """Forget an unfinished upload and its parts."""
    upload.part_path.unlink(missing_ok=True)
    upload.delete()


def remove_expired_uploads(*, now: datetime) -> int:
    """Remove unfinished uploads past their time; returns how many. Safe to run twice."""
    expired = list(Upload.objects.filter(expires_at__lte=now, file=None)[:500])
    for upload in expired:
        upload_abort(upload=upload)
    return len(expired)
