"""Atom feeds (RFC 4287) with the same content as the page beside them, for the same reader."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.syndication.views import Feed
from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed

from competitions.catalog.models import Announcement, Column, Leaderboard
from competitions.leaderboards.models import Milestone
from competitions.leaderboards.ranking.values import deciding_column
from competitions.leaderboards.reading.board import best_over_time
from competitions.web.visit import Visit, visit
from files.markup import no_images
from files.text import on_one_line, without_control_characters

MOST_ITEMS: Final = 30


class SafeAtomFeed(Atom1Feed):
    """Atom of whatever is stored: XML has no control characters, and refuses to be written with them."""

    def __init__(self, title: str, *others: Any, **more: Any) -> None:
        super().__init__(on_one_line(title), *others, **more)

    def add_item(self, title: str, link: str, description: str, *others: Any, **more: Any) -> None:
        super().add_item(on_one_line(title), link, without_control_characters(description), *others, **more)


class AnnouncementFeed(Feed[Announcement, Visit]):
    """The newest announcements of a competition."""

    login_required = False
    feed_type = SafeAtomFeed

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Visit:
        return visit(request, kwargs["slug"])

    def title(self, obj: Visit) -> str:
        return f"{obj.competition.title}: announcements"

    def link(self, obj: Visit) -> str:
        return obj.url("overview")

    def items(self, obj: Visit) -> list[Announcement]:
        published = Announcement.objects.published(obj.now).filter(competition=obj.competition)
        return list(published.select_related("competition")[:MOST_ITEMS])

    def item_title(self, item: Announcement) -> str:
        return item.title

    def item_description(self, item: Announcement) -> str:
        return item.rendering.shown(no_images)

    def item_pubdate(self, item: Announcement) -> datetime:
        return item.published_at

    item_updateddate = item_pubdate

    def item_link(self, item: Announcement) -> str:
        return f"{reverse('web:overview', args=[item.competition.slug])}#announcement-{item.pk}"


@dataclass(frozen=True)
class BoardAtVisit:
    """A board that the visitor may see, and the column that decides on it."""

    visit: Visit
    board: Leaderboard
    column: Column


@dataclass(frozen=True)
class Leader:
    """A score that was the best when it came, as its board shows it, and the board's page."""

    milestone: Milestone
    column: Column
    page: str

    @property
    def score(self) -> str:
        text = self.column.shown(self.milestone.score.values[self.column.key])
        return f"{text} {self.column.unit}".strip()


class LeaderFeed(Feed[Leader, BoardAtVisit]):
    """Each improvement of a board's best score."""

    login_required = False
    feed_type = SafeAtomFeed

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> BoardAtVisit:
        visited = visit(request, kwargs["slug"])
        board = visited.board(visited.phase(kwargs["phase_slug"]), kwargs["board_key"])
        column = deciding_column(list(board.columns.all())) if board is not None else None
        if board is None or column is None or column.is_hidden or not visited.can_see_board(board):
            raise Http404
        return BoardAtVisit(visited, board, column)

    def title(self, obj: BoardAtVisit) -> str:
        return f"{obj.visit.competition.title}: best scores in {obj.board.phase.name}"

    def link(self, obj: BoardAtVisit) -> str:
        return f"{obj.visit.url('leaderboard')}?phase={obj.board.phase.slug}&board={obj.board.key}"

    def items(self, obj: BoardAtVisit) -> list[Leader]:
        newest = best_over_time(obj.board).reverse()[:MOST_ITEMS]
        return [Leader(milestone, obj.column, self.link(obj)) for milestone in newest]

    def item_title(self, item: Leader) -> str:
        return f"{item.milestone.score.team.name} leads with {item.score}"

    def item_description(self, item: Leader) -> str:
        return f"{item.column.title}: {item.score}"

    def item_pubdate(self, item: Leader) -> datetime:
        return item.milestone.received_at

    item_updateddate = item_pubdate

    def item_link(self, item: Leader) -> str:
        return f"{item.page}#score-{item.milestone.score_id}"  # made absolute, it is the entry's id, too
