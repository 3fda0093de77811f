"""Scores and ranks of finished submissions on open boards, for the inbox and mails.

Whoever reads of it is told what every visitor may see now: nothing of a board that was sealed or hidden since, and no rank
of a score that has changed.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.catalog.models import Column, Leaderboard
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import visible_columns
from competitions.leaderboards.models import Score
from competitions.leaderboards.ranking.values import deciding_column
from competitions.leaderboards.reading.results import load_boards
from competitions.notifications.models import Notification
from competitions.submissions.models import Submission
from competitions.submissions.notices import finished_submission


def results_told(rows: Sequence[Notification], user: User, now: datetime) -> Mapping[int, str]:
    """Scores and ranks on boards open to everybody, for notifications of finished submissions."""
    numbers = {row.pk: number for row in rows if (number := finished_submission(row.event)) is not None}
    if not numbers:
        return {}
    own = Submission.objects.filter(pk__in=numbers.values(), team__memberships__user=user, is_verification=False)
    submissions = {row.pk: row for row in own.select_related("phase__competition")}
    load_boards([row.phase for row in submissions.values()])
    scores = Score.objects.filter(submission__in=list(submissions)).select_related("outcome")
    by_submission: dict[int, dict[int, Score]] = {number: {} for number in submissions}
    for score in scores:
        by_submission[score.submission_id][score.leaderboard_id] = score
    visitor = Reader(AnonymousUser(), now, known_rights={})  # whoever has more rights reads the page
    texts = {number: _results(submission, by_submission[number], visitor) for number, submission in submissions.items()}
    return {pk: texts[number] for pk, number in numbers.items() if texts.get(number)}


def _results(submission: Submission, scores: Mapping[int, Score], visitor: Reader) -> str:
    boards = submission.phase.leaderboards.all()
    lines = []
    for board in boards:
        deciding = deciding_column(list(board.columns.all()))
        score = scores.get(board.pk)
        if score is None or deciding is None or deciding.key not in score.values:
            continue
        if deciding in visible_columns(visitor, board):
            lines.append(_result(board, deciding, score))
    return "\n".join(lines)


def _result(board: Leaderboard, column: Column, score: Score) -> str:
    """One board's line, such as “Leaderboard: MAE 0.1234, the best of your team so far; rank 3”."""
    line = f"{board.title}: {column.title} {column.shown_in(score.values)}"
    outcome = getattr(score, "outcome", None)
    if outcome is None or not score.is_eligible or outcome.rank_value != score.rank_value:  # it has changed since
        return f"{line}."
    value, before = score.values[column.key], outcome.best_before
    if before is None:
        line += ", the first score of your team"
    elif column.rank_value(value) < column.rank_value(before):
        line += f", the best of your team so far ({column.difference(value, before)})"
    else:
        line += f" ({column.difference(value, before)} to the best of your team)"
    return f"{line}; rank {outcome.rank}." if outcome.rank else f"{line}."
