"""Boards to cite and to embed: snapshots with their signed file, frames and badges."""

import json
from typing import Final

from csp.decorators import csp_replace
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.safestring import SafeString
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_POST

from accounts.views import open_page, person
from competitions.leaderboards.models import Snapshot
from competitions.leaderboards.ranking.entries import entry_rank
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.board import board_page
from competitions.leaderboards.reading.uncertainty import row_uncertainty
from competitions.leaderboards.snapshots import signing_key, snapshot_path, snapshot_request
from competitions.web.presentation.citations import bibtex, linked_data
from competitions.web.views.boards.entries import find_entry
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, visit

EMBEDDED: Final = 10
EMBED_POLICY: Final = {
    "default-src": ["'none'"],
    "style-src": ["'self'"],
    "font-src": ["'self'"],
    "frame-ancestors": ["*"],
}
FOR_ALL: Final = "public, max-age=300"


@open_page
def snapshots(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """All snapshots of a board, the newest first, and how to embed it."""
    visited = visit(request, slug)
    board = visited.visible_board(phase_slug, board_key)
    context = {
        "phase": board.phase,
        "board": board,
        "snapshots": board.snapshots.defer("file_text", "shown"),
        "address": settings.SITE_URL + request.path.removesuffix("snapshots/"),
    }
    return render_tab(request, visited, "web/leaderboard/snapshots.html", context, tab="leaderboard")


@require_POST
def snapshot_make(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """Freeze the board as it is now; for organizers."""
    visited = visit(request, slug)
    board = visited.visible_board(phase_slug, board_key)
    if not visited.is_organizer:
        raise Http404
    snapshot = snapshot_request(board=board, by=person(request), now=visited.now)
    messages.success(request, f"Snapshot {snapshot.number} is made. Its address stays as it is.")
    return redirect(snapshot_path(snapshot))


def _snapshot(request: HttpRequest, slug: str, phase_slug: str, board_key: str, number: int) -> tuple[Visit, Snapshot]:
    """The snapshot with its reader; of a board that may be hidden by now, what was public stays so."""
    visited = visit(request, slug)
    rows = Snapshot.objects.select_related("leaderboard__phase__competition").filter(
        leaderboard__phase__competition=visited.competition, leaderboard__phase__slug=phase_slug
    )
    return visited, get_object_or_404(rows, leaderboard__key=board_key, number=number)


@open_page
def snapshot_page(request: HttpRequest, slug: str, phase_slug: str, board_key: str, number: int) -> HttpResponse:
    """One snapshot: the board as it was, how to cite it, and its file."""
    visited, frozen = _snapshot(request, slug, phase_slug, board_key, number)
    context: dict[str, object] = {
        "phase": frozen.leaderboard.phase,
        "board": frozen.leaderboard,
        "snapshot": frozen,
    }
    if frozen.written_at is not None:
        keys = [column["key"] for column in frozen.shown["columns"]]
        context |= {
            "document": frozen.shown,
            "rows": [(row, [row["scores"].get(key) for key in keys]) for row in frozen.shown["rows"]],
            "bibtex": bibtex(frozen),
            "linked_data": _script(linked_data(frozen)),
        }
    return render_tab(request, visited, "web/leaderboard/snapshot.html", context, tab="leaderboard")


def _script(value: object) -> SafeString:
    """JSON that ends no element of the page: letters that HTML reads are written by number."""
    text = json.dumps(value)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return SafeString(text)


@open_page
def snapshot_file(request: HttpRequest, slug: str, phase_slug: str, board_key: str, number: int) -> HttpResponse:
    """The signed file, for `podium verify`."""
    _, frozen = _snapshot(request, slug, phase_slug, board_key, number)
    if frozen.written_at is None:
        raise Http404
    name = f"{slug}-{phase_slug}-{board_key}-{number}.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(frozen.file_text, content_type="application/json", headers=headers)


@open_page
def public_key(request: HttpRequest) -> HttpResponse:
    """The key that this site's snapshots are signed with, in hexadecimal."""
    key = signing_key().public_key().public_bytes_raw().hex()
    return HttpResponse(f"{key}\n", content_type="text/plain; charset=utf-8")


@open_page
@xframe_options_exempt
@csp_replace(EMBED_POLICY)  # type: ignore[arg-type]  # its types know no view with arguments
def embed(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """The first rows for a frame on another site: as a visitor sees them, whoever asks."""
    request.user = AnonymousUser()
    visited = visit(request, slug)
    board = visited.existing_board(phase_slug, board_key)
    may_see = visited.can_see_board(board)
    primary = primary_column(list(board.columns.all()))
    context = {
        "competition": visited.competition,
        "board": board,
        "phase": board.phase,
        "primary": primary if primary in board.visible_columns else None,
        "rows": [
            (row, row_uncertainty(board, row.entry))
            for row in (board_page(board, size=EMBEDDED).rows if may_see else [])
        ],
        "may_see": may_see,
    }
    response = render(request, "web/leaderboard/embed.html", context)
    response.headers["Cache-Control"] = FOR_ALL
    return response


@open_page
def badge(request: HttpRequest, pk: int) -> HttpResponse:
    """A row's rank and range as a small picture: as a visitor sees it, whoever asks. 404 where nobody may."""
    request.user = AnonymousUser()
    entry, visited, board = find_entry(request, pk)
    rank, sure = entry_rank(entry), row_uncertainty(board, entry)
    ranked = board.entries.filter(is_baseline=False)
    words = "baseline" if rank is None else f"rank {rank} of {ranked.count()}"
    if sure is not None and sure.rank_range:
        words += f" ({sure.rank_range})"
    title = visited.competition.title[:40]
    widths = [10 + 7 * len(text) for text in (title, words)]
    context = {"title": title, "words": words, "left": widths[0], "right": widths[1], "width": sum(widths)}
    context |= {"left_middle": widths[0] / 2, "right_middle": widths[0] + widths[1] / 2}
    response = render(request, "web/leaderboard/badge.svg", context, content_type="image/svg+xml")
    response.headers["Cache-Control"] = FOR_ALL
    return response
