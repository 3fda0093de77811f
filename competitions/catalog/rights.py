"""What a person may do in a competition: plain functions, so that there are no permission rows to drift."""

from datetime import UTC, datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import F

from accounts.models import User
from competitions.catalog.models import Competition, CompetitionOrganizer, Phase, SealedUse


def organizes(user: User | AnonymousUser, phase: Phase) -> bool:
    """An organizer of the phase's competition, or an administrator."""
    return Competition.objects.managed_by(user).filter(pk=phase.competition_id).exists()


def sealed_right_used(user: User | AnonymousUser, phase: Phase, now: datetime) -> None:
    """Put on record that sealed scores of the phase were shown to this person."""
    use, created = SealedUse.objects.get_or_create(
        phase=phase, user_id=user.pk or 0, day=now.astimezone(UTC).date(), defaults={"first_at": now, "last_at": now}
    )
    if not created:
        SealedUse.objects.filter(pk=use.pk).update(uses=F("uses") + 1, last_at=now)


def has_sealed_right(user: User | AnonymousUser, phase: Phase) -> bool:
    """An organizer of the competition who was given the right to see sealed scores."""
    rights = CompetitionOrganizer.objects.filter(competition=phase.competition_id, can_see_sealed=True)
    return user.is_authenticated and rights.filter(user=user).exists()
