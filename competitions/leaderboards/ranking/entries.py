"""The rows of a team on a board: what each keeps to be ranked, sorted and drawn by."""

import math
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import Rank

from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.disclosure.scores import scores_are_public
from competitions.leaderboards.models import Cell, Entry, EntryUncertainty, Score, ScoreOutcome
from competitions.leaderboards.ranking.fact_columns import FactColumn
from competitions.leaderboards.ranking.rules import PICKED, counting_scores, eligible_scores
from competitions.leaderboards.ranking.values import deciding_column, further_columns, primary_column, task_key
from competitions.submissions.models import Dataset, Submission
from competitions.teams.models import Team

MAX_COLUMNS: Final = 40  # an index takes rows of some 2,700 bytes
DIGITS: Final = 16
BEHIND_ALL: Final = "f" * DIGITS
MISSING: Final = sys.float_info.max  # sorts behind every value; infinity has no place in a cursor's JSON
LARGEST: Final = math.nextafter(MISSING, 0)
NEWEST: Final = 200  # scores that a trend looks at, so that a result costs the same however many came before
MOST: Final = 20  # improvements that a trend keeps

Order = Callable[[float], float]
Trend = list[tuple[float, float]]  # seconds since 1970, the deciding column's value


def entries_write(board: Leaderboard, team: Team, columns: list[Column], facts: Sequence[FactColumn]) -> int:
    """Make the team's rows those of the scores that count; returns how many more rows it has now.

    A row whose score no longer counts becomes that of one that does. `facts`: the columns of answers.
    """
    counting = counting_scores(board, team, columns)
    rows = {row.score_id: row for row in Entry.objects.filter(leaderboard=board, team=team)}
    more = len(counting) - len(rows)
    current_rows = {score.pk: rows.pop(score.pk) for score in counting if score.pk in rows}
    free = list(rows.values())
    numbers, tasks = [fact.key for fact in facts if fact.is_sortable], dataset_tasks(board.phase)
    known = eligible_scores(board).filter(team=team).aggregate(count=Count("pk"), newest=Max("received_at"))
    trend = _trend(board, team, columns) if counting else []
    for score in counting:
        entry = current_rows.get(score.pk) or (free.pop() if free else Entry(leaderboard=board, team=team))
        if entry.pk and entry.score_id != score.pk:  # of the score before
            EntryUncertainty.objects.filter(entry=entry).delete()
        entry.score, entry.values, entry.rank_value = score, score.values, score.rank_value
        entry.tie_key, entry.trend = _tie_key(board, columns, score), trend
        entry.is_baseline, entry.submissions = team.is_baseline, known["count"]
        entry.achieved_at, entry.last_at = score.received_at, known["newest"]
        entry.save()
        cells_write(entry, columns, numbers, tasks=tasks)
    Entry.objects.filter(pk__in=[row.pk for row in free]).delete()
    return more


def _trend(board: Leaderboard, team: Team, columns: list[Column]) -> Trend:
    """A team's improvements, oldest first, for small charts.

    Empty where its own scores do not decide its rank, or teams choose what stands.
    """
    deciding = deciding_column(columns)
    if deciding is None or deciding != primary_column(columns) or board.rule in PICKED:
        return []
    newest = eligible_scores(board).filter(team=team).order_by("-received_at", "-pk")[:NEWEST]
    return _improvements(list(reversed(newest)), deciding.key)[-MOST:]


def _improvements(scores: list[Score], key: str) -> Trend:
    best, trend = float("inf"), []
    for score in scores:
        if score.rank_value < best:
            best = score.rank_value
            trend.append((score.received_at.timestamp(), float(score.values[key])))
    return trend


def _tie_key(board: Leaderboard, columns: Sequence[Column], score: Score) -> str:
    """A text that orders equal rows by `further_columns`, then by time of submission.

    Empty where the board lets equal rows share a rank.
    """
    if not board.breaks_ties:
        return ""
    values = [_part(column, score) for column in further_columns(columns)[:MAX_COLUMNS]]
    return "".join([*values, ordered_hex(score.received_at.timestamp()), f"{score.submission_id:0{DIGITS}x}"])


def _part(column: Column, score: Score) -> str:
    return ordered_hex(column.rank_value(score.values[column.key])) if column.key in score.values else BEHIND_ALL


