"""Answers that hand out a stored file: through a web thread only where nobody else can.

A compute worker gets signed, short-lived names of files instead of credentials.
"""

import re
from datetime import timedelta
from mimetypes import guess_type
from typing import Final

from django.core import signing
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils.http import content_disposition_header

from competitions.resources.models import StoredFile
from competitions.resources.stores import object_store
from competitions.resources.stores.base import Attachment, ObjectStore

FROM_BYTE: Final = re.compile(r"bytes=(\d{1,18})-")
URL_VALID: Final = timedelta(minutes=15)  # to begin the download in, not to end it
FRONT_HEADER, FRONT_VALUE = "X-Sendfile-Type", "X-Accel-Redirect"  # what a front sends that serves files for the site
SALT = "podium.resources.file"


def stored_response(
    request: HttpRequest, stored: StoredFile, *, file_name: str = "", content_type: str = ""
) -> HttpResponseBase:
    """The file for a reader whose right to it was decided.

    It comes by the store's own address, by the front, or through the site. With a `file_name` a browser saves it under that name, else it
    shows it in place. It may keep the file, but has to ask before each use: the file under an address may be replaced, and the reader may
    sign out.
    """
    store, attachment = object_store(), Attachment(content_type or _content_type(file_name), file_name)
    if (url := store.signed_url(stored.sha256, attachment, valid_for=URL_VALID)) is not None:
        return HttpResponseRedirect(url, headers={"Cache-Control": "no-store"})
    response = _by_the_front(request, store, stored, attachment) or _by_the_site(request, store, stored, attachment)
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _by_the_site(
    request: HttpRequest, store: ObjectStore, stored: StoredFile, attachment: Attachment
) -> HttpResponseBase:
    """The bytes, from the first that `Range` wants (RFC 9110, open-ended byte ranges alone)."""
    content = store.open(stored.sha256)
    match = FROM_BYTE.fullmatch(request.headers.get("Range", ""))
    start = int(match[1]) if match and int(match[1]) < stored.size_bytes else 0
    content.seek(start)
    response = FileResponse(
        content,
        as_attachment=bool(attachment.file_name),
        filename=attachment.file_name,
        content_type=attachment.content_type,
        status=206 if start else 200,
    )
    response.headers["Accept-Ranges"] = "bytes"
    if start:
        response.headers["Content-Range"] = f"bytes {start}-{stored.size_bytes - 1}/{stored.size_bytes}"
    return response


def _by_the_front(
    request: HttpRequest, store: ObjectStore, stored: StoredFile, attachment: Attachment
) -> HttpResponse | None:
    """Headers from which the front serves the file; None for a request that came by no front."""
    location = store.front_location(stored.sha256)
    if location is None or request.headers.get(FRONT_HEADER) != FRONT_VALUE:
        return None
    response = HttpResponse(content_type=attachment.content_type, headers={FRONT_VALUE: location})
    disposition = content_disposition_header(bool(attachment.file_name), attachment.file_name)
    if disposition:
        response.headers["Content-Disposition"] = disposition
    return response


def _content_type(file_name: str) -> str:
    kind, encoding = guess_type(file_name)
    return kind if kind and not encoding else "application/octet-stream"


def sign_file(sha256: str, lease_id: str) -> str:
    """A URL-safe token by which one file can be read for one lease."""
    return signing.dumps([sha256, lease_id], salt=SALT)


def read_file_token(token: str, *, max_age_s: int) -> tuple[str, str] | None:
    """(digest, lease id) of a token, or None when it is forged or older than `max_age_s`."""
    try:
        sha256, lease_id = signing.loads(token, salt=SALT, max_age=max_age_s)
    except signing.BadSignature:
        return None
    return sha256, lease_id
