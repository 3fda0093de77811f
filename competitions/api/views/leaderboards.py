"""Boards as JSON and CSV, with ETags: an unchanged board costs one small query."""

from typing import Any

from django.core.cache import caches
from django.http import HttpResponseBase, HttpResponseNotModified
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from competitions.api import serializers as s
from competitions.api.views.base import ApiView
from competitions.catalog.rights import organizes
from competitions.leaderboards.board import board_page, read_cursor, visible_columns
from competitions.leaderboards.export import csv_response
from competitions.leaderboards.models import Leaderboard
from competitions.leaderboards.visibility import Sealed, can_see_scores
from competitions.refusals import NotAllowed


class BoardView(ApiView):
    """Base: a board that the asker may see."""

    serializer_class = s.LeaderboardOut

    def board(self, slug: str, phase_slug: str) -> Leaderboard:
        phase = self.phase(competition__slug=slug, slug=phase_slug)
        board = get_object_or_404(Leaderboard.objects.select_related("phase__competition"), phase=phase)
        if not can_see_scores(self.request.user, phase):
            raise Sealed(phase)
        if board.is_hidden and not organizes(self.request.user, phase):
            raise NotAllowed("The organizers have hidden this leaderboard.")
        return board


class LeaderboardDetail(BoardView):
    """One page of a board, best first."""

    @extend_schema(parameters=[OpenApiParameter("cursor", str)])
    def get(self, request: Request, slug: str, phase_slug: str) -> HttpResponseBase:
        board = self.board(slug, phase_slug)
        cursor = request.query_params.get("cursor")
        if cursor:
            read_cursor(cursor)  # refused before it gets into a header
        etag = f'"{board.pk}-{board.version}-{cursor or ""}"'
        if request.headers.get("If-None-Match") == etag:
            return HttpResponseNotModified(headers={"ETag": etag})
        # The same for everybody who may see the board, so it is put together once for each version of it.
        body = caches["pages"].get_or_set(f"json{etag}", lambda: page_out(board, cursor))
        return Response(body, headers={"ETag": etag, "Cache-Control": "no-cache"})


def page_out(board: Leaderboard, cursor: str | None) -> dict[str, Any]:
    """One page of a board as JSON."""
    page, columns = board_page(board, cursor=cursor), visible_columns(board)
    return {
        "phase": board.phase.slug,
        "rule": board.rule,
        "columns": list(s.ColumnOut(columns, many=True).data),
        "entry_count": board.entry_count,
        "rows": [s.row_out(row, columns) for row in page.rows],
        "next_cursor": page.next_cursor,
    }


class LeaderboardCsv(BoardView):
    """The whole board as CSV."""

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str, phase_slug: str) -> HttpResponseBase:
        return csv_response(self.board(slug, phase_slug))