def ordered_hex(number: float) -> str:
    """Sixteen hexadecimal digits that sort as numbers do.

    >>> sorted([3.5, -1.0, 0.0, -2.5], key=ordered_hex)
    [-2.5, -1.0, 0.0, 3.5]
    """
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))  # -0.0 becomes 0.0
    return f"{bits ^ (0xFFFFFFFFFFFFFFFF if bits >> 63 else 1 << 63):0{DIGITS}x}"


def cells_write(entry: Entry, columns: list[Column], facts: Sequence[str] = (), *, tasks: Sequence[int] = ()) -> None:
    """Keep the entry's sort values. A board of one column and one task needs none.

    `facts`: keys of numbers that stand on it; `tasks`: those of submitted datasets.
    """
    primary = primary_column(columns)
    orders = _orders(entry, columns, facts, tasks)
    if primary is not None:
        orders.pop(primary.key, None)  # rows are in its order
    if not orders:
        return
    Cell.objects.filter(entry=entry).delete()
    Cell.objects.bulk_create(sort_cell(entry, key, order) for key, order in orders.items())


def dataset_tasks(phase: Phase) -> list[int]:
    """Tasks of all datasets that ever joined: one that comes back is sorted by at once."""
    if not phase.grows:
        return []
    return list(Dataset.objects.filter(submission__phase=phase).values_list("task", flat=True))


def _orders(entry: Entry, columns: list[Column], facts: Sequence[str], tasks: Sequence[int]) -> dict[str, Order]:
    """A row's sort keys with their values: `key`, `key@task` or a number of the fact sheet.

    `tasks`: those of submitted datasets, on which the row may have no value yet.
    """
    keys: dict[str, Order] = {column.key: column.rank_value for column in columns}
    for column in columns:
        prefix = task_key(column.key, 0)[:-1]
        keys |= {key: column.rank_value for key in entry.values if key.startswith(prefix)}
        if column.kind == Column.Kind.SCORE:
            keys |= {task_key(column.key, task): column.rank_value for task in tasks}
    return keys | dict.fromkeys(facts, float)


def sort_cell(entry: Entry, key: str, order: Order) -> Cell:
    return Cell(
        entry=entry,
        leaderboard_id=entry.leaderboard_id,
        key=key,
        is_baseline=entry.is_baseline,
        sort_value=min(order(entry.values[key]), LARGEST) if key in entry.values else MISSING,
    )


def entry_rank(entry: Entry) -> int | None:
    """One more than the number of better rows; equal rows share a rank. None for a baseline."""
    if entry.is_baseline:
        return None
    ranked = Entry.objects.filter(leaderboard=entry.leaderboard_id, is_baseline=False)
    better = ranked.filter(rank_value__lt=entry.rank_value).count()
    if entry.tie_key:  # counted apart: each is a range of the index
        better += ranked.filter(rank_value=entry.rank_value, tie_key__lt=entry.tie_key).count()
    return better + 1


def ranked_entries(board: Leaderboard) -> QuerySet[Any]:
    """The ranked rows of a board in order, each with its `rank`."""
    order = "rank_value", "tie_key"
    ranked = Entry.objects.filter(leaderboard=board, is_baseline=False).order_by(*order)
    return ranked.annotate(rank=Window(Rank(), order_by=[F(name).asc() for name in order]))


def team_ranks(board: Leaderboard) -> dict[int, int]:
    """Each team's best rank."""
    ranks: dict[int, int] = {}
    for team, rank in ranked_entries(board).values_list("team", "rank"):
        ranks.setdefault(team, rank)
    return ranks


def outcomes_record(boards: Sequence[Leaderboard], submission: Submission) -> None:
    """Record what a submission's new scores reached on its boards, which are locked and up to date."""
    is_public = {board.pk: board for board in boards if not board.is_hidden and scores_are_public(board)}
    scores = Score.objects.filter(submission=submission, leaderboard__in=is_public, is_eligible=True, outcome=None)
    if submission.team.is_baseline:
        return
    for score in scores.select_related("entry"):
        board = is_public[score.leaderboard_id]
        if (deciding := deciding_column(list(board.columns.all()))) is None:
            continue
        others = eligible_scores(board).filter(team=submission.team).exclude(pk=score.pk)
        before = others.order_by("rank_value", "received_at").first()
        entry = getattr(score, "entry", None)
        ScoreOutcome.objects.create(
            score=score,
            rank_value=score.rank_value,
            rank=entry_rank(entry) if entry else None,
            best_before=before.values.get(deciding.key) if before else None,
        )
