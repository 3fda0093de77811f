"""Announcements: written now or for later, told once to whoever listens, and withdrawn."""

from datetime import datetime
from functools import partial

from django.db import transaction
from django.dispatch import Signal

from competitions.catalog.models import Announcement
from core.reconciler import run_guarded

# Sent with `announcement`, each time that it is published, inside the transaction that records it: readers see it from now on.
announcement_published = Signal()

# Sent with `announcement`, as it was told of, inside the transaction that takes it back.
announcement_withdrawn = Signal()


@transaction.atomic
def announcement_save(*, announcement: Announcement, now: datetime) -> Announcement:
    """Store an announcement; a withdrawn one is shown again. If it is due, send the signal at once."""
    announcement.withdrawn_at = None
    announcement.save()
    _announce(announcement.pk, now=now)
    return announcement


@transaction.atomic
def announcement_withdraw(*, announcement: Announcement, now: datetime) -> bool:
    """Take it off the page, or keep a planned one from it. False when it was withdrawn already.

    When it is published again, it is told of again: what was told of it is taken back.
    """
    shown = Announcement.objects.select_for_update().filter(pk=announcement.pk, withdrawn_at=None).first()
    if shown is None:
        return False
    announcement_withdrawn.send(sender=Announcement, announcement=shown)
    shown.withdrawn_at, shown.announced_at = now, None
    shown.save(update_fields=["withdrawn_at", "announced_at"])
    return True


def announce_due(*, now: datetime) -> int:
    """For the reconciler: tell of those whose time has come. Returns how many."""
    due = Announcement.objects.published(now).filter(announced_at=None).values_list("pk", flat=True)
    return sum(run_guarded("announcements_published", partial(_announce, pk), now=now) for pk in list(due))


@transaction.atomic
def _announce(pk: int, *, now: datetime) -> bool:
    """Tell of it, if it is shown and nobody has told; the row's update makes sure of that."""
    untold = Announcement.objects.published(now).filter(pk=pk, announced_at=None)
    if not untold.update(announced_at=now):
        return False
    announcement = Announcement.objects.select_related("competition").get(pk=pk)
    announcement_published.send(sender=Announcement, announcement=announcement)
    return True
