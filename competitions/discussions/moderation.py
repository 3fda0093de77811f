"""Decisions of organizers: posts that wait, reports, pins, locks, removals, exclusions."""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.catalog.organizers import organizes
from competitions.discussions import refusals
from competitions.discussions.following import author_notify, desk_notify, post_forget
from competitions.discussions.models import MAX_REASON, Post, Report, Topic, Writer
from competitions.discussions.rights import require_writer
from competitions.discussions.services import lock_post, lock_topic, post_hide, post_show, topic_show
from competitions.teams.models import Registration

TOPIC_ACTIONS: Final = ("pin", "unpin", "lock", "unlock", "remove", "restore")
POST_ACTIONS: Final = ("approve", "remove", "dismiss", "clear")
MOST_PINNED: Final = 5
REPORTS_A_DAY: Final = 20
MOST_AT_ONCE: Final = 200  # posts that are removed with their author; more by doing it again


def reasoned(text: str) -> str:
    """A reason that somebody reads. Raises `REASON_MISSING`."""
    text = text.replace("\0", "").strip()
    if not text or len(text) > MAX_REASON:
        raise refusals.REASON_MISSING()
    return text


@transaction.atomic
def post_report(*, post: Post, by: User, text: str, now: datetime) -> bool:
    """Report a shown post to the organizers; False for a second report by the same person.

    Raises `REASON_MISSING`, `OWN_POST`, `POST_HIDDEN`, `TOO_MANY_REPORTS`, or what `require_writer` refuses.
    """
    competition = post.topic.competition
    require_writer(by, competition, is_organizer=organizes(by, competition.pk))
    text = reasoned(text)
    if post.author_id == by.pk:
        raise refusals.OWN_POST()
    if not post.is_shown:
        raise refusals.POST_HIDDEN(state=post.get_state_display())
    recent = Report.objects.filter(reporter=by, created_at__gt=now - timedelta(days=1)).count()
    if recent >= REPORTS_A_DAY:
        raise refusals.TOO_MANY_REPORTS(limit=REPORTS_A_DAY)
    defaults = {"competition": competition, "text": text, "created_at": now}
    _, is_new = Report.objects.get_or_create(post=post, reporter=by, defaults=defaults)
    if is_new:
        desk_notify(competition, now)
    return is_new


def _lock_seen(post: Post, seen_version: int | None) -> Post:
    """The post, locked, in the version that was decided on; None: in any. Raises `EDITED_MEANWHILE`."""
    post = lock_post(post)
    if seen_version is not None and post.version != seen_version:
        raise refusals.EDITED_MEANWHILE()
    return post


def _settle(post: Post, by: User, now: datetime) -> None:
    Report.objects.filter(post=post, settled_at=None).update(settled_at=now, settled_by=by)


@transaction.atomic
def post_approve(*, post: Post, by: User, now: datetime, seen_version: int | None = None) -> None:
    """Show a post that waits or was removed, and settle its reports; its author waits no more.

    Raises `EDITED_MEANWHILE`.
    """
    if post.author_id is not None:  # the writer's row is locked before the topic's, as when they write
        Writer.objects.update_or_create(
            competition=post.topic.competition, user_id=post.author_id, defaults={"is_trusted": True}
        )
    post = _lock_seen(post, seen_version)
    _settle(post, by, now)
    if post.state not in (Post.State.WAITING, Post.State.REMOVED):
        return
    post.state, post.state_reason = Post.State.SHOWN, ""
    post.save(update_fields=["state", "state_reason"])
    post_show(post, now)
    author_notify(post, "your post is shown", f"An organizer let your post in “{post.topic}” be shown.")


@transaction.atomic
def post_remove(*, post: Post, by: User, reason: str, now: datetime, seen_version: int | None = None) -> None:
    """Hide a post for all but organizers and its author, who is told why.

    Raises `REASON_MISSING` or `EDITED_MEANWHILE`.
    """
    reason = reasoned(reason)
    post = _lock_seen(post, seen_version)
    _settle(post, by, now)
    if post.state != Post.State.REMOVED:
        _remove(post, reason)
        author_notify(post, "your post was removed", f"An organizer removed your post in “{post.topic}”: {reason}")


def _remove(post: Post, reason: str) -> None:
    post_hide(post, Post.State.REMOVED, reason)
    post_forget(post)


@transaction.atomic
def reports_dismiss(*, post: Post, by: User, now: datetime, seen_version: int | None = None) -> None:
    """Settle the reports of a post that stays as it is. Raises `EDITED_MEANWHILE`."""
    _settle(_lock_seen(post, seen_version), by, now)


@transaction.atomic
def history_clear(*, post: Post, seen_version: int | None = None) -> int:
    """Delete the earlier texts of a post; returns how many. Raises `EDITED_MEANWHILE`."""
    return _lock_seen(post, seen_version).revisions.all().delete()[0]


