"""Calendars (iCalendar, RFC 5545) of the dates of phases: a competition's, and a person's own."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.core import signing
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from icalendar import Alarm, Calendar, Event

from accounts.models import User
from accounts.views import open_page
from competitions.catalog.models import Competition, Phase
from competitions.teams.models import Registration
from competitions.web.visit import visit
from files.text import on_one_line

SALT: Final = "web.calendar"
REMIND_BEFORE: Final = timedelta(hours=24)
READ_AGAIN_AFTER: Final = timedelta(hours=6)


@open_page
def competition_calendar(request: HttpRequest, slug: str) -> HttpResponse:
    """A calendar of one competition: its phases open and close."""
    visited = visit(request, slug)
    return _response(_calendar(visited.competition.title, visited.phases))


@open_page
def personal_calendar(request: HttpRequest, token: str) -> HttpResponse:
    """The dates of all competitions that a person takes part in; the secret address replaces signing in."""
    user = _reader(token)
    joined = Registration.objects.filter(user=user).exclude(state=Registration.State.DENIED).values("competition")
    seen = Competition.objects.visible_to(user).filter(pk__in=joined)
    now = timezone.now()
    phases = Phase.objects.filter(Q(closes_at=None) | Q(closes_at__gt=now - timedelta(days=31)), competition__in=seen)
    return _response(_calendar(settings.BRAND.name, phases.select_related("competition")))


def calendar_url(user: User) -> str:
    """The secret address of a person's calendar; a new password makes it another one."""
    return f"{settings.SITE_URL}{reverse('web:calendar', args=[signing.dumps([user.pk, _mark(user)], salt=SALT)])}"


def _mark(user: User) -> str:
    digest: str = user.get_session_auth_hash()
    return digest[:16]


def _reader(token: str) -> User:
    try:
        pk, mark = signing.loads(token, salt=SALT)
    except signing.BadSignature as error:
        raise Http404 from error
    user = get_object_or_404(User, pk=pk, is_active=True)
    if not constant_time_compare(mark, _mark(user)):
        raise Http404
    return user


def _calendar(name: str, phases: Iterable[Phase]) -> Calendar:
    calendar = Calendar()
    calendar.add("prodid", "-//Podium//Deadlines//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", on_one_line(name))
    calendar.add("refresh-interval", READ_AGAIN_AFTER, parameters={"value": "DURATION"})
    for phase in phases:
        for event in _events(phase):
            calendar.add_component(event)
    return calendar


def _events(phase: Phase) -> Iterator[Event]:
    """An event has the same UID for ever, so that a date that moves moves in the calendars, too."""
    yield _event(phase, "opens", phase.opens_at)
    if phase.closes_at is not None:
        closing = _event(phase, "closes", phase.closes_at)
        reminder = Alarm()
        reminder.add("action", "DISPLAY")
        reminder.add("description", closing["summary"])
        reminder.add("trigger", -REMIND_BEFORE)
        closing.add_component(reminder)
        yield closing


def _event(phase: Phase, verb: str, at: datetime) -> Event:
    event = Event()
    event.add("uid", f"phase-{phase.pk}-{verb}@{settings.SITE_URL.partition('://')[2]}")
    event.add("dtstamp", timezone.now())
    event.add("dtstart", at)
    event.add("summary", on_one_line(f"{phase.competition.title}: {phase.name} {verb}"))
    event.add("url", settings.SITE_URL + reverse("web:overview", args=[phase.competition.slug]))
    return event


def _response(calendar: Calendar) -> HttpResponse:
    return HttpResponse(calendar.to_ical(), content_type="text/calendar; charset=utf-8")
