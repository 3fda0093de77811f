"""Submissions' scores on boards, what a reader may know of them, and the boards of what is over."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import OuterRef, Prefetch, Subquery, prefetch_related_objects

from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.disclosure.readers import Reader, reader_for
from competitions.disclosure.scores import (
    may_know_board,
    may_see_board,
    may_see_single_tasks,
    may_see_that_it_counts,
    visible_columns,
)
from competitions.leaderboards.models import Entry, Pick, Score
from competitions.leaderboards.ranking.rules import PICKED, REMOVABLE, Rule
from competitions.leaderboards.ranking.values import deciding_column, primary_column
from competitions.leaderboards.reading.board import first_entry
from competitions.submissions.models import Submission
from competitions.submissions.states import LIVE


@dataclass(frozen=True)
class BoardScore:
    """A submission's score on a board; `entry_id` is its row, None where it does not count.

    `best` are the values of its team's best submission there, None where that is not known; `is_best`: it is this one.
    """

    values: dict[str, float]
    entry_id: int | None
    best: dict[str, float] | None = None
    is_best: bool = False


@dataclass(frozen=True)
class ScoredSubmission:
    """A submission with its scores by board, and the boards that its team chose it for."""

    submission: Submission
    boards: Sequence[Leaderboard]
    scores: Mapping[int, BoardScore]
    picked: frozenset[int]


def load_boards(phases: Sequence[Phase], *, columns: bool = True) -> None:
    """Read what has not been read of the boards of these phases, and their columns: two queries at most.

    There is one more where scores were under seal.
    """
    prefetch_related_objects(list(phases), "leaderboards", *(["leaderboards__columns"] if columns else []))
    with_records = [phase for phase in phases if any(board.has_sealed_keys for board in phase.leaderboards.all())]
    prefetch_related_objects(with_records, "sealed_keys")


def load_bare_boards(phases: Sequence[Phase]) -> None:
    """Read of the boards of these phases what names them, their versions and who sees them: one query."""
    names = "phase", "index", "key", "version", "visibility", "is_hidden", "has_sealed_keys"
    prefetch_related_objects(list(phases), Prefetch("leaderboards", Leaderboard.objects.only(*names)))


def with_scores(submissions: Sequence[Submission]) -> list[ScoredSubmission]:
    """Submissions with their scores, in at most two queries; the boards of their phases must be loaded."""
    scores: dict[int, dict[int, BoardScore]] = defaultdict(dict)
    rows = Score.objects.filter(submission__in=[submission.pk for submission in submissions])
    best = Score.objects.filter(leaderboard=OuterRef("leaderboard"), team=OuterRef("team"), is_eligible=True).order_by(
        "rank_value", "received_at"
    )
    names = "submission_id", "leaderboard_id", "values", "entry__pk", "best_values", "best_submission"
    known = rows.annotate(
        best_values=Subquery(best.values("values")[:1]), best_submission=Subquery(best.values("submission")[:1])
    )
    for submission_id, board, values, entry, best_values, best_submission in known.values_list(*names):
        scores[submission_id][board] = BoardScore(values, entry, best_values, best_submission == submission_id)
    picked = _picked(submissions)
    return [
        ScoredSubmission(
            submission,
            list(submission.phase.leaderboards.all()),
            scores[submission.pk],
            frozenset(picked[submission.pk]),
        )
        for submission in submissions
    ]


def _picked(submissions: Sequence[Submission]) -> dict[int, set[int]]:
    """The boards that each submission was chosen for; a query only where a board lets teams choose."""
    picked: dict[int, set[int]] = defaultdict(set)
    choosable = [
        submission.pk
        for submission in submissions
        if any(board.rule in PICKED for board in submission.phase.leaderboards.all())
    ]
    if choosable:
        for submission_id, board_id in Pick.objects.filter(submission__in=choosable).values_list(
            "submission", "leaderboard"
        ):
            picked[submission_id].add(board_id)
    return picked


@dataclass(frozen=True)
class Choice:
    """A board on which the team chooses what counts."""

    board: Leaderboard
    is_picked: bool

    @property
    def is_selection(self) -> bool:
        return self.board.rule == Rule.SELECTED

    @property
    def is_removable(self) -> bool:
        return self.board.rule in REMOVABLE


@dataclass
class BoardResults:
    """Values that the reader may see, by board; `withholds_scores` says that there are others.

    `to_best`: signed distance to the team's best score, by key of the board's deciding column. `counting`: the boards
    it counts on now, of `boards`, which are those of its phase that the reader may know.
    """

    boards: Sequence[Leaderboard]
    values: list[tuple[Column, str]] = field(default_factory=list)
    exact: dict[str, tuple[Column, float]] = field(default_factory=dict)
    to_best: dict[str, str] = field(default_factory=dict)
    withholds_scores: bool = False
    counting: list[Leaderboard] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)


def submission_columns(reader: Reader, submission: Submission, board: Leaderboard | None) -> list[Column]:
    """The columns in which this reader may see the submission's own scores."""
    columns = visible_columns(reader, board)
    if board is None or not submission.is_task_rerun or may_see_single_tasks(reader, board):
        return columns
    phase, kind = submission.phase, submission.kind
    tasks = reader.once(("tasks", phase.pk, kind), lambda: {task.pk for task in phase.tasks_for(kind)})
    ran = {run.task_id for run in submission.runs.all() if not (run.fills_board or run.is_smoke)}
    return columns if ran == tasks else []


