"""Writing: topics, replies, edits, deletions, the solution of a topic.

Locks, in this order: the writer, the topic, the post. A topic's counters change under its lock.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q

from accounts.models import User
from competitions.catalog.models import Competition, Format
from competitions.catalog.organizers import organizes
from competitions.disclosure.scores import has_announced_seal
from competitions.discussions import refusals, rights, texts
from competitions.discussions.following import follow_topic, notice_ask
from competitions.discussions.images import images_attach
from competitions.discussions.models import Post, PostRevision, PostWord, Report, Topic
from core.markup.bounded import HERE_CHARACTERS, rendered

MOST_MENTIONS: Final = 10
MOST_REVISIONS: Final = 20  # of a post; the first of them go
SENT_TWICE: Final = timedelta(minutes=10)  # the same text again is not a new post


@dataclass(frozen=True)
class Draft:
    """A text that somebody sends. `key` is the form's; `numbers_confirmed`: they were asked about numbers."""

    author: User
    text: str
    key: uuid.UUID | None = None
    numbers_confirmed: bool = False

    def lay_out(self) -> None:
        """Lay a long text out, so that it is ready when rows are locked. Raises what `checked_text` refuses."""
        text = texts.checked_text(self.text)
        if len(text) > HERE_CHARACTERS:
            rendered(text, Format.MARKDOWN)


@transaction.atomic
def topic_create(*, competition: Competition, draft: Draft, title: str, now: datetime) -> Post:
    """Open a topic; returns its first post. The same form again gives the same post.

    Raises what `require_writer`, `checked_title`, `checked_text` and the limits refuse; then nothing is written.
    """
    is_organizer = organizes(draft.author, competition.pk)
    writer = rights.require_writer(draft.author, competition, is_organizer=is_organizer)
    title = texts.checked_title(title)
    text = _checked(competition, draft, title)
    place = Q(is_opening=True, topic__competition=competition, topic__title=title)
    if (sent := _sent_before(draft, text, now, place)) is not None:
        return sent
    reason = "" if is_organizer else _admit(draft, rights.wait_reason(writer, f"{title}\n{text}", now), now)
    topic = Topic.objects.create(
        competition=competition,
        title=title,
        author=draft.author,
        by_organizer=is_organizer,
        last_post_at=now,
        created_at=now,
    )
    return _write(topic, draft, text, reason, now, is_opening=True, by_organizer=is_organizer)


@transaction.atomic
def reply_create(*, topic: Topic, draft: Draft, now: datetime) -> Post:
    """Reply in a topic. The same form again gives the same post.

    Raises `TOPIC_LOCKED`, or what `require_writer`, `checked_text` and the limits refuse; then nothing is written.
    """
    competition = topic.competition
    is_organizer = organizes(draft.author, competition.pk)
    writer = rights.require_writer(draft.author, competition, is_organizer=is_organizer)
    text = _checked(competition, draft)
    if (sent := _sent_before(draft, text, now, Q(topic=topic, is_opening=False))) is not None:
        return sent
    topic = lock_topic(topic)
    rights.require_topic_open(topic, is_organizer=is_organizer)
    if not topic.is_shown:
        raise refusals.POST_HIDDEN(state="waiting for an organizer, or removed")
    reason = "" if is_organizer else _admit(draft, rights.wait_reason(writer, text, now), now)
    return _write(topic, draft, text, reason, now, is_opening=False, by_organizer=is_organizer)


def _checked(competition: Competition, draft: Draft, title: str = "") -> str:
    """The text as it is stored. Raises the refusal of its bounds, its mentions, or numbers in it."""
    text = texts.checked_text(draft.text)
    if (count := len(texts.mentions(text))) > MOST_MENTIONS:
        raise refusals.TOO_MANY_MENTIONS(count=count, limit=MOST_MENTIONS)
    number = None if draft.numbers_confirmed else texts.score_like_number(f"{title}\n{text}")
    if number is not None and has_announced_seal(competition):
        raise refusals.NUMBERS_UNDER_SEAL(number=number)
    return text


