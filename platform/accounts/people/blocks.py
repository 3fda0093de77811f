"""Blocking people: whoever blocks somebody hears nothing from them, and the other is not told."""

from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Block, User
from core.refusals import RefusalKind

MOST_BLOCKED: Final = 500  # of one person: their pages read all of them

NOBODY_TO_BLOCK: Final = RefusalKind(422, "nobody_to_block", "There is no other person with this user name.")
TOO_MANY_BLOCKED: Final = RefusalKind(
    409,
    "too_many_blocked",
    "You have blocked {limit} people, which is the limit. Unblock somebody first.",
    tells=("limit",),
)


@transaction.atomic
def block(*, by: User, username: str, now: datetime) -> User:
    """Block a person, or leave them blocked. Raises `NOBODY_TO_BLOCK` or `TOO_MANY_BLOCKED`."""
    person = User.objects.filter(username=username, is_active=True, is_robot=False).exclude(pk=by.pk).first()
    if person is None:
        raise NOBODY_TO_BLOCK()
    User.objects.select_for_update(no_key=True).get(pk=by.pk)  # blocks are counted
    others = Block.objects.filter(by=by).exclude(person=person)
    if others.count() >= MOST_BLOCKED:
        raise TOO_MANY_BLOCKED(limit=MOST_BLOCKED)
    Block.objects.get_or_create(by=by, person=person, defaults={"created_at": now})
    return person


def unblock(*, by: User, username: str) -> bool:
    """Hear from a person again; False for one who was not blocked."""
    return bool(Block.objects.filter(by=by, person__username=username).delete()[0])


def blocked_people(by: int | None) -> QuerySet[Block]:
    """The blocks of one person."""
    return Block.objects.filter(by=by or 0).select_related("person")


def blocked_numbers(by: int | None) -> frozenset[int]:
    """The numbers of those whom a person blocks; none for nobody."""
    return frozenset(Block.objects.filter(by=by).values_list("person", flat=True)) if by else frozenset()


def blocked_by(by: User) -> QuerySet[Block, int]:
    """The numbers of those whom a person blocks, as a part of a query."""
    return Block.objects.filter(by=by).order_by().values_list("person", flat=True)


def hearing(people: QuerySet[User], person: int | None) -> QuerySet[User]:
    """The people among these who have not blocked that person."""
    return people.exclude(pk__in=Block.objects.filter(person=person).values("by")) if person else people
