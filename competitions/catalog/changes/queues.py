"""Queues of organizers and the site: settings, and effects of changes on their competitions."""

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction

from competitions.catalog.changes.change import Change, change_to, editable_values, require_agreement, write
from competitions.catalog.changes.impact import FieldValues, impact_check
from competitions.catalog.models import Competition
from competitions.compute.models import Queue


@transaction.atomic
def change_queue(queue: Queue, *, now: datetime, confirmed: object = "") -> Change[Queue]:
    """Store what somebody entered for a queue; `confirmed` is what `NeedsConfirmation` gave out.

    Raises `ValidationError` by field, `NeedsConfirmation`, or what a receiver of the change refuses; then nothing is written.
    """
    change = change_to(queue)
    if change.before is not None:
        require_agreement(change.before, editable_values(queue), confirmed=confirmed, now=now)
    return write(change, now)


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
