"""Who may see scores: the one rule that every page, API, export, plot and log asks."""

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser

from competitions.catalog.models import Phase
from competitions.catalog.rights import has_sealed_right
from competitions.refusals import NotAllowed

if TYPE_CHECKING:
    from accounts.models import User


class Sealed(NotAllowed):
    code = "sealed"

    def __init__(self, phase: Phase) -> None:
        super().__init__(f"The scores of “{phase.name}” are sealed until the organizers reveal them.")


def scores_visible(phase: Phase, *, sealed_right: bool) -> bool:
    """The rule itself. Public and revealed phases: everybody who sees the competition. Sealed ones: those with the
    right "see sealed scores" and nobody else, administrators included (they can give themselves the right, on record).
    """
    return sealed_right or not phase.is_sealed


def can_see_scores(user: "User | AnonymousUser", phase: Phase) -> bool:
    """True when scores of this phase, and any order that follows from them, may be shown to this person."""
    return scores_visible(phase, sealed_right=phase.is_sealed and has_sealed_right(user, phase))
