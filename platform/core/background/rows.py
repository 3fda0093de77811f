"""Claims on rows: one process at a time does a row's work, and another one takes over when it is gone."""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Literal, TypeVar

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, models
from django.db.models import F, Q, QuerySet
from django.utils import timezone

log = structlog.get_logger(__name__)
RENEWALS = 4  # of a claim within its time
Row = TypeVar("Row", bound="ClaimedRow")


class ClaimedRow(models.Model):
    """A row that one process claims at a time; a claim that is not renewed in time is over."""

    claim_id = models.UUIDField(null=True, blank=True, editable=False)
    claimed_until = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False, help_text="How often it was claimed.")

    class Meta:
        abstract = True


class AskedRow(ClaimedRow):
    """A row that asks for background work, in the turns of whoever asks (`jobs.py`).

    A model has an index on `asker` and `id` over the rows that wait.
    """

    asker = models.CharField(max_length=40, default="", editable=False, help_text="Whose turns its work takes.")

    class Meta:
        abstract = True

    def asked_by(self) -> str:
        """The asker, as `asker_key` writes it."""
        raise NotImplementedError

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save as Django does, with the asker filled in."""
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


class ClaimLost(Exception):
    """Another process has taken the row over; what this one made is undone."""


@dataclass(frozen=True)
class Claim:
    """A process's claim on one of `rows`; it holds while the row is among them and nobody else has it."""

    rows: QuerySet[Any]
    pk: int
    id: uuid.UUID
    lease_s: float

    @property
    def held(self) -> QuerySet[Any]:
        """The row, or none once the claim is lost."""
        return self.rows.filter(pk=self.pk, claim_id=self.id)

    @property
    def renew_every_s(self) -> float:
        """Seconds between two renewals."""
        return self.lease_s / RENEWALS

    def renew(self) -> bool:
        """Keep the claim. False once it is lost: then stop."""
        return bool(self.held.update(claimed_until=timezone.now() + timedelta(seconds=self.lease_s)))

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew the claim from a thread beside the block, which may be long in one statement."""
        over = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(over,), daemon=True)
        keeper.start()
        try:
            yield
        finally:
            over.set()
            keeper.join()

    def record(self, **fields: Any) -> None:
        """Write these fields of the row and go on. Raises `ClaimLost`."""
        if not self.held.update(**fields):
            raise ClaimLost

    def release(self, **fields: Any) -> bool:
        """Write these fields and end the claim. False if the claim is lost: then nothing is written."""
        return bool(self.held.update(claimed_until=None, **fields))

    def conclude(self, **fields: Any) -> None:
        """Like `release`, in the transaction that makes what the row asked for. Raises `ClaimLost`."""
        if not self.release(**fields):
            raise ClaimLost

    def _keep(self, over: threading.Event) -> None:
        try:
            while not over.wait(self.renew_every_s):
                try:
                    self.renew()
                except DatabaseError as error:  # the next renewal may come through; the work itself finds out if not
                    log.warning("claim_not_renewed", error=str(error))
                    connection.close()
        finally:
            connection.close()


def claim(rows: QuerySet[Any], pk: int, *, lease_s: float | None = None) -> Claim | None:
    """Claim the row if it is among `rows` and free; the lease is `BACKGROUND_LEASE_S` if none is given."""
    lease_s = settings.BACKGROUND_LEASE_S if lease_s is None else lease_s
    claim_id, now = uuid.uuid4(), timezone.now()
    free = rows.filter(unclaimed(now), pk=pk)
    won = free.update(claim_id=claim_id, claimed_until=now + timedelta(seconds=lease_s), attempts=F("attempts") + 1)
    return Claim(rows, pk, claim_id, lease_s) if won else None


def claims(
    waiting: Callable[[], QuerySet[Row]], *related: str
) -> Callable[[Callable[[Row, Claim], None]], Callable[[int], None]]:
    """Have a function work on the row of a key once it is claimed, read with these relations.

    Nothing is done where nobody asks for it any more, or another process does it.
    """

    def decorate(work: Callable[[Row, Claim], None]) -> Callable[[int], None]:
        @wraps(work)
        def perform(pk: int) -> None:
            claimed = claim(waiting(), pk)
            if claimed is not None:
                rows = claimed.rows.model._default_manager.all()
                work((rows.select_related(*related) if related else rows).get(pk=pk), claimed)

        return perform

    return decorate
