"""Boards as JSON and CSV, with ETags: an unchanged board costs one small query."""

from typing import Any, Final
from urllib.parse import quote

from django.contrib.auth.models import AnonymousUser
from django.core.cache import caches
from django.http import Http404, HttpResponseBase, HttpResponseNotModified
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer

from accounts.models import User
from competitions.api.serializers import leaderboards as s
from competitions.api.views.base import ApiView
from competitions.catalog.models import Leaderboard, Phase
from competitions.disclosure.scores import SEALED, may_know_board, may_see_board
from competitions.leaderboards.models import Commitment
from competitions.leaderboards.reading.board import Cursor, board_page
from competitions.leaderboards.reading.columns import page_columns, read_sort
from competitions.leaderboards.reading.export import csv_response
from competitions.leaderboards.reading.results import load_bare_boards, load_boards
from competitions.leaderboards.reading.uncertainty import board_uncertainty, row_uncertainty
from competitions.submissions.models import Dataset
from competitions.winners.models import Place
from competitions.winners.models import State as PlaceState

# What says who sees a phase's boards; all else of it is read where a page is put together.
SEEN_BY: Final = ("slug", "visibility", "revealed_at", "competition", "competition__slug", "competition__is_published")
BOARD = OpenApiParameter("board", str, description="Key of a board of the phase; its main one where it is left out.")


class BoardView(ApiView):
    """Base: a board that the asker may see."""

    serializer_class: type[BaseSerializer[Any]] = s.LeaderboardOut

    def board(self, slug: str, phase_slug: str, *, is_whole: bool = True) -> Leaderboard:
        """The requested board; one that is not whole has what names it, its version and who sees it."""
        phase = _phase(self.request.user, slug, phase_slug, is_whole=is_whole)
        (load_boards if is_whole else load_bare_boards)([phase])
        key = self.request.query_params.get("board")
        known = [board for board in phase.leaderboards.all() if may_know_board(self.reader, board)]
        board = next((candidate for candidate in known if not key or candidate.key == key), None)
        if board is None:
            raise Http404
        if not may_see_board(self.reader, board):
            raise SEALED(board=board)
        return board


def _phase(user: User | AnonymousUser, slug: str, phase_slug: str, *, is_whole: bool) -> Phase:
    """A phase that the asker sees. Raises `Http404`."""
    rows = Phase.objects.select_related("competition")
    if not is_whole:
        rows = rows.only(*SEEN_BY)
    phase = get_object_or_404(rows, competition__slug=slug, slug=phase_slug)
    if not phase.competition.is_visible_to(user):
        raise Http404
    return phase


class LeaderboardDetail(BoardView):
    """One page of a board, best first, by its primary column or by the one that `sort` names."""

    @extend_schema(parameters=[BOARD, OpenApiParameter("cursor", str), OpenApiParameter("sort", str)])
    def get(self, request: Request, slug: str, phase_slug: str) -> HttpResponseBase:
        board = self.board(slug, phase_slug, is_whole="sort" in request.query_params)
        cursor = request.query_params.get("cursor")
        if cursor:
            Cursor.read(cursor)  # refused before it gets into a header
        sort = request.query_params.get("sort", "")
        if sort:  # then the board was read with its columns
            sort = read_sort(board, page_columns(board, board.visible_columns), sort)
        etag = f'"{board.pk}-{board.version}-{cursor or ""}-{quote(sort)}"'
        if request.headers.get("If-None-Match") == etag:
            return HttpResponseNotModified(headers={"ETag": etag})
        # The same for everybody who may see the board, so it is put together once for each version of it.
        body = caches["pages"].get_or_set(f"json{etag}", lambda: page_out(self.board(slug, phase_slug), cursor, sort))
        return Response(body, headers={"ETag": etag, "Cache-Control": "no-cache"})


def page_out(board: Leaderboard, cursor: str | None, sort: str = "") -> dict[str, object]:
    """One page of a board as JSON."""
    page, visible = board_page(board, cursor=cursor, sort=sort), board.visible_columns
    columns = page_columns(board, visible)
    sure = None if sort else board_uncertainty(board)
    joined = Dataset.objects.on_board(board.phase)
    return {
        "phase": board.phase.slug,
        "board": board.key,
        "title": board.title,
        "rule": board.rule,
        "entrants": board.entrants,
        "sorted_by": sort or None,
        "columns": list(s.ColumnOut(visible, many=True).data),
        "entry_count": board.entry_count,
        "rows": [s.row_out(row, columns, row_uncertainty(board, row.entry) if sure else None) for row in page.rows],
        "uncertainty": sure.as_json() if sure else None,
        "next_cursor": page.next_cursor,
        **({"datasets": list(s.DatasetOut(joined, many=True).data)} if board.phase.grows else {}),
    }


class CommitmentDetail(ApiView):
    """The commitment to a sealed board at its close and, after the reveal, the manifest that proves it."""

    serializer_class = s.CommitmentOut

    @extend_schema(parameters=[BOARD])
    def get(self, request: Request, slug: str, phase_slug: str) -> Response:
        phase = self.phase(competition__slug=slug, slug=phase_slug)
        commitments = Commitment.objects.filter(leaderboard__phase=phase, leaderboard__is_hidden=False)
        if key := request.query_params.get("board"):
            commitments = commitments.filter(leaderboard__key=key)
        commitment = commitments.select_related("leaderboard__phase__competition").first()
        if commitment is None:
            raise Http404
        return Response(s.CommitmentOut(commitment).data)


class Winners(BoardView):
    """Confirmed winners of a board, with what they handed in and the time that their code took here."""

    serializer_class: type[BaseSerializer[Any]] = s.WinnerOut

    @extend_schema(parameters=[BOARD], responses=s.WinnerOut(many=True))
    def get(self, request: Request, slug: str, phase_slug: str) -> Response:
        places = Place.objects.filter(lane__leaderboard=self.board(slug, phase_slug), state=PlaceState.CONFIRMED)
        return Response(s.WinnerOut(places.select_related("team", "submission__phase"), many=True).data)


class LeaderboardCsv(BoardView):
    """The whole board as CSV."""

    @extend_schema(parameters=[BOARD], responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str, phase_slug: str) -> HttpResponseBase:
        return csv_response(self.board(slug, phase_slug))