def _sent_before(draft: Draft, text: str, now: datetime, place: Q) -> Post | None:
    """The post that this form has made already, or the same text a moment ago."""
    own = Post.objects.filter(author=draft.author).select_related("topic__competition")
    if draft.key is not None and (same := own.filter(key=draft.key).first()) is not None:
        return same
    recent = own.filter(place, created_at__gt=now - SENT_TWICE, state__in=[Post.State.SHOWN, Post.State.WAITING])
    return next((post for post in recent.order_by("-pk")[:5] if post.body == text), None)


def _admit(draft: Draft, reason: str, now: datetime) -> str:
    """Pass on why the text waits, once there is room for another post. Raises `TOO_MANY_POSTS`."""
    rights.require_room(draft.author, now)
    return reason


def _write(
    topic: Topic, draft: Draft, text: str, reason: str, now: datetime, *, is_opening: bool, by_organizer: bool
) -> Post:
    post = Post.objects.create(
        topic=topic,
        is_opening=is_opening,
        author=draft.author,
        by_organizer=by_organizer,
        body=text,
        state=Post.State.WAITING if reason else Post.State.SHOWN,
        key=draft.key or uuid.uuid4(),
        created_at=now,
    )
    images_attach(post)
    follow_topic(user=draft.author, topic=topic)
    if reason:
        Report.objects.create(post=post, competition=topic.competition, text=reason, created_at=now)
    post_show(post, now)
    return post


def post_show(post: Post, now: datetime) -> None:
    """Count a post that was written or let through, have it found, and tell people.

    Call under the topic's lock.
    """
    topic = post.topic
    index_words(post)
    if post.is_shown:
        topic.last_post_at = max(topic.last_post_at, post.created_at)
    count_post(post, +1 if post.is_shown else 0)
    notice_ask(post, now)


def count_post(post: Post, change: int) -> None:
    """Add to the topic's count of visible posts.

    Call under the topic's lock, with the topic read under it.
    """
    topic = post.topic
    if not post.is_opening:
        topic.reply_count += change
    topic_show(topic, opening=post.state if post.is_opening else "")


def topic_show(topic: Topic, *, opening: str = "") -> None:
    """Write whether a topic is shown, with its counters; `opening` is its first post's state, if known."""
    opening = opening or topic.posts.values_list("state", flat=True).get(is_opening=True)
    has_replies = topic.reply_count > 0 and opening != Post.State.WAITING
    topic.is_shown = topic.removed_at is None and (opening == Post.State.SHOWN or has_replies)
    topic.save(update_fields=["reply_count", "last_post_at", "is_shown", "removed_at"])


def index_words(post: Post) -> None:
    """Have a shown post found by its words, and a hidden one by none."""
    PostWord.objects.filter(post=post).delete()
    topic = post.topic
    if not post.is_shown:
        return
    text = f"{topic.title}\n{post.body}" if post.is_opening else post.body
    rows = [
        PostWord(competition_id=topic.competition_id, topic=topic, post=post, word=word) for word in texts.words(text)
    ]
    PostWord.objects.bulk_create(rows, batch_size=500, ignore_conflicts=True)


def lock_topic(topic: Topic) -> Topic:
    """The topic with its competition, locked. Call in a transaction."""
    return Topic.objects.select_for_update(of=("self",), no_key=True).select_related("competition").get(pk=topic.pk)


def lock_post(post: Post) -> Post:
    """The post with its topic and competition, both locked. Call in a transaction."""
    Topic.objects.select_for_update(of=("self",), no_key=True).get(pk=post.topic_id)
    rows = Post.objects.select_related("topic__competition", "author")
    return rows.select_for_update(of=("self",), no_key=True).get(pk=post.pk)


