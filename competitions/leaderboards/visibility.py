"""Who may see scores: the one rule that every page, API, export, plot and log asks."""

from typing import TYPE_CHECKING

from django.contrib.auth.models import AnonymousUser

from competitions.catalog.models import CompetitionOrganizer, Phase

if TYPE_CHECKING:
    from accounts.models import User


def can_see_scores(user: "User | AnonymousUser", phase: Phase) -> bool:
    """True when scores of this phase, and any order that follows from them, may be shown to this person.

    Public and revealed phases: everybody who sees the competition. Sealed ones: organizers with the right
    "see sealed scores" and nobody else, administrators included (they can give themselves the right, which is on record).
    """
    if not phase.is_sealed:
        return True
    if not user.is_authenticated:
        return False
    return CompetitionOrganizer.objects.filter(
        competition=phase.competition_id, user=user, can_see_sealed=True
    ).exists()


def can_see_scoring_log(user: "User | AnonymousUser", phase: Phase, *, organizes: bool) -> bool:
    """The scoring program's log and output are the organizers': they may hold labels. Sealed, they may hold scores."""
    return organizes and can_see_scores(user, phase)
