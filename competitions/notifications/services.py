"""Telling people, what they have read, and how they want to be told.

A notification is written once and holds no score. An app above registers a function for more of a kind; pages, mails and the API ask
it each time, so that they tell no more than the page that the notification leads to does at that moment.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import IntegerField, Q, QuerySet, Subquery
from django.dispatch import Signal
from django.utils import timezone

from accounts.models import User
from accounts.people.blocks import hearing
from competitions.catalog.models import Competition
from competitions.notifications.models import Delivery, Kind, Notification, NotificationPreference

# No kind is a digest unless its reader chose so: who stops the digest changes choices alone.
DEFAULTS: Final = dict.fromkeys(Kind, Delivery.AT_ONCE) | {Kind.RUN: Delivery.NONE, Kind.ACCOUNT: Delivery.NONE}
KEPT: Final = timedelta(days=180)
MOST_COUNTED: Final = 100  # unread ones; the bell shows 99+

# Sent with `notice` and `now`, in the transaction that tells people; and with `event` when it is taken back.
notice_sent = Signal()
notice_withdrawn = Signal()


@dataclass(frozen=True)
class Notice:
    """A message to several people; nobody gets the same `event` twice."""

    people: QuerySet[User]
    kind: Kind
    competition: Competition
    subject: str
    text: str
    path: str
    event: str


@transaction.atomic(savepoint=False)  # most callers have begun one
def notify(
    *, people: QuerySet[User], kind: Kind, competition: Competition, subject: str, text: str, path: str, event: str = ""
) -> int:
    """Tell people in the caller's transaction; returns how many they are. Service accounts have no inbox.

    An `event` that may come again, from the reconciler for instance, is named: whoever was told of it is not told again.
    """
    notice = Notice(people, kind, competition, _one_line(subject), text, path, event or uuid.uuid4().hex)
    readers = with_inbox(people)
    chosen = _chosen(Q(user__in=readers.order_by().values("pk")), kind, competition)
    rows = [
        Notification(
            user_id=pk,
            kind=kind,
            competition=competition,
            event=notice.event,
            subject=notice.subject,
            text=text,
            path=path,
            delivery=chosen.get(pk, DEFAULTS[kind]),
        )
        for pk in readers.order_by("pk").values_list("pk", flat=True).distinct()
    ]
    Notification.objects.bulk_create(rows, batch_size=500, ignore_conflicts=True)
    notice_sent.send(sender=Notice, notice=notice, now=timezone.now())
    return len(rows)


def with_inbox(people: QuerySet[User]) -> QuerySet[User]:
    """Those of them who have an inbox."""
    return people.filter(is_active=True, is_robot=False)


def _one_line(subject: str) -> str:
    """A title may have lines, the header of a mail may not."""
    line = " ".join(subject.split())
    return line if len(line) <= 200 else f"{line[:199]}…"


def _chosen(whose: Q, kind: Kind, competition: Competition) -> dict[int, str]:
    """The people's choices by user id; a choice for this competition wins over one for all."""
    rows = NotificationPreference.objects.filter(whose, Q(competition=competition) | Q(competition=None), kind=kind)
    pairs = sorted(rows.values_list("user", "delivery", "competition"), key=lambda row: row[2] is not None)
    return {user: delivery for user, delivery, _ in pairs}


def notify_person(
    *,
    user: User,
    kind: Kind,
    competition: Competition,
    subject: str,
    text: str,
    path: str,
    by: User | None = None,
    event: str = "",
) -> int:
    """Tell one person, of a named `event` once; not what comes from somebody (`by`) whom they block."""
    people = hearing(User.objects.filter(pk=user.pk), by.pk if by else None)
    return notify(people=people, kind=kind, competition=competition, subject=subject, text=text, path=path, event=event)


def notify_account(*, user: User, subject: str, text: str, path: str, event: str) -> bool:
    """Tell a person of their account, in the inbox alone; False for an event that they were told of."""
    values = {
        "kind": Kind.ACCOUNT,
        "subject": _one_line(subject),
        "text": text,
        "path": path,
        "delivery": Delivery.NONE,
    }
    return Notification.objects.get_or_create(user=user, event=event, defaults=values)[1]


