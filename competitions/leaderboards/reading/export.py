"""A board as CSV."""

import csv
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.http import StreamingHttpResponse

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.fact_columns import SOURCE, VERIFIED, FactColumn
from competitions.leaderboards.reading.board import all_rows
from competitions.leaderboards.reading.columns import CellState, DatasetColumn, ShownColumn, page_columns
from competitions.leaderboards.reading.uncertainty import board_uncertainty, row_uncertainty
from core.spreadsheets import Echo, csv_download, safe_cell

UNCERTAINTY: Final = ("low", "high", "first_rank", "last_rank", "tier", "beats_above_percent", "stays_top_percent")


def csv_lines(board: Leaderboard) -> Iterator[str]:
    """Header and rows. Values are as shown on the page; a baseline has no rank."""
    columns = page_columns(board, board.visible_columns)
    sure = UNCERTAINTY if board_uncertainty(board) else ()
    writer: Any = csv.writer(Echo())
    yield writer.writerow(
        [
            "rank",
            "team",
            *(_heading(column) for column in columns),
            "submissions",
            "achieved_at",
            "last_at",
            "baseline",
            "verified_s",
            "commit",
            "link",
            *sure,
        ]
    )
    for row in all_rows(board):
        entry = row.entry
        yield writer.writerow(
            [
                row.rank or "",
                safe_cell(entry.team.name),
                *(_value(column, entry.values) for column in columns),
                entry.submissions,
                entry.achieved_at.isoformat(),
                entry.last_at.isoformat(),
                "yes" if entry.is_baseline else "no",
                entry.values.get(VERIFIED, {}).get("wall_s", ""),
                *(safe_cell(entry.values.get(SOURCE, {}).get(name, "")) for name in ("commit", "link")),
                *(_uncertainty(board, entry) if sure else ()),
            ]
        )


def _uncertainty(board: Leaderboard, entry: Entry) -> list[object]:
    uncertainty = row_uncertainty(board, entry)
    values = uncertainty.as_json() if uncertainty else {}
    return ["" if values.get(name) is None else values[name] for name in UNCERTAINTY]


def _heading(column: ShownColumn) -> str:
    return safe_cell(column.heading) if isinstance(column, DatasetColumn) else column.key


def _value(column: ShownColumn, values: Mapping[str, Any]) -> str:
    """The value as shown; on a submitted dataset it may be "failed", and is empty before it was run."""
    if isinstance(column, DatasetColumn) and column.state_in(values) == CellState.FAILED:
        return str(CellState.FAILED)
    shown = column.shown_in(values) or ""
    return (
        safe_cell(shown) if isinstance(column, FactColumn) and not column.is_sortable else shown
    )  # the team's own words


def csv_response(board: Leaderboard) -> StreamingHttpResponse:
    """A download that is written while the rows are read."""
    which = "" if board.key == "main" else f"-{board.key}"
    return csv_download(csv_lines(board), f"{board.phase.competition.slug}-{board.phase.slug}{which}")
