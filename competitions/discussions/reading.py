"""Lists of topics and pages of posts, by index and keyset, with what this reader may read alone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.discussions.models import MAX_WORD, Post, PostWord, Subscription, Topic
from competitions.discussions.texts import WORD
from files.text import is_number

TOPICS_A_PAGE: Final = 25
POSTS_A_PAGE: Final = 25
MOST_SEARCHED: Final = 5  # words of one search
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FILTERS: Final = {
    "": "All",
    "unanswered": "Unanswered",
    "solved": "Solved",
    "unsolved": "Not solved",
    "announcements": "Announcements",
    "followed": "Followed",
    "own": "Mine",
}


@dataclass(frozen=True)
class TopicPage:
    """A page of the list, the newest activity first, and the cursor of the next one."""

    topics: list[Topic]
    pinned: list[Topic]
    older: str


def shown_topics(competition: Competition) -> QuerySet[Topic]:
    """Topics that everybody who sees the competition may read."""
    return Topic.objects.filter(competition=competition, is_shown=True)


def topic_page(
    competition: Competition, user: User | AnonymousUser, *, show: str = "", words: str = "", before: str = ""
) -> TopicPage:
    """A page of topics. Pinned ones stand above the first page of all topics."""
    is_plain = not (show or words or before)
    rows = _narrowed(shown_topics(competition), user, show)
    if words.strip():
        rows = _with_words(rows, competition, words)
    if is_plain:
        rows = rows.filter(pinned_at=None)
    rows = _before(rows, before).select_related("author").order_by("-last_post_at", "-pk")
    topics = list(rows[: TOPICS_A_PAGE + 1])
    older = _cursor(topics[TOPICS_A_PAGE - 1]) if len(topics) > TOPICS_A_PAGE else ""
    pinned = shown_topics(competition).filter(pinned_at__isnull=False).select_related("author").order_by("-pinned_at")
    return TopicPage(topics[:TOPICS_A_PAGE], list(pinned) if is_plain else [], older)


def _narrowed(rows: QuerySet[Topic], user: User | AnonymousUser, show: str) -> QuerySet[Topic]:
    conditions = {
        "unanswered": Q(reply_count=0),
        "solved": Q(solution__isnull=False),
        "unsolved": Q(solution=None, announcement=None),
        "announcements": Q(announcement__isnull=False),
    }
    if show in conditions:
        return rows.filter(conditions[show])
    if show == "own":
        return rows.filter(author=user.pk or 0)
    if show == "followed":
        return rows.filter(pk__in=Subscription.objects.filter(user=user.pk or 0, is_on=True).values("topic"))
    return rows


def _with_words(rows: QuerySet[Topic], competition: Competition, text: str) -> QuerySet[Topic]:
    """The topics with a shown post that has each word, or a longer one that begins with it."""
    for word in WORD.findall(text.lower())[:MOST_SEARCHED]:
        posts = PostWord.objects.filter(competition=competition, word__startswith=word[:MAX_WORD])
        rows = rows.filter(pk__in=posts.values("topic"))
    return rows


def _cursor(topic: Topic) -> str:
    """The place of a topic in the order of the list."""
    return f"{(topic.last_post_at - EPOCH) // timedelta(microseconds=1)}-{topic.pk}"


def _before(rows: QuerySet[Topic], cursor: str) -> QuerySet[Topic]:
    """The rows after the cursor; all of them if it is not a cursor."""
    instant, _, pk = cursor.partition("-")
    if not (is_number(instant) and is_number(pk)):
        return rows
    try:
        at = EPOCH + timedelta(microseconds=int(instant))
    except OverflowError:
        return rows
    return rows.filter(Q(last_post_at__lt=at) | Q(last_post_at=at, pk__lt=int(pk)))


@dataclass(frozen=True)
class PostPage:
    """Replies in the order of time; `earlier` and `later` are the numbers from which the next pages go on."""

    posts: list[Post]
    earlier: int | None
    later: int | None


def readable_posts(topic: Topic, user: User | AnonymousUser, *, is_organizer: bool) -> QuerySet[Post]:
    """Posts that this reader meets; those that wait are for their author and organizers alone."""
    posts = Post.objects.filter(topic=topic).select_related("author__profile")
    if is_organizer:
        return posts
    return posts.filter(~Q(state=Post.State.WAITING) | Q(author=user.pk or 0))


def may_read_text(post: Post, user: User | AnonymousUser, *, is_organizer: bool) -> bool:
    """Shown posts are for everybody; others for organizers, and for their author unless they deleted them."""
    is_own = post.author_id is not None and post.author_id == user.pk and post.state != Post.State.DELETED
    return post.is_shown or is_organizer or is_own


def may_read_topic(topic: Topic, user: User | AnonymousUser, *, is_organizer: bool) -> bool:
    """A topic that is not shown is its author's, while none has removed it, and the organizers'."""
    is_own = topic.author_id is not None and topic.author_id == user.pk and topic.removed_at is None
    return topic.is_shown or is_organizer or is_own


def find_topic(competition: Competition, pk: int, user: User | AnonymousUser, *, is_organizer: bool) -> Topic:
    """A topic of the competition that this reader may read; any other does not exist (404)."""
    rows = Topic.objects.select_related("author", "announcement", "solution__author")
    topic = get_object_or_404(rows, pk=pk, competition=competition)
    if not may_read_topic(topic, user, is_organizer=is_organizer):
        raise Http404
    topic.competition = competition
    return topic


def find_post(competition: Competition, pk: int, user: User | AnonymousUser, *, is_organizer: bool) -> Post:
    """A post of the competition whose text this reader may read; any other does not exist (404)."""
    rows = Post.objects.select_related("author", "topic__announcement")
    post = get_object_or_404(rows, pk=pk, topic__competition=competition)
    may_read = may_read_topic(post.topic, user, is_organizer=is_organizer)
    if not may_read or not may_read_text(post, user, is_organizer=is_organizer):
        raise Http404
    post.topic.competition = competition
    return post


def reply_page(replies: QuerySet[Post], *, at: int | None = None, until: int | None = None) -> PostPage:
    """Replies from number `at` on, or the last ones before number `until`; else the first ones."""
    replies = replies.filter(is_opening=False)
    if until is not None:
        rows = list(replies.filter(pk__lt=until).order_by("-pk")[: POSTS_A_PAGE + 1])
        shown = rows[:POSTS_A_PAGE][::-1]
        return PostPage(shown, shown[0].pk if len(rows) > POSTS_A_PAGE else None, until if shown else None)
    rows = list((replies if at is None else replies.filter(pk__gte=at)).order_by("pk")[: POSTS_A_PAGE + 1])
    shown = rows[:POSTS_A_PAGE]
    has_earlier = at is not None and replies.filter(pk__lt=at).exists()
    return PostPage(shown, at if has_earlier else None, rows[-1].pk if len(rows) > POSTS_A_PAGE else None)
