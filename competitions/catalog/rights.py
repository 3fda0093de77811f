"""Rights of a person in a competition, as plain functions: there are no permission rows to drift."""

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from competitions.catalog.models import Competition, Phase


def organizes(user: User | AnonymousUser, phase: Phase) -> bool:
    """An organizer of the phase's competition, or an administrator."""
    return Competition.objects.managed_by(user).filter(pk=phase.competition_id).exists()


def may_host(user: User | AnonymousUser) -> bool:
    """True for organizers (staff); on an open site for everybody except service accounts."""
    if not isinstance(user, User) or not user.is_active:
        return False
    return user.is_staff or (settings.HOSTS == "everybody" and not user.is_robot)
