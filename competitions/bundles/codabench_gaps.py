"""Settings that Codabench treats differently; every export of a bundle lists them."""

from collections.abc import Iterator

from competitions.catalog.models import Column, Competition, Leaderboard, Phase
from competitions.factsheets.models import Question
from competitions.leaderboards.ranking.rules import CODABENCH_RULES

CODABENCH_QUESTIONS = (Question.Kind.TEXT, Question.Kind.SELECT, Question.Kind.CHECKBOX)


def codabench_gaps(competition: Competition) -> list[str]:
    """A sentence for each difference; empty where the exported bundle means the same there."""
    phases = list(competition.phases.prefetch_related("leaderboards__columns"))
    boards = [board for phase in phases for board in phase.leaderboards.all()]
    gaps = [*_of_questions(competition), *(gap for phase in phases for gap in _of_phase(phase))]
    return [*gaps, *(gap for board in boards for gap in _of_board(board))]


def _of_questions(competition: Competition) -> Iterator[str]:
    others = Question.objects.filter(competition=competition).exclude(phase=None, kind__in=CODABENCH_QUESTIONS)
    for question in others:
        yield f"Codabench does not ask “{question.title}” of the fact sheet: it has text, choices and yes or no, alike in all phases."


def _of_phase(phase: Phase) -> Iterator[str]:
    name = f"“{phase.name}”"
    if phase.visibility == Phase.Visibility.SEALED:
        yield f"Codabench shows the scores of {name} at once: it has no sealed phases."
    if phase.grows:
        yield f"The board of {name} does not grow by datasets on Codabench."
    if phase.max_submissions_per_week:
        yield f"Codabench has no weekly limit, so that of {name} does not hold there."
    if phase.leaderboards.count() > 1:
        yield f"Codabench shows one leaderboard; {name} has {phase.leaderboards.count()}."


def _of_board(board: Leaderboard) -> Iterator[str]:
    name = f"“{board.title}” of “{board.phase.name}”"
    if board.rule not in CODABENCH_RULES.values():
        yield (
            f"On Codabench each team's best submission counts on {name} (Force_Best): it has no rule by which {board.get_rule_display()}."
        )
    if board.visibility == Leaderboard.Visibility.SEALED:
        yield f"Codabench shows the scores of {name} at once: it has no sealed leaderboards."
    if board.freeze_at is not None:
        yield f"Codabench does not freeze {name}."
    columns = list(board.columns.all())
    if not board.breaks_ties or any(column.rank_by_shown for column in columns):
        yield f"Rows of {name} that share a rank here are told apart there, by ten decimals, the other columns and time."
    for column in columns:
        yield from _of_column(column, name)


def _of_column(column: Column, board: str) -> Iterator[str]:
    if column.is_relative:
        yield f"Codabench refuses the bundle for the column “{column.title}” on {board}: it has no average ranks."
    if column.kind == Column.Kind.METER:
        yield f"The column “{column.title}” on {board} stays empty on Codabench: it shows no measurements."
