"""When a page that was read before has not changed: its ETag, made of everything that it is drawn from."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from typing import Any, Final

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest

from competitions.catalog.models import Leaderboard
from competitions.web.visit import Visit

# A new release, or another brand, draws the page differently.
RELEASE: Final = f"{version('podium')}-{hashlib.sha256(repr(settings.BRAND).encode()).hexdigest()[:8]}"


def board_etag(request: HttpRequest, visited: Visit, board: Leaderboard) -> str:
    """Changes with the board's version, with every setting of the competition, its phases and boards, with who looks, and when one
    of the dates of these has passed."""
    phases = visited.phases_with_boards
    rows = [visited.competition, *phases, *(each for phase in phases for each in phase.leaderboards.all())]
    values = [_values(row) for row in rows]
    passed = sum(at <= visited.now for at in _instants(values))
    parts: list[Any] = [
        RELEASE, board.pk, values, passed, visited.own_tabs, replace(visited.facts, worker_seen_at=None), visited.user.pk,
        visited.is_organizer, request.get_full_path(), request.headers.get("HX-Request"),
    ]  # fmt: skip
    return f'"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"'


def _values(row: Model) -> list[object]:
    return [getattr(row, field.attname) for field in row._meta.concrete_fields]


def _instants(values: list[list[object]]) -> Iterator[datetime]:
    return (value for row in values for value in row if isinstance(value, datetime))
