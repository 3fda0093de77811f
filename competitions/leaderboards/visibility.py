"""Who may see scores: the one rule that every page, API, export, plot and log asks."""

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.rights import has_sealed_right, organizes, sealed_right_used
from core.refusals import NotAllowed

if TYPE_CHECKING:
    from accounts.models import User


class Sealed(NotAllowed):
    code = "sealed"

    def __init__(self, what: Phase | Leaderboard) -> None:
        name = what.name if isinstance(what, Phase) else f"{what.phase.name}: {what.title}"
        super().__init__(f"The scores of “{name}” are sealed until the organizers reveal them.")


class Hidden(NotAllowed):
    def __init__(self) -> None:
        super().__init__("The organizers have hidden this leaderboard.")


def scores_visible(board: Leaderboard, *, sealed_right: bool) -> bool:
    """The rule itself. Public and revealed boards: everybody who sees the competition. Sealed ones: those with the
    right "see sealed scores" and nobody else, administrators included (they can give themselves the right, on record).
    """
    return sealed_right or not board.is_sealed


def can_see_scores(user: "User | AnonymousUser", board: Leaderboard) -> bool:
    """True when scores of this board, and any order that follows from them, may be shown to this person.

    A use of the right to see sealed ones is put on record.
    """
    if not board.is_sealed:
        return True
    has_right = has_sealed_right(user, board.phase)
    if has_right:
        sealed_right_used(user, board.phase, timezone.now())
    return scores_visible(board, sealed_right=has_right)


def can_see_board(user: "User | AnonymousUser", board: Leaderboard) -> bool:
    """True when this person may see the board: its scores, and that a submission stands on it. A hidden one is for organizers."""
    return (not board.is_hidden or organizes(user, board.phase)) and can_see_scores(user, board)


def refusal_of(board: Leaderboard) -> NotAllowed:
    """What to say to somebody who may not see this board."""
    return Sealed(board) if board.is_sealed else Hidden()


def details_are_public(board: Leaderboard) -> bool:
    """Whether whoever sees the board may see the detailed results of what counts on it; it depends on no person.

    They may quote every score of their phase, so they wait for the last sealed or hidden board of it.
    """
    phase, competition = board.phase, board.phase.competition
    wanted = competition.enable_detailed_results and competition.show_detailed_results_in_leaderboard
    is_open = not phase.hide_score_output and not phase.holds_sealed_scores
    return wanted and is_open and not any(one.is_hidden for one in phase.leaderboards.all())
