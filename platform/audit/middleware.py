"""Writes the audit log. By request and not by call, so that no view, action or form can be forgotten."""

from collections.abc import Callable, Mapping
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from accounts.models import Scope, User
from audit.models import AuditEntry
from core.serving.receiving import Admitted

HARMLESS: Final = ("GET", "HEAD", "OPTIONS", "TRACE")
SECRETS: Final = ("password", "secret", "token", "csrf", "otp")
ONE_TIME_CODE: Final = "code"  # in whole: `accepts_code` is not a secret
ORGANIZING: Final = "organize"  # the pages of organizers, who need not be staff
MAX_FIELDS, MAX_CHARS = 100, 200


class AuditMiddleware:
    """Records every request of staff and organizers that may change something, refused ones included."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        before = request.user if request.method not in HARMLESS else None  # who signs out is nobody afterwards
        response = self._get_response(request)
        is_asking = isinstance(response, Admitted)  # which is asked again, with the body
        if request.method not in HARMLESS and not is_asking and not getattr(_api_view(request), "records_calls", False):
            organizes = is_organizing(request)
            people = (user for user in (request.user, before) if isinstance(user, User))
            actor = next((user for user in people if user.is_staff or organizes), None)
            if actor is not None:
                record(request, actor, response.status_code)
        return response


def mark_organizing(request: HttpRequest) -> None:
    """Have a request stand in the log that an organizer makes where participants may, too."""
    request.is_by_organizer = True  # type: ignore[attr-defined]  # read below


def is_organizing(request: HttpRequest) -> bool:
    """True for an organizer's page or operation of the API, and for what a view has marked."""
    if getattr(request, "is_by_organizer", False):
        return True
    match, scope = request.resolver_match, getattr(_api_view(request), "write_scope", None)
    return match is not None and (match.namespace == ORGANIZING or scope == Scope.ORGANIZE)


def _api_view(request: HttpRequest) -> type | None:
    """The class of a view of an API; one with `records_calls` has its calls recorded in place of itself."""
    match = request.resolver_match
    return getattr(match.func, "cls", None) if match is not None else None


def record(request: HttpRequest, actor: User, status: int) -> None:
    """Write one entry."""
    match = request.resolver_match
    fields = _fields(request)
    AuditEntry.objects.create(
        at=timezone.now(),
        actor=actor,
        actor_name=actor.username,
        address=client_address(request),
        method=str(request.method)[:10],
        view=(match.view_name if match else "")[:100],
        path=request.path[:500],
        action=str(fields.get("action", ""))[:100],
        fields=fields,
        status=status,
    )


def client_address(request: HttpRequest) -> str | None:
    """The client's address: the last one that a trusted proxy wrote, else the connection's."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.PROXIES else ""
    address: str = forwarded.split(",")[-1].strip() or request.META.get("REMOTE_ADDR", "")
    return address or None


def keep_fields(request: HttpRequest, sent: object) -> None:
    """Have what a program sent as JSON stand in the entry of this request."""
    if isinstance(sent, Mapping):
        fields = QueryDict(mutable=True)
        for name, value in sent.items():
            fields[str(name)] = str(value)
        request.audited = fields  # type: ignore[attr-defined]  # read below


def _fields(request: HttpRequest) -> dict[str, str | list[str]]:
    """The posted fields, if the view has read them: reading them here could use up an upload."""
    posted: QueryDict | None = getattr(request, "audited", None) or getattr(request, "_post", None)
    if posted is None:
        return {}
    names = [name for name in posted if not _is_secret(name.lower())][:MAX_FIELDS]
    return {_plain(name): _field_value(posted.getlist(name)) for name in names}


def _is_secret(name: str) -> bool:
    return name == ONE_TIME_CODE or any(word in name for word in SECRETS)


def _field_value(values: list[str]) -> str | list[str]:
    shown = [_plain(str(value)) for value in values[:MAX_FIELDS]]
    return shown[0] if len(shown) == 1 else shown


def _plain(text: str) -> str:
    return text[:MAX_CHARS].replace("\0", " ")  # which PostgreSQL's JSON refuses