@transaction.atomic
def post_edit(*, post: Post, draft: Draft, seen_version: int, title: str | None = None, now: datetime) -> Post:
    """Replace a post's text, and a topic's title with its first post; what was shown is in the history.

    `seen_version` is that of the text that the author began with. Raises `NOT_YOUR_POST`, `POST_HIDDEN`, `TOPIC_LOCKED`,
    `EDITED_MEANWHILE`, `TOO_MANY_EDITS`, or what a new post is refused for; then nothing is written.
    """
    competition = post.topic.competition
    is_organizer = organizes(draft.author, competition.pk)
    writer = rights.require_writer(draft.author, competition, is_organizer=is_organizer)
    post = lock_post(post)
    _require_editable(post, draft.author, is_organizer=is_organizer)
    topic = post.topic
    new_title = texts.checked_title(title) if title is not None and post.is_opening else topic.title
    text = _checked(competition, draft, new_title if new_title != topic.title else "")
    if (text, new_title) == (post.body, topic.title):
        return post
    if post.version != seen_version:
        raise refusals.EDITED_MEANWHILE()
    rights.require_edit(draft.author)
    is_read = post.is_shown and not is_organizer
    reason = rights.wait_reason(writer, f"{new_title}\n{text}", now) if is_read else ""
    if post.is_shown:  # everybody reads the history: a text that waits has been let through by nobody
        _keep_revision(post, topic.title if new_title != topic.title else "", draft.author, now)
    if new_title != topic.title:
        topic.title = new_title
        topic.save(update_fields=["title"])
    post.body, post.version, post.edited_at = text, post.version + 1, now
    if reason:
        post.state = Post.State.WAITING
        Report.objects.create(post=post, competition=competition, text=f"Edited. {reason}", created_at=now)
    post.save()
    images_attach(post)
    index_words(post)
    count_post(post, -1 if reason else 0)
    if reason:
        notice_ask(post, now)
    return post


def _require_editable(post: Post, user: User, *, is_organizer: bool) -> None:
    if post.author_id != user.pk:
        raise refusals.NOT_YOUR_POST()
    if post.state not in (Post.State.SHOWN, Post.State.WAITING):
        raise refusals.POST_HIDDEN(state=post.get_state_display())
    rights.require_topic_open(post.topic, is_organizer=is_organizer)


def _keep_revision(post: Post, title: str, by: User, now: datetime) -> None:
    PostRevision.objects.create(
        post=post, version=post.version, body=post.body, title=title, replaced_at=now, replaced_by=by
    )
    oldest = post.revisions.values_list("pk", flat=True)[MOST_REVISIONS:]
    PostRevision.objects.filter(pk__in=list(oldest)).delete()


@transaction.atomic
def post_delete(*, post: Post, by: User) -> bool:
    """Hide an own post; its place in the thread stays. False when it was hidden before.

    Raises `NOT_YOUR_POST`.
    """
    post = lock_post(post)
    rights.require_discussion(post.topic.competition)
    if post.author_id != by.pk:
        raise refusals.NOT_YOUR_POST()
    if post.state not in (Post.State.SHOWN, Post.State.WAITING):
        return False
    post_hide(post, Post.State.DELETED)
    return True


def post_hide(post: Post, state: Post.State, reason: str = "") -> None:
    """Hide a post: from the page, from the search, and as a solution. Call under the topic's lock."""
    was_shown = post.is_shown
    post.state, post.state_reason = state, reason
    post.save(update_fields=["state", "state_reason"])
    Topic.objects.filter(pk=post.topic_id, solution=post).update(solution=None)
    index_words(post)
    count_post(post, -1 if was_shown else 0)


@transaction.atomic
def topic_solve(*, topic: Topic, by: User, reply: int | None) -> None:
    """Name the reply that solves a topic, or none. Raises `NOT_YOUR_POST` or `NO_SOLUTION`."""
    topic = lock_topic(topic)
    rights.require_discussion(topic.competition)
    is_organizer = organizes(by, topic.competition_id)
    if topic.author_id != by.pk and not is_organizer:
        raise refusals.NOT_YOUR_POST()
    rights.require_may_write(by, topic.competition, is_organizer=is_organizer)
    rights.require_topic_open(topic, is_organizer=is_organizer)
    solution = None
    if reply is not None:
        solution = topic.posts.filter(pk=reply, is_opening=False, state=Post.State.SHOWN).first()
        if solution is None:
            raise refusals.NO_SOLUTION()
    Topic.objects.filter(pk=topic.pk).update(solution=solution)
