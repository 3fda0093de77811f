"""Fetching what pages and API show of boards in few queries, the same number for any number of rows."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db.models import Exists, F, FilteredRelation, OuterRef, Q, QuerySet

from competitions.catalog.models import Phase
from competitions.leaderboards.models import Leaderboard, Pick, Score, SealedKey
from competitions.leaderboards.rules import PICKED
from competitions.submissions.models import Submission
from podium.composed import Composed, fill


def _with_columns(boards: QuerySet[Leaderboard]) -> QuerySet[Leaderboard]:
    """Boards joined with their columns: a row for each column, or one without where there is none."""
    records = SealedKey.objects.filter(phase=OuterRef("phase"))
    joined = boards.annotate(joined=FilteredRelation("columns"), has_records=Exists(records)).select_related("joined")  # type: ignore[misc]  # the annotation
    return joined.order_by("index", "pk", "joined__index", "joined__pk")


_boards_of = Composed(lambda phases: _with_columns(Leaderboard.objects.filter(phase__in=phases)))
_boards_with_phases = Composed(
    lambda phases: _with_columns(Leaderboard.objects.filter(phase__in=phases).select_related("phase"))
)


def _gathered(rows: list[Leaderboard]) -> list[Leaderboard]:
    """Each board once, with its columns, from the rows of `_with_columns`."""
    found: dict[int, Leaderboard] = {}
    columns: dict[int, list[Any]] = {}
    for row in rows:
        board = found.setdefault(row.pk, row)
        column = getattr(row, "joined", None)  # Django sets it only where there is one
        if column is not None:
            columns.setdefault(row.pk, []).append(column)
    for board in found.values():
        fill(board, "columns", columns.get(board.pk, []))
    return list(found.values())


def _attach_sealed_keys(phases: Iterable[Phase], boards: Sequence[Any]) -> None:
    """Give each phase the keys that were scored under seal; a query only where there are any."""
    sealed = {board.phase_id for board in boards if board.has_records}
    records = list(SealedKey.objects.filter(phase__in=sealed)) if sealed else []
    for phase in phases:
        fill(phase, "sealed_keys", [record for record in records if record.phase_id == phase.pk])


def attach_boards(phases: Sequence[Phase]) -> None:
    """Give each phase its boards, and these their columns; one query, and one more where scores are under seal."""
    boards = _gathered(_boards_of(phases=[phase.pk for phase in phases]))
    for phase in phases:
        mine = [board for board in boards if board.phase_id == phase.pk]
        for board in mine:
            board.phase = phase
        fill(phase, "leaderboards", mine)
    _attach_sealed_keys(phases, boards)


def phases_of(submissions: Iterable[Submission]) -> dict[int, Phase]:
    """The phases of these submissions by number, each once, with boards and columns; one query, and one more
    where scores are under seal.

    A phase without a board, which scores nothing, costs two more.
    """
    wanted = {submission.phase_id for submission in submissions}
    boards = _gathered(_boards_with_phases(phases=list(wanted)))
    phases: dict[int, Phase] = {}
    for board in boards:
        board.phase = phases.setdefault(board.phase_id, board.phase)
    for phase in phases.values():
        fill(phase, "leaderboards", [board for board in boards if board.phase_id == phase.pk])
    _attach_sealed_keys(phases.values(), boards)
    if missing := wanted - set(phases):
        bare = list(Phase.objects.filter(pk__in=missing))
        attach_boards(bare)
        phases |= {phase.pk: phase for phase in bare}
    return phases


def with_main_score(submissions: QuerySet[Submission], boards: list[int]) -> QuerySet[Submission]:
    """Submissions joined with their score on their phase's board; `boards` are those of the phases, at most one of each."""
    joined = FilteredRelation("scores", condition=Q(scores__leaderboard__in=boards))
    return submissions.annotate(main_score=joined).annotate(
        score_board=F("main_score__leaderboard_id"), score_values=F("main_score__values"),
        score_entry=F("main_score__entry__pk"),
    )  # fmt: skip


def attach_standings(submissions: Sequence[Submission], phases: dict[int, Phase], *, is_joined: bool = False) -> None:
    """Give each submission its phase with boards, its scores, and the boards its team chose it for; at most two queries.

    `is_joined`: they come from `with_main_score`, which saves one.
    """
    scores = [_joined_score(submission) for submission in submissions] if is_joined else _scores_of(submissions)
    mine: dict[int, list[BoardScore]] = {submission.pk: [] for submission in submissions}
    for score in filter(None, scores):
        mine[score.submission_id].append(score)
    boards = {pk: list(phase.leaderboards.all()) for pk, phase in phases.items()}
    for submission in submissions:
        submission.phase = phases[submission.phase_id]
        submission.boards = boards[submission.phase_id]  # type: ignore[attr-defined]  # read by `standing_of`
        submission.board_scores = mine[submission.pk]  # type: ignore[attr-defined]  # read by `standing_of`
    attach_picks(submissions, phases)


class BoardScore(NamedTuple):
    """What a submission reached on a board; `entry` is its row, None where it does not count."""

    submission_id: int
    leaderboard_id: int
    values: dict[str, float]
    entry: int | None


_scores = Composed(
    lambda submissions: Score.objects.filter(submission__in=submissions).values_list(
        "submission_id", "leaderboard_id", "values", "entry__pk"
    )
)


def _scores_of(submissions: Sequence[Submission]) -> list[BoardScore]:
    """Plain values, because a list of submissions reads nothing else of its scores and has many."""
    return [BoardScore(*row) for row in _scores(submissions=[submission.pk for submission in submissions])]


def _joined_score(submission: Any) -> BoardScore | None:
    if submission.score_board is None:
        return None
    return BoardScore(submission.pk, submission.score_board, submission.score_values, submission.score_entry)


def attach_picks(submissions: Sequence[Submission], phases: dict[int, Phase]) -> None:
    """Give each submission the boards that its team chose it for; a query only where a board lets teams choose."""
    picked: dict[int, set[int]] = {submission.pk: set() for submission in submissions}
    if any(board.rule in PICKED for phase in phases.values() for board in phase.leaderboards.all()):
        for submission_id, board_id in Pick.objects.filter(submission__in=picked).values_list(
            "submission", "leaderboard"
        ):
            picked[submission_id].add(board_id)
    for submission in submissions:
        submission.picked_boards = picked[submission.pk]  # type: ignore[attr-defined]  # read by `standing_of`


def several_boards(phases: Iterable[Phase]) -> bool:
    return any(len(phase.leaderboards.all()) > 1 for phase in phases)
