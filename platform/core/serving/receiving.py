"""Limits on request bodies by person and address, decided before the body is read.

Every body may be as large as a form without a file: of anybody `UNASKED_BYTES`, of who is signed in `FORM_BYTES`. More, and files,
come only where a view declares it: a function by `takes_body`, a view of the API by a method `body_room`. Either
answers how many bytes this sender may send here, with None for no more than a form, or raises the refusal that says why not.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.authentication import SessionAuthentication, get_authorization_header
from rest_framework.exceptions import APIException
from rest_framework.views import APIView

from core.refusals import Refusal, RefusalKind

UNASKED_BYTES: Final = 64 * 1024
SPOOL_PREFIX: Final = "receiving-"
FORM_FILE: Final = ".upload"  # in the names that Django gives
# In the WSGI environment: answer `Admitted` in place of the view, without reading the body.
ASKING: Final = "podium.asking"

Room = Callable[..., int | None]
View = TypeVar("View", bound=Callable[..., HttpResponseBase])

BODY_TOO_LARGE: Final = RefusalKind(
    413,
    "too_large",
    "What you sent has {size_bytes:,} bytes; this address accepts at most {limit_bytes:,} from you. "
    "Sign in where you have not, send files as uploads, and long texts in parts.",
    tells=("limit_bytes",),
)


class ReceivingFull(Refusal):
    code, http_status = "receiving_full", 503

    def __init__(self) -> None:
        super().__init__(
            "The site is receiving as many bytes as it has room for. Nothing was kept; send it again in a few minutes."
        )


class FilesNotTaken(Refusal, BadRequest):
    """A file sent to an address that takes none; a `BadRequest`, as middleware may read the form."""

    code = "files_not_taken"

    def __init__(self) -> None:
        super().__init__(
            "This address takes no files, or only from people who are signed in. Send the form without one."
        )


@dataclass(frozen=True)
class Admission:
    """The admission of this sender in this request."""

    room_bytes: int
    takes_files: bool = False
    keeps_part: bool = False  # of a body that breaks off, what came is of use
    sender: str = "anybody"  # in the names of files that their bodies come to


class Admitted(HttpResponse):
    """The answer to whoever asks by `ASKING`: the body may come."""

    status_code = 204

    def __init__(self, admission: Admission) -> None:
        super().__init__()
        self.admission = admission


@dataclass(frozen=True)
class Declaration:
    """Attribute of a view function that takes more than a form."""

    room: Room


def takes_body(room: Room) -> Callable[[View], View]:
    """Declare that a view takes files, or bodies of `room(request, **kwargs)` bytes."""

    def declare(view: View) -> View:
        view.takes_body = Declaration(room)  # type: ignore[attr-defined]  # functools.wraps passes it on
        return view

    return declare


def admit(request: HttpRequest, view: Callable[..., Any], kwargs: dict[str, object]) -> HttpResponseBase | None:
    """Set `request.admission` to what may come; raise a refusal, or return an API view's, for more."""
    size_bytes = announced_bytes(request)
    if size_bytes <= UNASKED_BYTES and request.content_type != "multipart/form-data" and not is_asking(request):
        admission = Admission(UNASKED_BYTES)
    else:
        answer = _admission(request, view, kwargs)
        if isinstance(answer, HttpResponseBase):
            return answer
        admission = answer
    if size_bytes > admission.room_bytes:
        raise BODY_TOO_LARGE(size_bytes=size_bytes, limit_bytes=admission.room_bytes)
    admission = replace(admission, sender=_sender(request))
    if size_bytes > UNASKED_BYTES and is_asking(request):
        require_spool_room(size_bytes, admission.sender)
    request.admission = admission  # type: ignore[attr-defined]  # the upload handler asks for it
    return Admitted(admission) if is_asking(request) else None


def _sender(request: HttpRequest) -> str:
    """A person, or whoever was given this very address, as a worker for an output."""
    if request.user.is_authenticated:
        return f"person{request.user.pk}"
    return f"address{hashlib.sha256(request.path.encode()).hexdigest()[:16]}"


def is_asking(request: HttpRequest) -> bool:
    """True while the body has not been read, and only the answer to whether it may come is wanted."""
    return bool(request.META.get(ASKING))


