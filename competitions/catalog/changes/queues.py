"""Queues of organizers and the site: settings, and effects of changes on their competitions."""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from competitions.catalog.changes.change import Change, change_row
from competitions.catalog.changes.impact import FieldValues, impact_check
from competitions.catalog.models import Competition
from competitions.compute.models import Queue


@transaction.atomic
def change_queue(queue: Queue, *, now: datetime, confirmed: object = "") -> Change[Queue]:
    """Store what somebody entered for a queue. Raises as `change_row`."""
    return change_row(queue, lambda change: (), now=now, confirmed=confirmed)


@impact_check(Queue)
def competitions_wait(queue: Queue, changes: FieldValues, now: datetime) -> Iterator[str]:
    if changes.get("is_paused") is not True:
        return
    if count := Competition.objects.filter(queue=queue, is_published=True).count():
        were = "competition runs" if count == 1 else "competitions run"
        yield f"{count} published {were} on it: their submissions wait until it is resumed. What runs goes on."


@impact_check(Queue)
def images_are_refused(queue: Queue, changes: FieldValues, now: datetime) -> Iterator[str]:
    allowed: str | None = changes.get("allowed_images")
    if not allowed:
        return
    probe = Queue(allowed_images=allowed)
    for competition in Competition.objects.filter(queue=queue).order_by("title"):
        if not probe.allows_image(competition.image_name):
            yield f"“{competition}” runs in the image {competition.image_name}, which would be refused."
