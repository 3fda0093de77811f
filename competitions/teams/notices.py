"""Notifications to the members of teams and competitions."""

from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from competitions.catalog.models import Announcement, Competition
from competitions.notifications.models import Kind
from competitions.notifications.services import event_forget, notify
from competitions.teams.models import Registration, Team


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


def announcement_forget(sender: type[Announcement], announcement: Announcement, **kwargs: Any) -> None:
    """Receiver of `announcement_withdrawn`."""
    event_forget(_event(announcement))


def _event(announcement: Announcement) -> str:
    """Another one each time that it is published: a webhook is told of an event once."""
    told_at = announcement.announced_at
    return f"announcement-{announcement.pk}-{told_at.isoformat() if told_at else 'untold'}"
