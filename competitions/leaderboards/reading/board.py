"""Reading a board: a page of rows with ranks, one team's row, the history of the best score."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

from django.db.models import CharField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Lower

from competitions.catalog.models import Leaderboard
from competitions.leaderboards.models import Cell, Entry, Milestone, Score
from competitions.leaderboards.ranking.entries import MISSING, entry_rank
from competitions.leaderboards.ranking.rules import PICKED
from competitions.teams.models import Membership, Team
from core.refusals import Conflict, Refusal, RefusalKind

PAGE_SIZE = 50
ROWS_ABOVE = 10  # a row that was jumped to
SEARCH_RESULTS = 20
SEARCH_CANDIDATES = 300  # teams whose rows are looked for
NO_MEMBER: Final = Value("", output_field=CharField())
THREE_LETTERS: Final = re.compile(r"\w{3}")
BASELINES_SHOWN = 5
LONGEST_LINE = 500  # of the scores of a team over time
CURSOR: Final = re.compile(r"([1-9][0-9]{0,17})-([0-9]{1,17})", re.ASCII)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
IN_COLUMN: Final = ("sort_value", "entry_id")  # the order of cells

INVALID_CURSOR: Final = RefusalKind(
    400, "invalid_cursor", "The cursor is not one that this API gave out. Start again without a cursor."
)


class BoardChanged(Conflict):
    code = "board_changed"

    def __init__(self) -> None:
        super().__init__(
            "The leaderboard has changed: the row that the cursor names has moved, or is gone. Start again without a cursor."
        )


@dataclass(frozen=True)
class Row:
    """One line of a board. `rank` is None for a baseline, which takes no rank from anybody."""

    rank: int | None
    entry: Entry


@dataclass(frozen=True)
class BoardPage:
    """Some rows in order, with cursors to the rows after and before, if there are any."""

    rows: list[Row]
    next_cursor: str | None
    previous_cursor: str | None = None


@dataclass(frozen=True)
class Cursor:
    """Names a row by what everybody sees of it: its number, and when what counts was received.

    It holds no place and no value: the site looks up where the row stands. A value that a reader could choose would be
    compared with scores that the board rounds or hides, and tell them digit by digit.
    """

    pk: int
    achieved_at: datetime

    @classmethod
    def of(cls, entry: Entry) -> "Cursor":
        return cls(entry.pk, entry.achieved_at)

    @classmethod
    def read(cls, text: str) -> "Cursor":
        """The cursor that a text is. Raises `INVALID_CURSOR`."""
        if (match := CURSOR.fullmatch(text)) is None:
            raise INVALID_CURSOR()
        return cls(int(match[1]), EPOCH + int(match[2]) * MICROSECOND)

    def __str__(self) -> str:
        return f"{self.pk}-{(self.achieved_at - EPOCH) // MICROSECOND}"

    def entry_on(self, board: Leaderboard) -> Entry:
        """The row. Raises `BoardChanged` where the team has another by now."""
        entry = Entry.objects.filter(leaderboard=board, pk=self.pk, achieved_at=self.achieved_at).first()
        if entry is None:
            raise BoardChanged
        return entry

    def cell_on(self, board: Leaderboard, key: str) -> Cell:
        """The row's value in another column. Raises `BoardChanged`."""
        cells = Cell.objects.filter(leaderboard=board, key=key, entry=self.pk, entry__achieved_at=self.achieved_at)
        cell = cells.select_related("entry").first()
        if cell is None:
            raise BoardChanged
        return cell


class UnknownSort(Refusal):
    code = "unknown_sort"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"This leaderboard cannot be sorted by {key[:60]!r}. Sort it by one of its columns of numbers."
        )


def _ordered(board: Leaderboard) -> QuerySet[Entry]:
    return Entry.objects.filter(leaderboard=board).select_related("team", "uncertainty").order_by(*Entry.IN_ORDER)


def board_page(
    board: Leaderboard,
    *,
    cursor: str | None = None,
    size: int = PAGE_SIZE,
    sort: str | None = None,
    before: str | None = None,
) -> BoardPage:
    """A page in the board's order, after `cursor` or up to `before`; few queries at any size of board.

    `sort`: the key of another column, or `key@task`; ranks are then those in that column. Raises `INVALID_CURSOR`,
    `BoardChanged` or `UnknownSort`.
    """
    if sort:
        return sorted_page(board, key=sort, cursor=cursor, size=size, before=before)
    if before:
        entry = Cursor.read(before).entry_on(board)
        rows = list(_ordered(board).filter(_entries_beyond(entry, "lt")).reverse()[: size + 1])
        is_first = len(rows) <= size
        return _page(_ranked(rows[:size][::-1], is_first=is_first), is_first=is_first, has_more=True)
    return _page_after(board, Cursor.read(cursor).entry_on(board) if cursor else None, size)