def announced_bytes(request: HttpRequest) -> int:
    """The length that the request names; 0 without one."""
    text = request.META.get("CONTENT_LENGTH") or "0"
    return int(text) if text.isascii() and text.isdecimal() else 0


def _admission(
    request: HttpRequest, view: Callable[..., Any], kwargs: dict[str, object]
) -> Admission | HttpResponseBase:
    is_signed_in = request.user.is_authenticated
    if (declared := getattr(view, "takes_body", None)) is not None:
        return _admission_for(declared.room(request, **kwargs), is_signed_in, takes_files=True)
    api_view = getattr(view, "cls", None)
    if isinstance(api_view, type) and issubclass(api_view, APIView) and hasattr(api_view, "body_room"):
        return _admission_of_api(request, view, kwargs)
    return Admission(form_room(is_signed_in))


def _admission_for(
    room_bytes: int | None, is_signed_in: bool, *, takes_files: bool, keeps_part: bool = False
) -> Admission:
    if room_bytes is None:
        return Admission(form_room(is_signed_in))
    return Admission(room_bytes, takes_files, keeps_part)


def form_room(is_signed_in: bool) -> int:
    """The largest size of a form without a file."""
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE if is_signed_in else UNASKED_BYTES


def _admission_of_api(request: HttpRequest, view: Any, kwargs: dict[str, object]) -> Admission | HttpResponseBase:
    """Admission of an API request, by the view's own authentication and permissions.

    A session's CSRF token may be in the body and is checked later.
    """
    api_view = view.cls(**view.initkwargs)
    api_view.setup(request, **kwargs)
    api_request = api_view.initialize_request(request, **kwargs)
    api_view.request, api_view.headers = api_request, api_view.default_response_headers
    try:
        if request.user.is_authenticated and not get_authorization_header(api_request):
            api_request.user, api_request.auth = request.user, None
        else:
            api_request.authenticators = [
                each for each in api_view.get_authenticators() if not isinstance(each, SessionAuthentication)
            ]
        api_view.check_permissions(api_request)
        room = api_view.body_room(api_request, **kwargs)
    except (Refusal, APIException, Http404, PermissionDenied) as error:  # answered as by every view of the API
        return cast("HttpResponseBase", api_view.finalize_response(api_request, api_view.handle_exception(error)))
    takes_files, keeps_part = (getattr(api_view, name, False) for name in ("takes_files", "keeps_part"))
    return _admission_for(room, api_request.user.is_authenticated, takes_files=takes_files, keeps_part=keeps_part)


class DeclaredFilesHandler(TemporaryFileUploadHandler):
    """Writes files to the disk, at addresses alone that declare that they take some, of who may send them."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        admission: Admission | None = getattr(self.request, "admission", None)
        if admission is None or not admission.takes_files:
            raise FilesNotTaken
        super().new_file(*args, **kwargs)


def spool_folder() -> Path:
    """The folder for bodies that are being received; files of a killed process are removed after days."""
    folder = Path(settings.UPLOADS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def spooled_bytes() -> int:
    """Bytes of bodies being received by all processes that share the folder, and of files read here."""
    files_folder = Path(settings.FILE_UPLOAD_TEMP_DIR or tempfile.gettempdir())
    return _file_bytes(spool_folder(), SPOOL_PREFIX) + _file_bytes(files_folder, FORM_FILE)


def spool_prefix(sender: str) -> str:
    """The prefix of the names of files with this sender's bodies."""
    return f"{SPOOL_PREFIX}{sender}-"


def _file_bytes(folder: Path, part_of_name: str) -> int:
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if part_of_name in entry.name:
                with suppress(FileNotFoundError):  # it is over
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def require_spool_room(more_bytes: int, sender: str, *, own_bytes: int = 0) -> None:
    """Raise `ReceivingFull` if so many more bytes, for a body of `own_bytes` so far, are too many.

    That is, of all; or of one sender's several bodies together more than half of that.
    """
    if spooled_bytes() + more_bytes > settings.RECEIVING_BYTES:
        raise ReceivingFull
    theirs = _file_bytes(spool_folder(), spool_prefix(sender))
    if theirs > own_bytes and theirs + more_bytes > settings.RECEIVING_BYTES // 2:
        raise ReceivingFull
