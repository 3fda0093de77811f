"""Details of notifications, added when somebody reads one, as they may change or be sealed later.

A notification is written once and holds no score. An app above registers a function for a kind; pages, mails and the API
ask it each time, so that they tell no more than the page that the notification leads to does at that moment.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from accounts.models import User
from competitions.notifications.models import Kind, Notification

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
