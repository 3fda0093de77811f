"""Pages of a reveal: the organizers' preview, the manifest, and the shake-up."""

import json

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from accounts.views import open_page, person
from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.services import phase_reveal
from competitions.disclosure.scores import SEALED, may_see_manifest, may_see_scores
from competitions.leaderboards.commitment import board_amend, commitment_manifest
from competitions.leaderboards.models import RankChange
from competitions.leaderboards.reading.board import board_page
from competitions.leaderboards.reading.columns import page_columns
from competitions.leaderboards.reading.uncertainty import comparison
from competitions.leaderboards.sealing import board_commit, board_commitment, reveal_preview
from competitions.web.forms import RevealForm, cleaned
from competitions.web.presentation.charts import rank_chart
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, visit
from files.text import is_number

SHOWN = 100
TOP = 10


@open_page
def manifest(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """A revealed board's manifest, for `podium verify`; not before, as its salt would reveal scores."""
    visited = visit(request, slug)
    board = visited.existing_board(phase_slug, board_key)
    commitment = board_commitment(board)
    if commitment is None:
        raise Http404
    if not may_see_manifest(visited.reader, board):
        raise SEALED(board=board)
    name = f"{slug}-{phase_slug}-{board_key}-manifest.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(
        json.dumps(commitment_manifest(commitment), indent=1), content_type="application/json", headers=headers
    )


@open_page
def shake_up(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """Ranks before and after the reveal, best first; plot and table of a hundred teams a page."""
    visited = visit(request, slug)
    board = visited.visible_board(phase_slug, board_key)
    if board.phase.revealed_at is None:
        raise Http404
    changes = RankChange.objects.filter(leaderboard=board).select_related("team", "compared_with__phase")
    rank, _, pk = request.GET.get("after", "").partition("-")  # teams may share the rank that a page ends with
    if is_number(rank) and is_number(pk):
        changes = changes.filter(Q(rank_after__gt=int(rank)) | Q(rank_after=int(rank), pk__gt=int(pk)))
    rows = list(changes.order_by("rank_after", "pk")[: SHOWN + 1])
    shown, known = rows[:SHOWN], comparison(board)
    context = {
        "phase": board.phase,
        "board": board,
        "compared": shown[0].compared_with if shown else None,
        "changes": [
            (change, change.rank_before - change.rank_after if change.rank_before else None) for change in shown
        ],
        "rank_changes": known[1].rank_changes if known is not None else None,
        "chart": rank_chart(shown, visited.competing_team_id),
        "next_after": f"{shown[-1].rank_after}-{shown[-1].pk}" if len(rows) > SHOWN else None,
    }
    return render_tab(request, visited, "web/leaderboard/shake_up.html", context, tab="leaderboard")


@require_http_methods(["GET", "HEAD", "POST"])
def reveal(request: HttpRequest, slug: str, phase_slug: str) -> HttpResponse:
    """The preview of a reveal, and the reveal itself; for the competition's organizers."""
    visited = visit(request, slug)
    phase = visited.phase(phase_slug)
    if phase is None or not visited.is_organizer:
        raise Http404
    if request.method == "POST":
        return _act(request, visited, phase)
    preview = reveal_preview(phase, now=visited.now)
    boards = [
        (board_preview, _top(board_preview.board) if may_see_scores(visited.reader, board_preview.board) else None)
        for board_preview in preview.boards
    ]
    return render_tab(
        request,
        visited,
        "web/leaderboard/reveal.html",
        {"phase": phase, "preview": preview, "boards": boards},
        tab="leaderboard",
    )


def _top(board: Leaderboard) -> dict[str, object]:
    return {"rows": board_page(board, size=TOP).rows, "columns": page_columns(board, board.visible_columns)}


def _act(request: HttpRequest, visited: Visit, phase: Phase) -> HttpResponse:
    values = cleaned(RevealForm(request.POST))
    if values["act"] == "commit":
        return _commit(request, visited, phase, values["reason"])
    phase_reveal(phase=phase, now=visited.now, before_the_end=values["before_the_end"])
    _log(request, phase, "Revealed the scores.")
    messages.success(request, f"The scores of “{phase.name}” are public now.")
    return redirect(f"{visited.url('leaderboard')}?phase={phase.slug}")


def _commit(request: HttpRequest, visited: Visit, phase: Phase, reason: str) -> HttpResponse:
    """Commit to what is not committed to yet; what has changed since is an amendment."""
    for board_preview in reveal_preview(phase, now=visited.now).boards:
        if board_preview.commitment is None:
            commitment = board_commit(board=board_preview.board, now=visited.now)
            _log(request, phase, f"Committed to {board_preview.board.title}: {commitment.digest}")
        elif board_preview.changes:
            amendment = board_amend(board=board_preview.board, reason=reason, now=visited.now)
            _log(request, phase, f"Amended {board_preview.board.title}: {amendment.digest}")
    messages.success(request, "Published. The commitment of the close stays as it is.")
    return redirect("web:reveal", visited.competition.slug, phase.slug)


def _log(request: HttpRequest, phase: Phase, text: str) -> None:
    LogEntry.objects.log_actions(person(request).pk, [phase], CHANGE, change_message=text, single_object=True)
