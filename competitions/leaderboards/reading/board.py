"""Reading a board: a page of rows with ranks, one team's row, the history of the best score."""

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Lower

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import Cell, Entry, Milestone, Score
from competitions.leaderboards.ranking.cells import MISSING
from competitions.leaderboards.ranking.rules import PICKED
from competitions.teams.models import Team
from core.refusals import Refusal

PAGE_SIZE = 50
ROWS_ABOVE = 10  # a row that was jumped to
SEARCH_RESULTS = 20
BASELINES_SHOWN = 5
MAX_CURSOR = 1200
HEX = re.compile(r"[0-9a-f]{0,700}")


class InvalidCursor(Refusal):
    code = "invalid_cursor"

    def __init__(self) -> None:
        super().__init__("The cursor is not one that this API gave out. Start again without a cursor.")


@dataclass(frozen=True)
class Row:
    """One line of a board. `rank` is None for a baseline, which takes no rank from anybody."""

    rank: int | None
    entry: Entry


@dataclass(frozen=True)
class BoardPage:
    """Some rows in order. The cursors stand behind the last row and before the first, where there are more."""

    rows: list[Row]
    next_cursor: str | None
    previous_cursor: str | None = None


@dataclass(frozen=True)
class Cursor:
    """A position behind a row."""

    value: float
    achieved_at: datetime
    pk: int
    tie_key: str = ""


class UnknownSort(Refusal):
    code = "unknown_sort"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"This leaderboard cannot be sorted by {key[:60]!r}. Sort it by one of its columns of numbers."
        )


def _ordered(board: Leaderboard) -> QuerySet[Entry]:
    return Entry.objects.filter(leaderboard=board).select_related("team").order_by(*Entry.IN_ORDER)


def rank_of(entry: Entry) -> int | None:
    """One more than the number of better rows; equal rows share a rank. None for a baseline."""
    if entry.is_baseline:
        return None
    ranked = Entry.objects.filter(leaderboard=entry.leaderboard_id, is_baseline=False)
    better = ranked.filter(rank_value__lt=entry.rank_value).count()
    if entry.tie_key:  # counted apart: each is a range of the index
        better += ranked.filter(rank_value=entry.rank_value, tie_key__lt=entry.tie_key).count()
    return better + 1


def board_page(
    board: Leaderboard,
    *,
    cursor: str | None = None,
    size: int = PAGE_SIZE,
    sort: str | None = None,
    before: str | None = None,
) -> BoardPage:
    """One page in the order of the board: behind `cursor`, or up to `before`. Two queries for the first page and three for the
    others, at any size of board.

    `sort`: the key of another column, or `key@task`; ranks are then those in that column. Raises `InvalidCursor`, `UnknownSort`.
    """
    if sort:
        return sorted_page(board, key=sort, cursor=cursor, size=size, before=before)
    entries = _ordered(board)
    if before:
        rows = list(entries.filter(_ahead_of(read_cursor(before))).reverse()[: size + 1])
        return _page(list(reversed(rows[:size])), is_first=len(rows) <= size, has_more=True)
    if cursor:
        entries = entries.filter(_after(read_cursor(cursor)))
    rows = list(entries[: size + 1])
    return _page(rows[:size], is_first=not cursor, has_more=len(rows) > size)


def _page(shown: list[Entry], *, is_first: bool, has_more: bool) -> BoardPage:
    ranks = _ranks(shown, first_page=is_first)
    return BoardPage(
        rows=[Row(rank, entry) for rank, entry in zip(ranks, shown, strict=True)],
        next_cursor=make_cursor(shown[-1]) if has_more and shown else None,
        previous_cursor=None if is_first or not shown else make_cursor(shown[0]),
    )


def page_around(board: Leaderboard, entry: Entry, *, size: int = PAGE_SIZE) -> BoardPage:
    """The page with this row a few rows below its top."""
    position = _ahead_of(Cursor(entry.rank_value, entry.achieved_at, entry.pk, entry.tie_key))
    above = list(_ordered(board).filter(position).reverse()[: ROWS_ABOVE + 1])
    cursor = make_cursor(above[-1]) if len(above) > ROWS_ABOVE else None
    return board_page(board, cursor=cursor, size=size)


