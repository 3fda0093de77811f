"""ETags of pages from all that they show, so that an unchanged page is not rendered again."""

import hashlib
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import version
from typing import Any, Final

from django.conf import settings
from django.contrib.messages import get_messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.utils.cache import get_conditional_response

from competitions.catalog.models import Leaderboard
from competitions.web.markdown import wants_markdown
from competitions.web.visit import Visit

# A new release, or another brand, draws the page differently.
RELEASE: Final = f"{version('podium')}-{hashlib.sha256(repr(settings.BRAND).encode()).hexdigest()[:8]}"


def board_etag(request: HttpRequest, visited: Visit, board: Leaderboard) -> str:
    """ETag that changes with the board's version, settings, reader and session, and as dates pass.

    A page with a message for its reader is always rendered.
    """
    phases = visited.phases_with_bare_boards
    rows: list[Model] = [visited.competition, *phases, *(each for phase in phases for each in phase.leaderboards.all())]
    values = [[getattr(row, field.attname) for field in row._meta.concrete_fields] for row in rows]
    passed = sum(at <= visited.now for of_row in values for at in of_row if isinstance(at, datetime))
    parts: list[Any] = [
        RELEASE,
        board.pk,
        values,
        passed,
        visited.facts,
        *_reader(request, visited),
        visited.is_organizer,
        request.get_full_path(),
        request.headers.get("HX-Request"),
        wants_markdown(request),
    ]
    return f'"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"'


def unless_unchanged(request: HttpRequest, etag: str, draw: Callable[[], HttpResponse]) -> HttpResponse:
    """The page under its ETag; 304, and nothing drawn, for a reader who has it already."""
    response = get_conditional_response(request, etag=etag)
    if response is None:
        response = draw()
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = "private, no-cache"
    return response


def _reader(request: HttpRequest, visited: Visit) -> list[object]:
    """The person, the secret of their forms, and the time if the page has messages for them."""
    if not visited.user.is_authenticated:
        return []
    get_token(request)  # now it is there, also where this is the first page of a session
    is_told = len(get_messages(request)) > 0
    return [visited.user.pk, str(visited.user), request.META["CSRF_COOKIE"], visited.now if is_told else None]