def _page_after(board: Leaderboard, entry: Entry | None, size: int) -> BoardPage:
    """The rows behind this one, or the first ones."""
    entries = _ordered(board) if entry is None else _ordered(board).filter(_entries_beyond(entry, "gt"))
    rows, is_first = list(entries[: size + 1]), entry is None
    return _page(_ranked(rows[:size], is_first=is_first), is_first=is_first, has_more=len(rows) > size)


def _page(rows: list[Row], *, is_first: bool, has_more: bool) -> BoardPage:
    return BoardPage(
        rows=rows,
        next_cursor=str(Cursor.of(rows[-1].entry)) if has_more and rows else None,
        previous_cursor=None if is_first or not rows else str(Cursor.of(rows[0].entry)),
    )


def page_around(board: Leaderboard, entry: Entry, *, size: int = PAGE_SIZE) -> BoardPage:
    """The page with this row a few rows below its top."""
    above = list(_ordered(board).filter(_entries_beyond(entry, "lt")).reverse()[: ROWS_ABOVE + 1])
    return _page_after(board, above[-1] if len(above) > ROWS_ABOVE else None, size)


def sorted_page(
    board: Leaderboard, *, key: str, cursor: str | None = None, size: int = PAGE_SIZE, before: str | None = None
) -> BoardPage:
    """A page in the order of another column or a task, best first, read from an index."""
    cells = Cell.objects.filter(leaderboard=board, key=key).select_related("entry__team").order_by(*IN_COLUMN)
    if before:
        at = Cursor.read(before).cell_on(board, key)
        ahead = cells.filter(_beyond(at, "lt", IN_COLUMN), sort_value__lte=at.sort_value)
        rows = list(ahead.reverse()[: size + 1])
        is_first = len(rows) <= size
        return _page(_sorted(board, rows[:size][::-1], is_first=is_first), is_first=is_first, has_more=True)
    if cursor:
        at = Cursor.read(cursor).cell_on(board, key)
        cells = cells.filter(_beyond(at, "gt", IN_COLUMN), sort_value__gte=at.sort_value)
    rows = list(cells[: size + 1])
    if not rows and not cursor and board.entry_count:
        raise UnknownSort(key)
    return _page(_sorted(board, rows[:size], is_first=not cursor), is_first=not cursor, has_more=len(rows) > size)


def _sorted(board: Leaderboard, cells: list[Cell], *, is_first: bool) -> list[Row]:
    """Rows with ranks in this column. A row without the value has none."""
    for cell in cells:
        cell.entry.leaderboard = board
    values = [None if cell.is_baseline or cell.sort_value == MISSING else cell.sort_value for cell in cells]
    ranks = _ranks(values, lambda number: (1, 1) if is_first else _count_before_cell(cells[number]))
    return [Row(rank, cell.entry) for rank, cell in zip(ranks, cells, strict=True)]


def _count_before_cell(cell: Cell) -> tuple[int, int]:
    """A row's rank and place in this column."""
    ranked = Cell.objects.filter(leaderboard=cell.leaderboard_id, key=cell.key, is_baseline=False)
    better = ranked.filter(sort_value__lt=cell.sort_value).count()
    return better + 1, ranked.filter(_beyond(cell, "lt", IN_COLUMN)).count() + 1


def _ranked(entries: Sequence[Entry], *, is_first: bool) -> list[Row]:
    """Consecutive rows in the board's order, with ranks."""
    keys = [None if entry.is_baseline else entry.rank_key for entry in entries]
    ranks = _ranks(keys, lambda number: (1, 1) if is_first else _count_before(entries[number]))
    return [Row(rank, entry) for rank, entry in zip(ranks, entries, strict=True)]


def _count_before(entry: Entry) -> tuple[int, int]:
    """A row's rank and place on the board."""
    rank = entry_rank(entry) or 1
    same = Entry.objects.filter(
        leaderboard=entry.leaderboard_id, is_baseline=False, rank_value=entry.rank_value, tie_key=entry.tie_key
    )
    return rank, rank + same.filter(_beyond(entry, "lt", ("achieved_at", "id"))).count()


def _ranks(keys: Sequence[object], first: Callable[[int], tuple[int, int]]) -> Iterator[int | None]:
    """Ranks of consecutive rows: equal keys share one, a row without a key has none.

    Rank and place of the first one, whose number `first` is told, are counted; the others follow.
    """
    rank, place, before = 0, 0, None
    for number, key in enumerate(keys):
        if key is None:
            yield None
            continue
        if before is None:
            rank, place = first(number)
        elif key != before:
            rank = place
        before = key
        place += 1
        yield rank


def _beyond(row: Entry | Cell, side: Literal["lt", "gt"], names: Sequence[str]) -> Q:
    """The rows before (`lt`) or behind (`gt`) this one in the order of these fields."""
    first, *further = names
    value = getattr(row, first)
    beyond = Q(**{f"{first}__{side}": value})
    return beyond | Q(**{first: value}) & _beyond(row, side, further) if further else beyond