def sorted_page(
    board: Leaderboard, *, key: str, cursor: str | None = None, size: int = PAGE_SIZE, before: str | None = None
) -> BoardPage:
    """One page in the order of another column or of one task, best first, read from an index as `board_page` is."""
    cells = (
        Cell.objects.filter(leaderboard=board, key=key).select_related("entry__team").order_by("sort_value", "entry")
    )
    if before:
        at = read_cursor(before)
        ahead = cells.filter(
            Q(sort_value__lt=at.value) | Q(sort_value=at.value, entry__lt=at.pk), sort_value__lte=at.value
        )
        rows = list(ahead.reverse()[: size + 1])
        return _sorted(board, list(reversed(rows[:size])), is_first=len(rows) <= size, has_more=True)
    if cursor:
        at = read_cursor(cursor)
        behind = Q(sort_value__gt=at.value) | Q(sort_value=at.value, entry__gt=at.pk)
        cells = cells.filter(behind, sort_value__gte=at.value)
    rows = list(cells[: size + 1])
    if not rows and not cursor and board.entry_count:
        raise UnknownSort(key)
    return _sorted(board, rows[:size], is_first=not cursor, has_more=len(rows) > size)


def _sorted(board: Leaderboard, shown: list[Cell], *, is_first: bool, has_more: bool) -> BoardPage:
    first_rank = 1 if is_first or not shown else _cell_place(shown[0])
    return BoardPage(
        rows=list(_sorted_rows(board, shown, first_rank)),
        next_cursor=make_sorted_cursor(shown[-1]) if has_more and shown else None,
        previous_cursor=None if is_first or not shown else make_sorted_cursor(shown[0]),
    )


def _cell_place(cell: Cell) -> int:
    """One more than the number of ranked rows before this one."""
    before = Q(sort_value__lt=cell.sort_value) | Q(sort_value=cell.sort_value, entry__lt=cell.entry_id)
    return 1 + Cell.objects.filter(before, leaderboard=cell.leaderboard_id, key=cell.key, is_baseline=False).count()


def _sorted_rows(board: Leaderboard, cells: list[Cell], place: int) -> Iterator[Row]:
    """Rows with ranks in this column; equal values share one. A row without the value has none."""
    rank, value = place, None
    for cell in cells:
        cell.entry.leaderboard = board
        if cell.is_baseline or cell.sort_value == MISSING:
            yield Row(None, cell.entry)
            continue
        if value is None and place > 1:
            better = Cell.objects.filter(
                leaderboard=board, key=cell.key, is_baseline=False, sort_value__lt=cell.sort_value
            )
            rank = better.count() + 1
        elif cell.sort_value != value:
            rank = place
        value = cell.sort_value
        place += 1
        yield Row(rank, cell.entry)


def _ranks(entries: list[Entry], *, first_page: bool) -> Iterator[int | None]:
    """Ranks of consecutive rows: only the first ranked one is counted, the others follow."""
    seen, rank, value = 0, 0, None
    for entry in entries:
        if entry.is_baseline:
            yield None
            continue
        if value is None and not first_page:  # the first ranked row of a later page
            rank = rank_of(entry) or 1
            same_before = Entry.objects.filter(
                leaderboard=entry.leaderboard_id, is_baseline=False, rank_value=entry.rank_value, tie_key=entry.tie_key
            ).filter(Q(achieved_at__lt=entry.achieved_at) | Q(achieved_at=entry.achieved_at, id__lt=entry.pk))
            seen = rank - 1 + same_before.count()
        elif entry.rank_key != value:
            rank = seen + 1
        seen += 1
        value = entry.rank_key
        yield rank


def _after(cursor: Cursor) -> Q:
    """The rows behind this position."""
    behind = Q(achieved_at__gt=cursor.achieved_at) | Q(achieved_at=cursor.achieved_at, id__gt=cursor.pk)
    if cursor.tie_key:
        behind = Q(tie_key__gt=cursor.tie_key) | Q(tie_key=cursor.tie_key) & behind
    behind = Q(rank_value__gt=cursor.value) | Q(rank_value=cursor.value) & behind
    return Q(rank_value__gte=cursor.value) & behind  # said once more, for the index to begin there