def known_results(scored: ScoredSubmission, reader: Reader) -> BoardResults:
    """A submission's results, as far as this reader may know them.

    Of a hidden board, whoever does not see it is told nothing, not even that there is more.
    """
    results = BoardResults([board for board in scored.boards if not board.is_hidden or may_see_board(reader, board)])
    for board in results.boards:
        if board.rule in PICKED and scored.submission.may_rank:
            results.choices.append(Choice(board, board.pk in scored.picked))
        score = scored.scores.get(board.pk)
        if score is None:
            continue
        deciding = deciding_column(list(board.columns.all()))
        for column in submission_columns(reader, scored.submission, board):
            if column.key in score.values:
                results.values.append((column, column.shown_in(score.values) or ""))
                results.exact[column.key] = column, score.values[column.key]
                if column == deciding and score.best is not None and not score.is_best and column.key in score.best:
                    results.to_best[column.key] = column.difference(score.values[column.key], score.best[column.key])
        results.withholds_scores |= not may_see_board(reader, board)
        if score.entry_id is not None and may_see_that_it_counts(reader, board):
            results.counting.append(board)
    return results


@dataclass(frozen=True)
class ScorePosition:
    """Differences with their sign, written as the board writes scores; empty with nothing to compare."""

    column: Column
    value: str
    place: int | None  # None where it takes no rank: late, or a baseline's
    counts: bool  # this score is the row; else `place` is where it would stand
    to_own_best: str
    is_own_best: bool
    to_leader: str


def score_position(submission: Submission, reader: Reader) -> ScorePosition | None:
    """The position on the first board whose deciding column this reader sees; a few counts on indexes."""
    scores = {score.leaderboard_id: score for score in submission.scores.select_related("entry", "team")}
    for board in submission.phase.leaderboards.all():
        primary = primary_column(list(board.columns.all()))
        score = scores.get(board.pk)
        is_seen = primary in submission_columns(reader, submission, board)
        if (
            score is not None
            and primary is not None
            and is_seen
            and not primary.is_relative
            and primary.key in score.values
        ):
            return _position(board, primary, score)
    return None


def _position(board: Leaderboard, column: Column, score: Score) -> ScorePosition:
    others = Score.objects.filter(leaderboard=board, team=score.team_id, is_eligible=True).exclude(pk=score.pk)
    best_other, leader = others.order_by("rank_value").first(), first_entry(board)
    is_first = leader is not None and leader.score_id == score.pk
    return ScorePosition(
        column=column,
        value=column.shown(score.values[column.key]),
        place=_place(board, score),
        counts=hasattr(score, "entry"),
        to_own_best=_difference(column, score, best_other),
        is_own_best=best_other is not None and score.rank_value < best_other.rank_value,
        to_leader="" if is_first or leader is None else _difference(column, score, leader),
    )


def _place(board: Leaderboard, score: Score) -> int | None:
    """One more than the number of other teams' better rows."""
    if score.team.is_baseline or not score.is_eligible:
        return None
    rows = Entry.objects.filter(leaderboard=board, is_baseline=False, rank_value__lt=score.rank_value)
    own = rows.filter(team=score.team_id).count()
    return rows.count() - own + 1


def _difference(column: Column, score: Score, other: Score | Entry | None) -> str:
    if other is None or column.key not in other.values:
        return ""
    return column.difference(score.values[column.key], other.values[column.key])


def final_boards(phases: Sequence[Phase], now: datetime) -> list[Leaderboard]:
    """The boards with rows of a competition that is over, in their order.

    None as long as anything is open, sealed or unscored. `phases`: all of one competition, with their boards, as
    `load_boards` reads them. One query, once all are closed.
    """
    if not phases or not all(phase.is_settled(now) for phase in phases):
        return []
    visitor = reader_for(AnonymousUser(), now)
    known = [board for phase in phases for board in phase.leaderboards.all() if may_know_board(visitor, board)]
    if not all(may_see_board(visitor, board) for board in known):
        return []
    if Submission.objects.filter(phase__in=phases, status__in=LIVE).exists():
        return []
    return [board for board in known if board.entry_count]
