"""Mentions in posts as links, where the reader gets the page of the person or team."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape, unescape
from typing import Final
from uuid import UUID

from django.db.models import CharField, F, QuerySet, Value
from django.db.models.functions import Cast, Lower
from django.urls import reverse

from accounts.models import User
from competitions.discussions.models import Post
from competitions.discussions.texts import Mentions, mentions
from competitions.leaderboards.models import Entry
from competitions.teams.models import Team
from competitions.web.visit import Visit

MOST_NAMES: Final = 200  # of a page; the others stay text
NOT_IN: Final = frozenset(("a", "blockquote", "code", "math", "pre"))
TAG: Final = re.compile(r'<(/?)([a-z0-9]+)(?:[^<>"]|"[^"]*")*>', re.IGNORECASE)
MENTION: Final = re.compile(r"(?<![\w@/.+-])@(?:\[([^\[\]\n]{1,360})\]|([\w.+-]{1,150}))")  # escaped: & is &amp;
Link = Callable[[str], str]


def mention_links(visited: Visit, posts: Iterable[Post]) -> Link:
    """A function that links mentions in the HTML of these posts, by one query at most."""
    named = _first_names(mentions(post.body) for post in posts if "@" in post.body)
    addresses = _addresses(visited, named) if len(named) else {}
    return lambda html: link_mentions(html, addresses)


def _first_names(texts: Iterable[Mentions]) -> Mentions:
    """Whom the posts mention, up to `MOST_NAMES`, those of the first posts first."""
    people: set[str] = set()
    teams: set[str] = set()
    for named in texts:
        for names, new in ((people, named.people), (teams, named.teams)):
            names.update(sorted(new - names)[: MOST_NAMES - len(people) - len(teams)])
    return Mentions(frozenset(people), frozenset(teams))


def _addresses(visited: Visit, named: Mentions) -> Mapping[str, str]:
    """Addresses of the pages that this reader gets, by mention in lower case."""
    queries = [
        *([_public_people(named.people)] if named.people else []),
        *([_shown_teams(visited, named.teams)] if named.teams else []),
    ]
    rows = queries[0].union(*queries[1:], all=True)
    slug = visited.competition.slug
    return {
        f"@[{name}]" if is_team else f"@{name}": reverse("web:public-team", args=[slug, UUID(key)])
        if is_team
        else reverse("web:person", args=[key])
        for is_team, name, key in rows
    }


def _public_people(names: Iterable[str]) -> QuerySet[User, tuple[int, str, str]]:
    rows = User.objects.filter(profile__is_public=True, is_active=True, is_robot=False)
    named = rows.annotate(is_team=Value(0), mentioned=Lower("username"), page=F("username"))
    return named.filter(mentioned__in=names).order_by().values_list("is_team", "mentioned", "page")


def _shown_teams(visited: Visit, names: Iterable[str]) -> QuerySet[Team, tuple[int, str, str]]:
    """The teams with a row on a board that this reader sees."""
    boards = [
        board.pk
        for phase in visited.phases_with_boards
        for board in phase.leaderboards.all()
        if visited.can_see_board(board)
    ]
    shown = Entry.objects.filter(leaderboard__in=boards)
    rows = Team.objects.filter(competition=visited.competition, searched_name__in=names, merged_into=None)
    named = rows.filter(pk__in=shown.values("team")).annotate(
        is_team=Value(1), mentioned=F("searched_name"), page=Cast("key", CharField())
    )
    return named.order_by().values_list("is_team", "mentioned", "page")


def link_mentions(html: str, addresses: Mapping[str, str]) -> str:
    """Harmless HTML with links at mentions, outside of code, quotes, formulas and links.

    >>> link_mentions("<p>@Ada. <code>@ada</code></p>", {"@ada": "/people/ada/"})
    '<p><a class="mention" href="/people/ada/">@Ada</a>. <code>@ada</code></p>'
    """
    return "".join(_linked_parts(html, addresses)) if addresses else html


def _linked_parts(html: str, addresses: Mapping[str, str]) -> Iterator[str]:
    depth = end = 0  # depth: in so many elements in which nothing is linked
    for tag in TAG.finditer(html):
        text = html[end : tag.start()]
        yield text if depth else _linked(text, addresses)
        yield tag[0]
        end = tag.end()
        if tag[2].lower() in NOT_IN:
            depth = max(0, depth - 1) if tag[1] else depth + 1
    yield html[end:] if depth else _linked(html[end:], addresses)


def _linked(text: str, addresses: Mapping[str, str]) -> str:
    def link(match: re.Match[str]) -> str:
        mention = match[0].rstrip(".") if match[2] else match[0]
        key = f"@[{unescape(match[1]).strip().lower()}]" if match[1] else mention.lower()
        address = addresses.get(key)
        if address is None:
            return match[0]
        return f'<a class="mention" href="{escape(address)}">{mention}</a>{match[0][len(mention) :]}'

    return MENTION.sub(link, text)
