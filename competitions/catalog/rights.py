"""What a person may do in a competition: plain functions, so that there are no permission rows to drift."""

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.catalog.models import Competition, Phase


def organizes(user: User | AnonymousUser, phase: Phase) -> bool:
    """An organizer of the phase's competition, or an administrator."""
    return Competition.objects.managed_by(user).filter(pk=phase.competition_id).exists()
