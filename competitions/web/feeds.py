"""Feeds with the content of the page beside them, for its reader: Atom (RFC 4287), and calendars."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib.syndication.views import Feed
from django.core import signing
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.feedgenerator import Atom1Feed
from django.utils.html import escape
from icalendar import Alarm, Calendar, Event

from accounts.models import User
from accounts.people.blocks import blocked_numbers
from accounts.views import open_page
from competitions.catalog.models import Announcement, Column, Competition, Phase
from competitions.discussions.models import Post
from competitions.discussions.reading import shown_topics
from competitions.leaderboards.models import Milestone
from competitions.leaderboards.ranking.values import deciding_column
from competitions.leaderboards.reading.board import best_over_time
from competitions.teams.models import Registration
from competitions.web.views.discussions.topics import discussion_visit, read_topic
from competitions.web.visit import visit
from files.markup import no_images
from files.text import on_one_line, without_control_characters

MOST_ITEMS: Final = 30


class SafeAtomFeed(Atom1Feed):
    """Atom of whatever is stored: XML has no control characters, and refuses to be written with them."""

    def __init__(self, title: str, *others: Any, **more: Any) -> None:
        super().__init__(on_one_line(title), *others, **more)

    def add_item(self, title: str, link: str, description: str, *others: Any, **more: Any) -> None:
        super().add_item(on_one_line(title), link, without_control_characters(description), *others, **more)


@dataclass(frozen=True)
class Item:
    """An entry of a feed: a title in plain text, a description in HTML.

    Its `link`, made absolute, is its id, too.
    """

    title: str
    description: str
    link: str
    published_at: datetime
    updated_at: datetime | None = None


@dataclass(frozen=True)
class Content:
    """A feed as its reader gets it: the page beside it, and the newest entries."""

    title: str
    page: str
    items: Iterable[Item]


class AtomFeed(Feed[Item, Content]):
    """Base: a feed says its content for a request, and nothing else."""

    login_required = False
    feed_type = SafeAtomFeed

    def title(self, obj: Content) -> str:
        return obj.title

    def link(self, obj: Content) -> str:
        return obj.page

    def items(self, obj: Content) -> list[Item]:
        return list(obj.items)

    def item_title(self, item: Item) -> str:
        return item.title

    def item_description(self, item: Item) -> str:
        return item.description

    def item_link(self, item: Item) -> str:
        return item.link

    def item_pubdate(self, item: Item) -> datetime:
        return item.published_at

    def item_updateddate(self, item: Item) -> datetime:
        return item.updated_at or item.published_at


class AnnouncementFeed(AtomFeed):
    """The newest announcements of a competition."""

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Content:
        visited = visit(request, kwargs["slug"])
        page = visited.url("overview")
        published = Announcement.objects.published(visited.now).filter(competition=visited.competition)
        items = (
            Item(each.title, each.rendering.shown(no_images), f"{page}#announcement-{each.pk}", each.published_at)
            for each in published[:MOST_ITEMS]
        )
        return Content(f"{visited.competition.title}: announcements", page, items)


class LeaderFeed(AtomFeed):
    """Each improvement of a board's best score."""

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Content:
        visited = visit(request, kwargs["slug"])
        board = visited.board(visited.phase(kwargs["phase_slug"]), kwargs["board_key"])
        column = deciding_column(list(board.columns.all())) if board is not None else None
        if board is None or column is None or column.is_hidden or not visited.can_see_board(board):
            raise Http404
        page = f"{visited.url('leaderboard')}?phase={board.phase.slug}&board={board.key}"
        items = (_leader(milestone, column, page) for milestone in best_over_time(board).reverse()[:MOST_ITEMS])
        return Content(f"{visited.competition.title}: best scores in {board.phase.name}", page, items)


def _leader(milestone: Milestone, column: Column, page: str) -> Item:
    """A score that was the best when it came, as its board shows it."""
    score = milestone.score
    shown = f"{column.shown(score.values[column.key])} {column.unit}".strip()
    title, link = f"{score.team.name} leads with {shown}", f"{page}#score-{score.pk}"
    return Item(title, escape(f"{column.title}: {shown}"), link, milestone.received_at)


class DiscussionFeed(AtomFeed):
    """The topics that were opened last."""

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Content:
        visited = discussion_visit(request, kwargs["slug"])
        slug = visited.competition.slug
        items = (
            Item(
                topic.title,
                escape(f"A topic of {topic.author or 'the organizers'}."),
                reverse("web:topic", args=[slug, topic.pk]),
                topic.created_at,
            )
            for topic in shown_topics(visited.competition).select_related("author").order_by("-pk")[:MOST_ITEMS]
        )
        return Content(f"{visited.competition.title}: discussion", visited.url("discussion"), items)


class TopicFeed(AtomFeed):
    """The newest posts of a topic, as far as everybody reads them; none of whom the reader blocks."""

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Content:
        visited = discussion_visit(request, kwargs["slug"])
        topic = read_topic(visited, kwargs["pk"])
        page = reverse("web:topic", args=[visited.competition.slug, topic.pk])
        posts = topic.posts.filter(state=Post.State.SHOWN).exclude(author__in=blocked_numbers(visited.user.pk))
        newest = posts.select_related("author").order_by(
            "-created_at", "-pk"
        )  # by its index, not by a walk of all posts
        items = (
            Item(
                f"{post.author or 'The organizers'} in {topic.title}",
                post.rendering.shown(no_images),
                f"{page}?at={post.pk}#post-{post.pk}",
                post.created_at,
                post.edited_at,
            )
            for post in newest[:MOST_ITEMS]
        )
        return Content(f"{visited.competition.title}: {topic.title}", page, items)


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
