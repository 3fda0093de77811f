"""Scores, and all that follows from them: rows, order, ranks, what counts, detailed results."""

from collections.abc import Mapping
from typing import Final

from django.db.models import Q

from competitions.catalog.models import Column, Competition, Leaderboard, Phase
from competitions.disclosure.readers import Reader
from core.refusals import RefusalKind

Rule = Leaderboard.Rule
# Where what counts follows from times and the team's own choice, saying it tells nothing about a score.
TELLS_NO_SCORE: Final = (Rule.LAST, Rule.ALL, Rule.ADD, Rule.ADD_AND_DELETE, Rule.ADD_AND_DELETE_MULTIPLE)

SEALED: Final = RefusalKind(
    403, "sealed", "The scores of “{board.phase.name}: {board.title}” are sealed until the organizers reveal them."
)


def scores_are_public(board: Leaderboard) -> bool:
    """No seal is on the board's scores, or the reveal has lifted it."""
    return not board.is_sealed


def may_see_scores(reader: Reader, board: Leaderboard) -> bool:
    """True for public and revealed boards; for sealed ones with the right to see sealed scores."""
    is_public = reader.once(("scores_are_public", board.pk), lambda: scores_are_public(board))
    return is_public or reader.uses_sealed_right(board.phase)


def may_know_board(reader: Reader, board: Leaderboard) -> bool:
    """A hidden board is for organizers; that any other exists is for everybody."""
    return not board.is_hidden or reader.organizes(board.phase)


def may_see_board(reader: Reader, board: Leaderboard | None) -> bool:
    """True if the reader may see the rows, order, plot and export of the board; False for no board."""
    return board is not None and may_know_board(reader, board) and may_see_scores(reader, board)


def may_see_that_it_counts(reader: Reader, board: Leaderboard) -> bool:
    """That a submission counts on the board: with its scores, or where its rule tells none."""
    return may_see_board(reader, board) or (may_know_board(reader, board) and board.rule in TELLS_NO_SCORE)


def gives_exact_scores(board: Leaderboard) -> bool:
    """True if organizers allow unrounded scores of own submissions; never of a sealed or hidden board.

    Exact scores help to guess labels.
    """
    return board.gives_exact_scores and not board.is_hidden and scores_are_public(board)


def may_see_manifest(reader: Reader, board: Leaderboard) -> bool:
    """True after the reveal for those who see the board; before, for nobody: its salt reveals scores."""
    return scores_are_public(board) and may_see_board(reader, board)


def visible_columns(reader: Reader, board: Leaderboard | None) -> list[Column]:
    """The columns whose values this reader may see; none of a board that they may not see."""
    return board.visible_columns if board is not None and may_see_board(reader, board) else []


def may_see_single_tasks(reader: Reader, board: Leaderboard) -> bool:
    """True where the board shows the scores of each task, and for organizers."""
    return board.shows_each_task or reader.organizes(board.phase)


def hidden_keys(phase: Phase) -> set[str]:
    """Keys of columns that no generally known board shows: only organizers may know their names."""
    boards = list(phase.leaderboards.all())
    known = {column.key for board in boards if not board.is_hidden for column in board.visible_columns}
    return {column.key for board in boards for column in board.columns.all()} - known


def smoke_scores(reader: Reader, phase: Phase, scores: Mapping[str, float]) -> dict[str, float]:
    """The scores of a smoke run: without those of hidden columns, for all but organizers."""
    hidden = set() if reader.organizes(phase) else hidden_keys(phase)
    return {key: value for key, value in scores.items() if key not in hidden}


def details_are_public(board: Leaderboard) -> bool:
    """True where all who see the board may see the detailed results of what counts on it.

    They may quote every score of their phase, so they wait for the last sealed or hidden board of it.
    """
    phase, competition = board.phase, board.phase.competition
    is_asked_for = competition.enable_detailed_results and competition.show_detailed_results_in_leaderboard
    is_open = not phase.hide_score_output and not phase.holds_sealed_scores
    return is_asked_for and is_open and not any(other.is_hidden for other in phase.leaderboards.all())


def boards_to_announce(phase: Phase) -> list[Leaderboard]:
    """Boards that the reveal made public: teams with scores there are told."""
    return [board for board in phase.leaderboards.all() if board.was_revealed and not board.is_hidden]


def boards_with_open_rows(phase: Phase) -> list[Leaderboard]:
    """Boards of which teams may know what counts: what is run because it counts is seen by its team."""
    as_phase = (board for board in phase.leaderboards.all() if board.visibility == Leaderboard.Visibility.AS_PHASE)
    return [
        board
        for board in as_phase
        if board.rule in TELLS_NO_SCORE or (not board.is_hidden and scores_are_public(board))
    ]


def boards_to_carry_over(phase: Phase) -> list[Leaderboard] | None:
    """Boards whose rows may run in another phase; None if that would reveal which is best.

    A board that is or was sealed by itself would reveal what counts on it, whatever its settings are now.
    """
    as_phase = [board for board in phase.leaderboards.all() if board.visibility == Leaderboard.Visibility.AS_PHASE]
    if phase.is_sealed:
        return as_phase if all(board.rule in TELLS_NO_SCORE for board in as_phase) else None
    return [board for board in as_phase if scores_are_public(board)]


def has_announced_seal(competition: Competition) -> bool:
    """True while a phase or a board that is not hidden says to everybody that its scores are sealed."""
    boards = Leaderboard.objects.filter(
        phase__competition=competition, visibility=Leaderboard.Visibility.SEALED, is_hidden=False
    )
    announced = Q(visibility=Phase.Visibility.SEALED) | Q(pk__in=boards.values("phase"))
    return Phase.objects.filter(announced, competition=competition, revealed_at=None).exists()
