"""The bytes that people may send in one request, decided before a byte of it is read."""

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest

from accounts.models import User
from competitions.resources.uploads import UPLOAD_ROOM_USED, UPLOAD_TOO_LARGE, upload_room_used
from core.serving.receiving import View, announced_bytes, takes_body
from files.images import MAX_BYTES as IMAGE_BYTES

FORM_BYTES: Final = settings.DATA_UPLOAD_MAX_MEMORY_SIZE  # beside the file
May = Callable[..., object]


def upload_room(request: HttpRequest, user: User, *, limit_bytes: int | None = None) -> int:
    """Bytes of a form that this person may send. Raises `UPLOAD_TOO_LARGE` or `UPLOAD_ROOM_USED`."""
    limit = settings.UPLOAD_MAX_BYTES if limit_bytes is None else limit_bytes
    size_bytes = announced_bytes(request)
    if size_bytes > limit + FORM_BYTES:
        raise UPLOAD_TOO_LARGE(size_bytes=size_bytes, limit_bytes=limit)
    used = upload_room_used(user)
    if size_bytes > FORM_BYTES and used + size_bytes > settings.UPLOAD_ROOM_BYTES + FORM_BYTES:
        raise UPLOAD_ROOM_USED(used=used, limit=settings.UPLOAD_ROOM_BYTES, size_bytes=size_bytes)
    return FORM_BYTES + limit


def takes_uploads(may: May, *, limit: Callable[[], int] | None = None) -> Callable[[View], View]:
    """Declare that a page takes files of people who are signed in, unless `may(request, ...)` raises."""

    def room(request: HttpRequest, **kwargs: Any) -> int | None:
        if not isinstance(request.user, User):
            return None
        may(request, **kwargs)
        return upload_room(request, request.user, limit_bytes=limit() if limit is not None else None)

    return takes_body(room)


def takes_images(may: May, *, count: int = 1) -> Callable[[View], View]:
    """Declare that a page takes images, at most `count` in one form."""
    return takes_uploads(may, limit=lambda: count * IMAGE_BYTES)
