"""Notifications to the members of teams and competitions."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet
from django.utils.text import Truncator

from accounts.models import User
from competitions.catalog.models import Announcement, Competition
from competitions.notifications.models import Kind, Notification
from competitions.notifications.services import event_forget, notify
from competitions.teams.models import Registration, Team

ANNOUNCED: Final = re.compile(r"announcement-([0-9]{1,18})-.*", re.ASCII)  # the event of one
MOST_CHARS: Final = 4000  # of an announcement in a mail; its page has all of it


def team_members(team: Team) -> QuerySet[User]:
    """The people of a team."""
    return User.objects.filter(memberships__team=team)


def registered_people(competition: Competition) -> QuerySet[User]:
    """The people whose registration is approved."""
    approved = Registration.objects.filter(competition=competition, state=Registration.State.APPROVED)
    return User.objects.filter(pk__in=approved.order_by().values("user"))


def announcement_notify(sender: type[Announcement], announcement: Announcement, **kwargs: Any) -> None:
    """Receiver of `announcement_published`."""
    competition = announcement.competition
    notify(
        people=registered_people(competition),
        kind=Kind.ANNOUNCEMENT,
        competition=competition,
        event=_event(announcement),
        subject=f"{competition}: {announcement.title}",
        text=f"The organizers of “{competition}” have published an announcement: “{announcement.title}”.",
        path=f"/competitions/{competition.slug}/",
    )


def announcements_told(rows: Sequence[Notification], user: User, now: datetime) -> Mapping[int, str]:
    """The texts, as Markdown, of the announcements that the reader may see now."""
    numbers = {row.pk: int(match[1]) for row in rows if (match := ANNOUNCED.fullmatch(row.event))}
    shown = Announcement.objects.published(now).filter(
        pk__in=set(numbers.values()), competition__in=Competition.objects.visible_to(user)
    )
    texts = {row.pk: _beginning(row.body.strip()) for row in shown}
    return {pk: texts[number] for pk, number in numbers.items() if texts.get(number)}


def _beginning(text: str) -> str:
    if len(text) <= MOST_CHARS:
        return text
    return f"{Truncator(text).chars(MOST_CHARS)}\n\nThe rest is on the competition's page:"


def announcement_forget(sender: type[Announcement], announcement: Announcement, **kwargs: Any) -> None:
    """Receiver of `announcement_withdrawn`."""
    event_forget(_event(announcement))


def _event(announcement: Announcement) -> str:
    """Another one each time that it is published: a webhook is told of an event once."""
    told_at = announcement.announced_at
    return f"announcement-{announcement.pk}-{told_at.isoformat() if told_at else 'untold'}"