@transaction.atomic
def topic_pin(*, topic: Topic, is_pinned: bool, now: datetime) -> None:
    """Keep a topic above the others, or no longer. Raises `TOO_MANY_PINNED`."""
    Competition.objects.select_for_update(no_key=True).get(pk=topic.competition_id)  # pinned topics are counted
    topic = lock_topic(topic)
    others = Topic.objects.filter(competition=topic.competition_id, pinned_at__isnull=False).exclude(pk=topic.pk)
    if is_pinned and others.count() >= MOST_PINNED:
        raise refusals.TOO_MANY_PINNED(limit=MOST_PINNED)
    topic.pinned_at = now if is_pinned else None
    topic.save(update_fields=["pinned_at"])


@transaction.atomic
def topic_lock(*, topic: Topic, is_locked: bool, now: datetime) -> None:
    """Take no more replies and edits from participants, or take them again."""
    topic = lock_topic(topic)
    topic.locked_at = now if is_locked else None
    topic.save(update_fields=["locked_at"])


@transaction.atomic
def topic_remove(*, topic: Topic, is_removed: bool, now: datetime) -> None:
    """Hide a topic with all its replies, or show it again."""
    topic = lock_topic(topic)
    topic.removed_at = now if is_removed else None
    if is_removed:
        topic.pinned_at = None
        topic.save(update_fields=["pinned_at"])
        for post in topic.posts.select_related("topic").order_by("-pk")[:MOST_AT_ONCE]:
            post_forget(post)
    topic_show(topic)


def topic_decide(*, topic: Topic, action: str, now: datetime) -> None:
    """Do one of `TOPIC_ACTIONS`. Raises `TOO_MANY_PINNED`."""
    if action in ("pin", "unpin"):
        topic_pin(topic=topic, is_pinned=action == "pin", now=now)
    elif action in ("lock", "unlock"):
        topic_lock(topic=topic, is_locked=action == "lock", now=now)
    else:
        topic_remove(topic=topic, is_removed=action == "remove", now=now)


def post_decide(
    *, post: Post, by: User, action: str, reason: str, now: datetime, seen_version: int | None = None
) -> int:
    """Do one of `POST_ACTIONS`; returns how many earlier texts it deleted.

    `seen_version` is that of the text that was decided on. Raises `REASON_MISSING` or `EDITED_MEANWHILE`.
    """
    if action == "approve":
        post_approve(post=post, by=by, now=now, seen_version=seen_version)
    elif action == "remove":
        post_remove(post=post, by=by, reason=reason, now=now, seen_version=seen_version)
    elif action == "dismiss":
        reports_dismiss(post=post, by=by, now=now, seen_version=seen_version)
    else:
        return history_clear(post=post, seen_version=seen_version)
    return 0


def writer_named(competition: Competition, username: str) -> User:
    """The person of this name who takes part or has written; else raises `NOT_A_WRITER`."""
    taking_part = Registration.objects.filter(competition=competition)
    writing = Post.objects.filter(topic__competition=competition, author__isnull=False)
    known = Q(pk__in=taking_part.values("user")) | Q(pk__in=writing.values("author"))
    user = User.objects.filter(known, username__iexact=username.strip()).first()
    if user is None:
        raise refusals.NOT_A_WRITER(competition=competition)
    return user


@transaction.atomic
def writer_ban(*, competition: Competition, user: User, by: User, reason: str, removes: bool, now: datetime) -> int:
    """Exclude a person from writing, and remove their newest posts if asked; returns how many.

    Raises `REASON_MISSING` or `ORGANIZERS_STAY`.
    """
    reason = reasoned(reason)
    if organizes(user, competition.pk):
        raise refusals.ORGANIZERS_STAY(user=user)
    Writer.objects.update_or_create(
        competition=competition, user=user, defaults={"banned_at": now, "ban_reason": reason, "banned_by": by}
    )
    states = [Post.State.SHOWN, Post.State.WAITING]
    posts = Post.objects.filter(author=user, topic__competition=competition, state__in=states).order_by("-pk")
    newest = posts[:MOST_AT_ONCE] if removes else []
    chosen = sorted(newest, key=lambda each: (each.topic_id, each.pk))  # all lock topics in this order
    for post in chosen:
        locked = lock_post(post)
        _settle(locked, by, now)
        _remove(locked, reason)
    return len(chosen)


def writer_readmit(*, competition: Competition, user: User) -> bool:
    """Let a person write again; False for one who was not excluded."""
    banned = Writer.objects.filter(competition=competition, user=user, banned_at__isnull=False)
    return bool(banned.update(banned_at=None, ban_reason="", banned_by=None))