def was_told(event: str) -> bool:
    """True if anybody was told of this event."""
    return Notification.objects.filter(event=event).exists()


def event_forget(event: str) -> int:
    """Take an event that was taken back out of all inboxes, and out of mails that are not sent yet."""
    notice_withdrawn.send(sender=Notice, event=event)
    return Notification.objects.filter(event=event).delete()[0]


class CountOf(Subquery):
    """The number of rows of a query, which may have a limit."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def _unread(user: User) -> QuerySet[Notification]:
    """The notifications that are counted: not all of an inbox that nobody reads."""
    return Notification.objects.filter(user=user, read_at=None).order_by()[:MOST_COUNTED]


def unread_count(user: User) -> int:
    """The number of a person's unread notifications, or `MOST_COUNTED` if there are more."""
    return _unread(user).count()


def unread_notifications(user: User) -> CountOf:
    """The same number as an annotation, for pages that ask about their reader anyway."""
    return CountOf(_unread(user).values("pk"))


def mark_read(*, user: User, now: datetime, up_to: int) -> int:
    """Mark everything up to this number as read, and nothing that arrived in the meantime."""
    return Notification.objects.filter(user=user, read_at=None, pk__lte=up_to).update(read_at=now)


def mark_one_read(*, notification: Notification, now: datetime) -> bool:
    """False when it was read before."""
    return bool(Notification.objects.filter(pk=notification.pk, read_at=None).update(read_at=now))


def notifications_expire(*, now: datetime) -> int:
    """For the reconciler: remove what is older than half a year."""
    return Notification.objects.filter(created_at__lte=now - KEPT).delete()[0]


def stored_preferences(user: User, competition: Competition | None) -> dict[Kind, Delivery]:
    """The person's choices for this competition, or for all (None); kinds without a choice are left out."""
    rows = NotificationPreference.objects.filter(user=user, competition=competition)
    return {Kind(kind): Delivery(delivery) for kind, delivery in rows.values_list("kind", "delivery")}


@transaction.atomic
def preferences_set(*, user: User, competition: Competition | None, chosen: Mapping[Kind, Delivery | None]) -> None:
    """Record choices for one competition, or for all (None). A choice of None removes the one before."""
    for kind, delivery in chosen.items():
        rows = NotificationPreference.objects
        if delivery is None:
            rows.filter(user=user, competition=competition, kind=kind).delete()
        else:
            rows.update_or_create(user=user, competition=competition, kind=kind, defaults={"delivery": delivery})
    holding = DEFAULTS | stored_preferences(user, None) | (stored_preferences(user, competition) if competition else {})
    for kind in chosen:
        if holding[kind] == Delivery.NONE:
            _mail_no_more(user, competition, kind)


def _mail_no_more(user: User, competition: Competition | None, kind: Kind) -> None:
    """Drop waiting mails of this kind, except where a choice for one competition overrides that for all."""
    waiting = Notification.objects.filter(user=user, kind=kind, mailed_at=None)
    if competition is not None:
        waiting = waiting.filter(competition=competition)
    else:
        chosen = NotificationPreference.objects.filter(user=user, kind=kind).exclude(competition=None)
        waiting = waiting.exclude(competition__in=chosen.values("competition"))
    waiting.update(delivery=Delivery.NONE)


# The reader's notifications of a kind and the time to a text for each that has more to tell, by its number.
Describe = Callable[[Sequence[Notification], User, datetime], Mapping[int, str]]
_REGISTERED: Final[dict[Kind, Describe]] = {}


def notification_details(kind: Kind, describe: Describe) -> None:
    """Register the details of a kind of notification; called by `ready()` of the app that knows them."""
    _REGISTERED[kind] = describe


def details(rows: Sequence[Notification], user: User, now: datetime) -> dict[int, str]:
    """Details of one person's notifications by number, in as few queries for any number of them."""
    by_kind: dict[Kind, list[Notification]] = defaultdict(list)
    for row in rows:
        by_kind[Kind(row.kind)].append(row)
    texts: dict[int, str] = {}
    for kind, some in by_kind.items():
        if (describe := _REGISTERED.get(kind)) is not None:
            texts |= describe(some, user, now)
    return texts
