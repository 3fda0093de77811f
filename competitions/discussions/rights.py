"""Rights: who may write in a discussion, and whose posts wait for an organizer."""

from datetime import datetime, timedelta
from typing import Final

from accounts.attempts import Counter, Limit
from accounts.models import User
from competitions.catalog.models import Competition
from competitions.discussions import refusals
from competitions.discussions.models import Post, Topic, Writer
from competitions.discussions.texts import MANY_ROWS, data_rows, has_link
from competitions.teams.services import require_registration

PERIODS: Final = (  # of one person, over all competitions
    (timedelta(minutes=1), 5, "a minute"),
    (timedelta(hours=1), 30, "an hour"),
    (timedelta(days=1), 100, "a day"),
)
PREVIEWS: Final = Limit(20, 60)  # of one person: a long text takes seconds
EDITS: Final = Limit(50, 24 * 3600)  # of one person
MOST_WAITING: Final = 3  # posts of one person
TRUSTED_AFTER: Final = timedelta(days=1)


def require_discussion(competition: Competition) -> None:
    """Raise `NO_DISCUSSION` where it is off or elsewhere."""
    if competition.discussion != Competition.Discussion.HERE:
        raise refusals.NO_DISCUSSION(competition=competition)


def require_may_write(user: User, competition: Competition, *, is_organizer: bool) -> None:
    """Raise the reason why this person may not write here.

    `NO_DISCUSSION`, `ROBOTS_WRITE_NOTHING`, `BANNED`, or what `require_registration` refuses.
    """
    require_discussion(competition)
    if user.is_robot:
        raise refusals.ROBOTS_WRITE_NOTHING()
    if is_organizer:
        return
    require_registration(user=user, competition=competition)
    banned = Writer.objects.filter(competition=competition, user=user, banned_at__isnull=False).first()
    if banned is not None:
        raise refusals.BANNED(reason=banned.ban_reason)


def require_writer(user: User, competition: Competition, *, is_organizer: bool) -> Writer:
    """The person's row, locked: all that they write takes turns. Call in a transaction.

    Raises what `require_may_write` raises.
    """
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # limits are over all competitions
    require_may_write(user, competition, is_organizer=is_organizer)
    Writer.objects.get_or_create(competition=competition, user=user)
    return (
        Writer.objects.select_for_update(of=("self",))
        .select_related("competition")
        .get(competition=competition, user=user)
    )


def require_room(user: User, now: datetime) -> None:
    """Raise `TOO_MANY_POSTS` for a person who has written as much as one may for now."""
    own = Post.objects.filter(author=user)
    for period, limit, name in PERIODS:
        if own.filter(created_at__gt=now - period).count() >= limit:
            raise refusals.TOO_MANY_POSTS(limit=limit, period=name)


def require_preview(user: User) -> None:
    """Raise `TOO_MANY_PREVIEWS` for a person who has had many texts laid out within a minute."""
    if Counter(f"previews of {user.pk}", PREVIEWS).add(1) > PREVIEWS.amount:
        raise refusals.TOO_MANY_PREVIEWS(limit=PREVIEWS.amount)


def require_edit(user: User) -> None:
    """Raise `TOO_MANY_EDITS` for a person who has made many edits within a day."""
    if Counter(f"edits of {user.pk}", EDITS).add(1) > EDITS.amount:
        raise refusals.TOO_MANY_EDITS(limit=EDITS.amount)


def wait_reason(writer: Writer, text: str, now: datetime) -> str:
    """The reason why a new text waits for an organizer; empty: it is shown at once. Raises `POSTS_WAIT`."""
    reason = _wait_reason(writer, text, now)
    if reason:
        waiting = Post.objects.filter(
            author=writer.user_id, topic__competition=writer.competition_id, state=Post.State.WAITING
        ).count()
        if waiting >= MOST_WAITING:
            raise refusals.POSTS_WAIT(count=waiting)
    return reason


def _wait_reason(writer: Writer, text: str, now: datetime) -> str:
    if (rows := data_rows(text)) >= MANY_ROWS:
        return f"It has {rows:,} lines that look like rows of data."
    if is_trusted(writer, now):
        return ""
    review = writer.competition.discussion_review
    if review == Competition.Review.FIRST:
        return "It is the first post of its author."
    if review == Competition.Review.LINKS and has_link(text):
        return "It is the first post of its author with a link or an image."
    return ""


def is_trusted(writer: Writer, now: datetime) -> bool:
    """An organizer has let this person write, or a post of theirs has been shown for a day."""
    if writer.is_trusted:
        return True
    shown = Post.objects.filter(author=writer.user_id, topic__competition=writer.competition_id, state=Post.State.SHOWN)
    return shown.filter(created_at__lte=now - TRUSTED_AFTER).exists()


def require_topic_open(topic: Topic, *, is_organizer: bool) -> None:
    """Raise `TOPIC_LOCKED` for all but organizers."""
    if topic.locked_at is not None and not is_organizer:
        raise refusals.TOPIC_LOCKED(topic=topic)
