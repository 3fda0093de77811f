"""The page that sets the scores of a board against a cost: time, memory, parameters."""

from typing import Final

from django import forms
from django.http import Http404, HttpRequest, HttpResponse

from accounts.views import open_page
from competitions.catalog.models import Column, Leaderboard
from competitions.leaderboards.ranking.fact_columns import FactColumn
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.board import board_page
from competitions.leaderboards.reading.columns import page_columns
from competitions.web.conditional import board_etag, unless_unchanged
from competitions.web.presentation.costs import cost_chart, cost_columns, cost_rows
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, visit

ROWS: Final = 200  # the best ones
SHOWN: Final = 50


_AS_TEXT: Final = forms.TextInput({"inputmode": "decimal", "autocomplete": "off"})  # a number's shows no wrong text


class CostForm(forms.Form):
    """The cost, its limit, and how much it weighs; from the page's address."""

    cost = forms.ChoiceField(label="Cost")
    most = forms.FloatField(required=False, label="At most", widget=_AS_TEXT)
    weight = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=100,
        initial=0,
        label="Weight of the cost (%)",
        widget=_AS_TEXT,
        help_text="0: the score alone; 100: the cost alone.",
    )

    def __init__(self, data: dict[str, str], columns: list[Column | FactColumn]) -> None:
        super().__init__({"cost": columns[0].key, "weight": 0} | data)
        self.fields["cost"].choices = [(column.key, column.title) for column in columns]  # type: ignore[attr-defined]  # a ChoiceField


@open_page
def costs(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """Rows by score and cost. Unchanged boards answer 304."""
    visited = visit(request, slug)
    board = visited.visible_board(phase_slug, board_key)
    primary = primary_column(list(board.columns.all()))
    if primary is None or primary not in board.visible_columns:
        raise Http404

    def draw() -> HttpResponse:
        context = _context(visited, board, primary, request.GET.dict())
        return render_tab(request, visited, "web/leaderboard/costs.html", context, tab="leaderboard")

    return unless_unchanged(request, board_etag(request, visited, board), draw)


def _context(visited: Visit, board: Leaderboard, primary: Column, query: dict[str, str]) -> dict[str, object]:
    columns = cost_columns(
        page_columns(board, board.visible_columns, has_facts=visited.competition.has_questions), primary
    )
    context: dict[str, object] = {"phase": board.phase, "board": board, "primary": primary}
    if not columns:
        return context
    form = CostForm(query, columns)
    form.is_valid()
    values = form.cleaned_data  # a wrong number leaves the others as they are
    cost = next((column for column in columns if column.key == values.get("cost")), columns[0])
    rows = cost_rows(board_page(board, size=ROWS).rows, primary, cost, weight=(values.get("weight") or 0) / 100)
    most = values.get("most")
    within = [row for row in rows if most is None or row.cost <= most]
    return context | {
        "form": form,
        "cost": cost,
        "rows": within[:SHOWN],
        "count": len(within),
        "left_out": len(rows) - len(within),
        "is_weighted": bool(values.get("weight")),
        "own_team": visited.competing_team_id,
        "chart": cost_chart(within, primary, cost, visited.competing_team_id),
    }
