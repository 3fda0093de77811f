"""Turns in the background: the asker served longest ago is next, with one piece of work at a time.

A team's, a person's or a competition's hundred files so hold up nobody else's one. A claim reads the index of those who wait, and
costs the same however many rows each of them has.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import F, QuerySet

from core.background.rows import Claim, unclaimed
from core.models import Turn

TRIED: Final = 20  # other processes may take the first ones at the same time


@dataclass(frozen=True)
class TurnTaken:
    """The turn of an asker, while one of its rows is worked on."""

    asker: str
    claim: Claim


def turn_ask(queue: str, asker: str, *, now: datetime) -> None:
    """Put the asker in line. Its row must be committed: the end of a turn looks for more rows."""
    turns = Turn.objects.filter(queue=queue, asker=asker)
    if turns.filter(waiting_since__isnull=False).exists() or turns.update(waiting_since=now):
        return
    Turn.objects.bulk_create([Turn(queue=queue, asker=asker, waiting_since=now)], ignore_conflicts=True)


def turn_take(queue: str, *, now: datetime, lease_s: float) -> TurnTaken | None:
    """The turn of the asker that waits, is not being served and was served longest ago, or None."""
    waiting = turns_waiting(queue, now=now)
    order = F("served_at").asc(nulls_first=True), "pk"
    for pk, asker in waiting.order_by(*order).values_list("pk", "asker")[:TRIED]:
        claim_id = uuid.uuid4()
        until = now + timedelta(seconds=lease_s)
        if waiting.filter(pk=pk).update(claim_id=claim_id, claimed_until=until, served_at=now):
            return TurnTaken(asker, Claim(Turn.objects.all(), pk, claim_id, lease_s))
    return None


def turns_waiting(queue: str, *, now: datetime) -> QuerySet[Turn]:
    """Those who wait and have nothing in work."""
    return Turn.objects.filter(unclaimed(now), queue=queue, waiting_since__isnull=False)


@contextmanager
def turn_kept(turn: TurnTaken) -> Iterator[None]:
    """Keep the turn during the block; afterwards the asker no longer waits."""
    try:
        with turn.claim.kept():
            yield
    finally:
        turn.claim.release(waiting_since=None)