def _ahead_of(cursor: Cursor) -> Q:
    """The rows before this position."""
    ahead = Q(achieved_at__lt=cursor.achieved_at) | Q(achieved_at=cursor.achieved_at, id__lt=cursor.pk)
    if cursor.tie_key:
        ahead = Q(tie_key__lt=cursor.tie_key) | Q(tie_key=cursor.tie_key) & ahead
    ahead = Q(rank_value__lt=cursor.value) | Q(rank_value=cursor.value) & ahead
    return Q(rank_value__lte=cursor.value) & ahead


def make_cursor(entry: Entry) -> str:
    """An opaque position behind this row."""
    return _cursor_text([entry.rank_value, entry.achieved_at.isoformat(), entry.pk, entry.tie_key])


def make_sorted_cursor(cell: Cell) -> str:
    return _cursor_text([cell.sort_value, cell.entry.achieved_at.isoformat(), cell.entry_id, ""])


def _cursor_text(position: list[float | str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> Cursor:
    """Raises `InvalidCursor`."""
    try:
        raw = base64.b64decode(cursor[:MAX_CURSOR] + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        value, achieved_at, pk, tie_key = json.loads(raw)
        position = Cursor(float(value), datetime.fromisoformat(achieved_at).astimezone(UTC), int(pk), str(tie_key))
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error) as error:
        raise InvalidCursor from error
    if not math.isfinite(position.value) or not 0 <= position.pk < 2**63 or not HEX.fullmatch(position.tie_key):
        raise InvalidCursor
    return position


def entry_of(board: Leaderboard, team_id: int) -> Entry | None:
    """A team's row, its best one where it has several, with its team and the score that counts."""
    rows = Entry.objects.filter(leaderboard=board, team=team_id).select_related("team", "score")
    return rows.order_by(*Entry.IN_ORDER).first()


def search(board: Leaderboard, text: str) -> list[Entry]:
    """Rows of teams whose name begins with the text, whatever its case; by name, the first few, each found by an index."""
    rows = Entry.objects.filter(leaderboard=board, team__competition=board.phase.competition_id)
    matches = rows.filter(team__searched_name__startswith=Lower(Value(text))).select_related("team")
    return list(matches.order_by("team__searched_name", *Entry.IN_ORDER)[:SEARCH_RESULTS])


def leader_of(board: Leaderboard) -> Entry | None:
    """The first ranked row, by index."""
    ranked = Entry.objects.filter(leaderboard=board, is_baseline=False).select_related("team")
    return ranked.order_by("rank_value", "tie_key").first()


def baselines_of(board: Leaderboard) -> list[Entry]:
    """The best baselines of the board, by index."""
    baselines = Entry.objects.filter(leaderboard=board, is_baseline=True).select_related("team")
    return list(baselines.order_by("rank_value")[:BASELINES_SHOWN])


def all_rows(board: Leaderboard) -> Iterator[Row]:
    """Every row in order, streamed: for exports."""
    return ranked_rows(_ordered(board))


def ranked_rows(ordered: QuerySet[Entry]) -> Iterator[Row]:
    """All rows of a board, read in its order, with their ranks."""
    entries = list(ordered.iterator(chunk_size=5000))
    yield from (Row(rank, entry) for rank, entry in zip(_ranks(entries, first_page=True), entries, strict=True))


def best_over_time(board: Leaderboard) -> QuerySet[Milestone]:
    """The board's best score as it improved, for everybody. Empty where teams choose what stands: the best may be one that was not
    chosen.
    """
    return Milestone.objects.none() if board.rule in PICKED else best_of_all_over_time(board)


def best_of_all_over_time(board: Leaderboard) -> QuerySet[Milestone]:
    """The same of all scores, chosen or not: for organizers."""
    return board.milestones.select_related("score", "score__team").order_by("received_at", "pk")


def team_over_time(board: Leaderboard, team: Team, *, limit: int = 500) -> list[Score]:
    """A team's scores, oldest first, the newest `limit` of them."""
    newest = Score.objects.filter(leaderboard=board, team=team, is_eligible=True).order_by("-received_at")[:limit]
    return list(reversed(newest))
