"""Scores of submissions on the boards of their phases, read in as few queries for any number of rows."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery, prefetch_related_objects

from competitions.catalog.models import Leaderboard, Phase
from competitions.leaderboards.models import Pick, Score
from competitions.leaderboards.ranking.rules import PICKED
from competitions.submissions.models import Submission


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
