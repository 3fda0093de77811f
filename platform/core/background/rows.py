"""Claims on rows: one process at a time does a row's work, and another one takes over when it is gone."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog
from django.db import DatabaseError, connection, models
from django.db.models import F, Q, QuerySet
from django.utils import timezone

log = structlog.get_logger(__name__)
RENEWALS = 4  # of a claim within its time


class ClaimedRow(models.Model):
    """A row that one process claims at a time; a claim that is not renewed in time is over."""

    claim_id = models.UUIDField(null=True, blank=True, editable=False)
    claimed_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False, help_text="How often it was claimed.")

    class Meta:
        abstract = True


class AskedRow(ClaimedRow):
    """A row that asks for background work, in the turns of whoever asks (`turns.py`).

    A model has an index on `asker` and `id` over the rows that wait.
    """

    asker = models.CharField(max_length=40, default="", editable=False, help_text="Whose turns its work takes.")

    class Meta:
        abstract = True

    def asked_by(self) -> str:
        """The asker, as `asker_key` writes it."""
        raise NotImplementedError

    def save(self, *args: Any, **kwargs: Any) -> None:
        """As Django does, with the asker filled in."""
        self.asker = self.asker or self.asked_by()
        super().save(*args, **kwargs)


def asker_key(kind: Literal["team", "person", "competition", "site"], pk: object = "") -> str:
    """Whoever takes turns: a team, a person, the organizers of a competition, or the site itself.

    >>> asker_key("team", 7)
    'team:7'
    """
    return f"{kind}:{pk}"


def unclaimed(now: datetime) -> Q:
    """Rows that nobody works on."""
    return Q(claimed_until=None) | Q(claimed_until__lte=now)


def claim(rows: QuerySet[Any], pk: int, *, now: datetime, lease_s: float) -> uuid.UUID | None:
    """Claim the row if it is among `rows` and free; return the claim's id, or None."""
    claim_id = uuid.uuid4()
    free = rows.filter(unclaimed(now), pk=pk)
    won = free.update(claim_id=claim_id, claimed_until=now + timedelta(seconds=lease_s), attempts=F("attempts") + 1)
    return claim_id if won else None


def renew(rows: QuerySet[Any], claim_id: uuid.UUID, *, now: datetime, lease_s: float) -> bool:
    """Keep a claim. False when the row no longer asks for the work, or another process has it: then stop."""
    return bool(rows.filter(claim_id=claim_id).update(claimed_until=now + timedelta(seconds=lease_s)))


@contextmanager
def claim_kept(rows: QuerySet[Any], claim_id: uuid.UUID, *, lease_s: float) -> Iterator[None]:
    """Renew a claim from a thread beside the block, which may be long in one statement."""
    over = threading.Event()
    keeper = threading.Thread(target=_keep, args=(rows, claim_id, lease_s, over), daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()


def _keep(rows: QuerySet[Any], claim_id: uuid.UUID, lease_s: float, over: threading.Event) -> None:
    try:
        while not over.wait(lease_s / RENEWALS):
            try:
                renew(rows.all(), claim_id, now=timezone.now(), lease_s=lease_s)
            except DatabaseError as error:  # the next renewal may come through; the work itself finds out if not
                log.warning("claim_not_renewed", error=str(error))
                connection.close()
    finally:
        connection.close()
