"""Keeping a board true: every settled submission updates its team's row, under the board's lock."""

import math
from statistics import fmean
from typing import Any

from django.db import transaction
from django.db.models import F

from competitions.leaderboards.models import Column, Entry, Leaderboard, Milestone, Score
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.teams.models import Team


def board_follow(sender: type[Submission], submission: Submission, **kwargs: Any) -> None:
    """Receiver of `submission_settled`; runs inside the transaction that moved the run."""
    board = Leaderboard.objects.filter(phase=submission.phase_id).first()
    if board is not None:
        score_record(board=board, submission=submission)


@transaction.atomic
def boards_follow_team(sender: type[Team], team: Team, **kwargs: Any) -> None:
    """Receiver of `team_changed`: the boards with the team show its name and mark, and rank it, or no longer."""
    boards = Leaderboard.objects.filter(pk__in=Entry.objects.filter(team=team).values("leaderboard"))
    for board in boards.select_for_update().order_by("pk"):
        if Entry.objects.filter(leaderboard=board, team=team).exclude(is_baseline=team.is_baseline).exists():
            milestones_rebuild(board)
        entry_refresh(board, team)


@transaction.atomic
def score_record(*, board: Leaderboard, submission: Submission) -> None:
    """Write, change or remove the submission's score, and bring its team's row up to date."""
    locked = Leaderboard.objects.select_for_update().get(pk=board.pk)  # updates of one board take turns
    columns = list(locked.columns.all())
    values = column_values(submission, columns)
    primary = primary_column(columns)
    before = Score.objects.filter(submission=submission).first()
    if primary is None or primary.key not in values or submission.status != State.FINISHED:
        if before is not None:
            before.delete()
            _retract(locked, submission.team)
        return
    score, created = Score.objects.update_or_create(
        submission=submission,
        defaults={
            "leaderboard": locked,
            "team": submission.team,
            "values": values,
            "rank_value": primary.rank_value(values[primary.key]),
            "received_at": submission.received_at,
            "is_eligible": submission.disqualified_at is None,
        },
    )
    if created:
        _milestone_if_best(locked, score)
    else:
        milestones_rebuild(locked)
    entry_refresh(locked, submission.team)


def _retract(board: Leaderboard, team: Team) -> None:
    milestones_rebuild(board)
    entry_refresh(board, team)


def primary_column(columns: list[Column]) -> Column | None:
    """The column that decides the rank: the marked one, else the first."""
    return next((column for column in columns if column.is_primary), columns[0] if columns else None)


def column_values(submission: Submission, columns: list[Column]) -> dict[str, float]:
    """Finite values by column, averaged over the submission's tasks; a column that any task lacks is left out."""
    runs = [run.scores for run in submission.runs.all()]
    values = {}
    for column in columns:
        numbers = [scores.get(column.key) for scores in runs]
        if numbers and all(isinstance(number, int | float) and math.isfinite(number) for number in numbers):
            values[column.key] = fmean(float(number) for number in numbers if number is not None)
    return values


def entry_refresh(board: Leaderboard, team: Team) -> None:
    """Make the team's row show the score that counts now, or remove it. The board's lock must be held."""
    scores = Score.objects.filter(leaderboard=board, team=team, is_eligible=True)
    by_best, by_last = ("rank_value", "received_at", "pk"), ("-received_at", "-pk")
    counting = scores.order_by(*(by_best if board.rule == Leaderboard.Rule.BEST else by_last)).first()
    if counting is None:
        Entry.objects.filter(leaderboard=board, team=team).delete()
    else:
        newest = scores.order_by(*by_last).first() or counting
        Entry.objects.update_or_create(
            leaderboard=board,
            team=team,
            defaults={
                "score": counting,
                "values": counting.values,
                "rank_value": counting.rank_value,
                "is_baseline": team.is_baseline,
                "submissions": scores.count(),
                "achieved_at": counting.received_at,
                "last_at": newest.received_at,
            },
        )
    _touch(board)


def _touch(board: Leaderboard) -> None:
    """Count what the pages show and raise the version they are cached by."""
    board.entry_count = board.entries.count()
    board.score_count = board.scores.count()
    board.version = F("version") + 1
    board.save(update_fields=["entry_count", "score_count", "version", "updated_at"])
    board.refresh_from_db(fields=["version"])


def _milestone_if_best(board: Leaderboard, score: Score) -> None:
    """Note a score that beats all before it. One that was received earlier than a noted one asks for a rebuild."""
    if not score.is_eligible or score.team.is_baseline:
        return
    newest = Milestone.objects.filter(leaderboard=board).order_by("-received_at").first()
    if newest is not None and score.received_at < newest.received_at:
        milestones_rebuild(board)
    elif newest is None or score.rank_value < newest.rank_value:
        _milestone(board, score).save(force_insert=True)


def _milestone(board: Leaderboard, score: Score) -> Milestone:
    return Milestone(leaderboard=board, score=score, rank_value=score.rank_value, received_at=score.received_at)


@transaction.atomic
def milestones_rebuild(board: Leaderboard) -> None:
    """Walk the board's history again; for the rare changes of what was scored before."""
    best = math.inf
    milestones = []
    history = Score.objects.filter(leaderboard=board, is_eligible=True, team__is_baseline=False).order_by(
        "received_at", "pk"
    )
    for score in history.iterator(chunk_size=5000):
        if score.rank_value < best:
            best = score.rank_value
            milestones.append(_milestone(board, score))
    Milestone.objects.filter(leaderboard=board).delete()
    Milestone.objects.bulk_create(milestones)


@transaction.atomic
def board_rebuild(board: Leaderboard) -> None:
    """Make the whole board again from the scores of its runs, for instance after its columns changed."""
    locked = Leaderboard.objects.select_for_update().get(pk=board.pk)
    Score.objects.filter(leaderboard=locked).delete()
    for submission in (
        Submission.objects.filter(phase=locked.phase_id, status=State.FINISHED).order_by("pk").iterator(2000)
    ):
        score_record(board=locked, submission=submission)
    _touch(locked)
