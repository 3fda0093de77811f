"""Competitions and their queues: settings, and what a change does to those who take part."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db import transaction

from competitions.catalog.changes.change import (
    Change,
    Fault,
    FieldValues,
    change_row,
    change_to,
    impact_check,
    utc,
    write,
)
from competitions.catalog.models import Competition, Phase
from competitions.catalog.queue_rights import faults_on_queue
from competitions.catalog.services import tags_set
from competitions.compute.models import Queue


@transaction.atomic
def change_competition(
    competition: Competition, *, now: datetime, confirmed: object = "", tags: Iterable[str] | None = None
) -> Change[Competition]:
    """Store an edited competition. `confirmed` comes from `NeedsConfirmation`; no `tags` leaves them.

    Raises `ValidationError` by field, `TagsInvalid`, `NeedsConfirmation`, or what a receiver of the change refuses; then nothing
    is written.
    """
    written = change_row(competition, faults_of_competition, now=now, confirmed=confirmed)
    if tags is not None:
        tags_set(competition=competition, names=tags)
    return written


@transaction.atomic
def store_competition(competition: Competition, *, now: datetime) -> Change[Competition]:
    """Write a competition and send the signal; imports compare everything themselves.

    Raises `ValidationError`, or what a receiver of the change refuses; then nothing is written.
    """
    return write(change_to(competition), now)


def faults_of_competition(change: Change[Competition]) -> Iterator[Fault]:
    """Fields and what is wrong with them: a queue whose owner may not read what the competition runs."""
    if change.before is not None and "queue" in change.fields:
        yield from (("queue", fault) for fault in faults_on_queue(change.before, change.row.queue))


@impact_check(Competition)
def ways_in_change(competition: Competition, changes: FieldValues, now: datetime) -> Iterator[str]:
    if not competition.is_published:
        return
    if changes.get("registration_policy") == Competition.RegistrationPolicy.APPROVAL:
        yield "Whoever registers from now on waits until an organizer approves."
    if "registration_closes_at" in changes:
        yield f"Registration closes at {utc(changes['registration_closes_at'])}; it was {utc(competition.registration_closes_at)}."
    if "merges_close_at" in changes:
        yield f"Teams may merge until {utc(changes['merges_close_at'])}; it was {utc(competition.merges_close_at)}."


@impact_check(Competition)
def addresses_change(competition: Competition, changes: FieldValues, now: datetime) -> Iterator[str]:
    if "slug" in changes and competition.is_published:
        yield f"All addresses of the competition change: links, feeds and programs that use “{competition.slug}” will stop working."


@impact_check(Competition)
def files_are_opened(competition: Competition, changes: FieldValues, now: datetime) -> Iterator[str]:
    if not competition.is_published:
        return
    if changes.get("make_programs_available") is True:
        yield "Everybody who takes part may download the ingestion and scoring programs from now on."
    if changes.get("make_input_data_available") is True:
        yield "Everybody who takes part may download the input data of open phases from now on."


@impact_check(Competition)
def discussion_moves(competition: Competition, changes: FieldValues, now: datetime) -> Iterator[str]:
    here = Competition.Discussion.HERE
    if competition.is_published and competition.discussion == here and changes.get("discussion", here) != here:
        yield "Topics and replies on this site are shown no longer. They stay stored, and come back with the discussion."


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
        yield f"{count} published {were} on it: their submissions wait until it is resumed. Runs in progress go on."


@impact_check(Queue)
def images_are_refused(queue: Queue, changes: FieldValues, now: datetime) -> Iterator[str]:
    allowed: str | None = changes.get("allowed_images")
    if not allowed:
        return
    probe = Queue(allowed_images=allowed)
    phases = Phase.objects.filter(competition__queue=queue).select_related("competition")
    images = {(phase.competition.title, phase.image_name) for phase in phases}
    for title, image in sorted(images):
        if not probe.allows_image(image):
            yield f"“{title}” runs in the image {image}, which would be refused."
