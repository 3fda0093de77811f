"""The bytes that people may send in one request, decided before a byte of it is read."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from accounts.models import User
from competitions.resources.models import Upload
from competitions.resources.uploads import (
    UPLOAD_ROOM_USED,
    UPLOAD_TOO_LARGE,
    upload_append,
    upload_begin,
    upload_room_used,
)
from core.refusals import RefusalKind
from core.serving.receiving import View, announced_bytes, takes_body
from files.images import MAX_BYTES as IMAGE_BYTES

FORM_BYTES: Final = settings.DATA_UPLOAD_MAX_MEMORY_SIZE  # beside the file
May = Callable[..., object]
NO_FILE: Final = RefusalKind(422, "no_file", "No file was chosen. Choose the file to upload.")


def upload_room(request: HttpRequest, user: User, *, limit_bytes: int | None = None) -> int:
    """Bytes of a form with a file that this person may send now.

    Raises `UPLOAD_TOO_LARGE` or `UPLOAD_ROOM_USED`.
    """
    limit = settings.UPLOAD_MAX_BYTES if limit_bytes is None else limit_bytes
    size_bytes = announced_bytes(request)
    if size_bytes > limit + FORM_BYTES:
        raise UPLOAD_TOO_LARGE(size_bytes=size_bytes, limit_bytes=limit)
    used = upload_room_used(user)
    if size_bytes > FORM_BYTES and used + size_bytes > settings.UPLOAD_ROOM_BYTES + FORM_BYTES:
        raise UPLOAD_ROOM_USED(used=used, limit=settings.UPLOAD_ROOM_BYTES, size_bytes=size_bytes)
    return FORM_BYTES + limit


def takes_uploads(may: May, *, limit: Callable[[], int] | None = None) -> Callable[[View], View]:
    """Declare that a page takes files of people who are signed in.

    `may(request, **kwargs)` raises where this person may not send any.
    """

    def room(request: HttpRequest, **kwargs: Any) -> int | None:
        if not isinstance(request.user, User):
            return None
        may(request, **kwargs)
        return upload_room(request, request.user, limit_bytes=limit() if limit is not None else None)

    return takes_body(room)


def take_upload(
    user: User, file: UploadedFile[Any] | None, now: datetime, *, key: UUID | None = None, is_environment: bool = False
) -> Upload:
    """The finished upload with this key, else one of the request's file. Raises `NO_FILE` or 404."""
    if key:
        return get_object_or_404(Upload.objects.select_related("file"), key=key, user=user)
    if file is None:
        raise NO_FILE()
    name, size_bytes = file.name or "upload", file.size or 0
    begun = upload_begin(user=user, file_name=name, size_bytes=size_bytes, now=now, is_environment=is_environment)
    return upload_append(key=begun.key, user=user, offset=0, chunks=file.chunks(), now=now)


def takes_images(may: May, *, count: int = 1) -> Callable[[View], View]:
    """Declare that a page takes images, at most `count` in one form."""
    return takes_uploads(may, limit=lambda: count * IMAGE_BYTES)