def _entries_beyond(entry: Entry, side: Literal["lt", "gt"]) -> Q:
    names = Entry.IN_ORDER if entry.tie_key else ("rank_value", "achieved_at", "id")
    # The first field is said once more, for the index to begin there.
    return Q(**{f"rank_value__{side}e": entry.rank_value}) & _beyond(entry, side, names)


def team_entry(board: Leaderboard, team_id: int) -> Entry | None:
    """A team's row, its best one where it has several, with its team and the score that counts."""
    rows = Entry.objects.filter(leaderboard=board, team=team_id).select_related("team", "score", "uncertainty")
    return rows.order_by(*Entry.IN_ORDER).first()


@dataclass(frozen=True)
class SearchResult:
    """A row that was searched for, with the member by whose user name its team was found, if it was."""

    entry: Entry
    member: str = ""


def searches_inside(text: str) -> bool:
    """True for a text that is looked for inside names: an index of trigrams finds three letters."""
    return THREE_LETTERS.search(text) is not None


def search(board: Leaderboard, text: str) -> list[SearchResult]:
    """The first few rows of teams with the text in their name, or in a member's, in any case, by index.

    Names that begin with it come first. Of teams without a row, so many are passed over that a word of all teams costs no more
    than a rare one.
    """
    results = _found(board, [], _teams_named(board, searched_name__startswith=Lower(Value(text))))
    if searches_inside(text):
        results = _found(board, results, _teams_named(board, searched_name__contains=Lower(Value(text))))
        members = _members_named(board, text)
        its_member = members.filter(team=OuterRef("team")).values("user__username")[:1]
        results = _found(board, results, members.values_list("team")[:SEARCH_CANDIDATES], Subquery(its_member))
    return results


def _found(
    board: Leaderboard,
    results: Sequence[SearchResult],
    teams: "QuerySet[Any, Any]",
    member: Value | Subquery = NO_MEMBER,
) -> list[SearchResult]:
    """The results, and after them other rows of these teams, as many as there is room for."""
    if (room := SEARCH_RESULTS - len(results)) <= 0:
        return list(results)
    rows: QuerySet[Any] = Entry.objects.filter(leaderboard=board, team__in=teams).select_related("team")
    others = rows.exclude(pk__in=[result.entry.pk for result in results]).annotate(member=member)
    ordered = others.order_by("team__searched_name", *Entry.IN_ORDER)[:room]
    return [*results, *(SearchResult(row, row.member) for row in ordered)]


def _teams_named(board: Leaderboard, **lookup: object) -> "QuerySet[Team, int]":
    """Some teams of the competition that are called so; in no order, as sorting all takes long."""
    teams = Team.objects.filter(competition=board.phase.competition_id, merged_into=None, **lookup)
    return teams.order_by().values_list("pk", flat=True)[:SEARCH_CANDIDATES]


def _members_named(board: Leaderboard, text: str) -> QuerySet[Membership]:
    """The members with the text in their user name, which boards show; found as their index has it."""
    rows = Membership.objects.filter(competition=board.phase.competition_id, user__username__iregex=re.escape(text))
    return rows.order_by()


def first_entry(board: Leaderboard) -> Entry | None:
    """The first ranked row, by index."""
    ranked = Entry.objects.filter(leaderboard=board, is_baseline=False).select_related("team")
    return ranked.order_by("rank_value", "tie_key").first()


def baseline_entries(board: Leaderboard) -> list[Entry]:
    """The best baselines of the board, by index."""
    baselines = Entry.objects.filter(leaderboard=board, is_baseline=True).select_related("team")
    return list(baselines.order_by("rank_value")[:BASELINES_SHOWN])


def all_rows(board: Leaderboard) -> list[Row]:
    """Every row in order: for exports."""
    return ranked_rows(_ordered(board))


def ranked_rows(ordered: QuerySet[Entry]) -> list[Row]:
    """All rows of a board, read in its order, with their ranks."""
    return _ranked(list(ordered.iterator(chunk_size=5000)), is_first=True)


def best_over_time(board: Leaderboard) -> QuerySet[Milestone]:
    """The board's best score over time, as everybody may see it.

    Empty where teams choose what stands: the best may not have been chosen.
    """
    return Milestone.objects.none() if board.rule in PICKED else best_of_all_over_time(board)


def best_of_all_over_time(board: Leaderboard) -> QuerySet[Milestone]:
    """The same of all scores, chosen or not: for organizers."""
    return board.milestones.select_related("score", "score__team").order_by("received_at", "pk")


def team_over_time(board: Leaderboard, team: Team) -> list[Score]:
    """A team's scores, oldest first, the newest `LONGEST_LINE` of them."""
    newest = Score.objects.filter(leaderboard=board, team=team, is_eligible=True).order_by("-received_at")[
        :LONGEST_LINE
    ]
    return list(reversed(newest))
