"""Following, and telling people of posts: in the background, never in the words of a post."""

from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from accounts.models import User
from accounts.people.blocks import hearing
from competitions.catalog.models import Competition, CompetitionOrganizer
from competitions.discussions.models import Post, PostNotice, Subscription, Topic
from competitions.discussions.texts import mentions
from competitions.notifications.models import Kind
from competitions.notifications.services import event_forget, notify
from competitions.teams.models import Membership
from competitions.teams.notices import registered_people
from core.background import jobs
from core.background.rows import Claim, claims

JOB: Final = "post-notice"


def follow_topic(*, user: User, topic: Topic) -> None:
    """Follow a topic by writing in it, unless the person chose not to."""
    Subscription.objects.get_or_create(user=user, topic=topic, defaults={"competition": topic.competition})


def follow_set(*, user: User, competition: Competition, topic: Topic | None, is_on: bool) -> None:
    """Follow or unfollow a topic, or all new topics (None)."""
    Subscription.objects.update_or_create(
        user=user, topic=topic, competition=competition, defaults={"is_on": is_on, "waits": False}
    )


def looked_at(subscription: Subscription) -> None:
    """Note that the person has seen the topic: they are told of the next reply again."""
    Subscription.objects.filter(pk=subscription.pk).update(waits=False)


def organizing_people(competition: Competition) -> QuerySet[User]:
    """The people who organize the competition."""
    rows = CompetitionOrganizer.objects.filter(competition=competition)
    return User.objects.filter(pk__in=rows.values("user"))


def notice_ask(post: Post, now: datetime) -> None:
    """Have people told of the post after the commit; of one that waits, the organizers."""
    notice, _ = PostNotice.objects.update_or_create(
        post=post, defaults={"created_at": now, "claim_id": None, "claimed_until": None}
    )
    jobs.send_after_commit(JOB, notice.pk)


def waiting_notices() -> QuerySet[PostNotice]:
    """Posts of which somebody is to be told."""
    return PostNotice.objects.all()


@transaction.atomic
@claims(waiting_notices, "post__topic__competition", "post__author")
def notice_perform(notice: PostNotice, claimed: Claim) -> None:
    """Tell people of one post, once; nothing when nobody asks for that any more."""
    post = notice.post
    if post.state == Post.State.WAITING:
        desk_notify(post.topic.competition, notice.created_at)
    elif post.is_shown and post.topic.is_shown:
        _notify_readers(post)
    claimed.held.delete()


NOTICE: Final = jobs.Job(JOB, waiting=waiting_notices, perform=notice_perform)


def post_path(post: Post) -> str:
    """The address of a post on its topic's page."""
    return f"/competitions/{post.topic.competition.slug}/discussion/{post.topic_id}/?at={post.pk}#post-{post.pk}"


def _events(post: Post) -> tuple[str, str]:
    """The names of what is told of a post: to those who are mentioned, and to those who follow."""
    return f"post-{post.pk}-mention", f"post-{post.pk}"


def post_forget(post: Post) -> None:
    """Take what was told of a post out of all inboxes."""
    for event in _events(post):
        event_forget(event)


def _notify_readers(post: Post) -> None:
    """Tell those who are mentioned, then those who follow; of an announcement everybody knows already."""
    mentioned = _notify_mentioned(post)
    if post.topic.announcement_id is None or not post.is_opening:
        _notify_followers(post, besides=mentioned)


def _notify_mentioned(post: Post) -> list[int]:
    """Tell those whom the post mentions; returns their numbers."""
    topic, competition, who = post.topic, post.topic.competition, post.author or "Somebody"
    numbers = list(_readers(mentioned_people(post), post).values_list("pk", flat=True).distinct())
    if numbers:
        notify(
            people=User.objects.filter(pk__in=numbers),
            kind=Kind.MENTION,
            competition=competition,
            event=_events(post)[0],
            subject=f"{competition}: {who} mentions you in “{topic}”",
            text=f"{who} mentions you or your team in the topic “{topic}” of the discussion of “{competition}”.",
            path=post_path(post),
        )
    return numbers


def _notify_followers(post: Post, *, besides: list[int]) -> None:
    topic, competition, who = post.topic, post.topic.competition, post.author or "Somebody"
    followers = _readers(_followers(post), post).exclude(pk__in=besides)
    readers = list(followers.values_list("pk", flat=True).distinct())
    if not readers:
        return
    what = f"{who} opened the topic “{topic}”" if post.is_opening else f"{who} replied in “{topic}”"
    notify(
        people=User.objects.filter(pk__in=readers),
        kind=Kind.TOPIC if post.is_opening else Kind.REPLY,
        competition=competition,
        event=_events(post)[1],
        subject=f"{competition}: {what}",
        text=f"{what} in the discussion of “{competition}”. You follow it.",
        path=post_path(post),
    )
    if not post.is_opening:
        Subscription.objects.filter(topic=topic, user__in=readers).update(waits=True)


def _readers(people: QuerySet[User], post: Post) -> QuerySet[User]:
    """Those of these people who see the competition, without the author and people who block the author."""
    competition = post.topic.competition
    seeing = people if competition.is_published else people.filter(pk__in=organizing_people(competition).values("pk"))
    return hearing(seeing.exclude(pk=post.author_id or 0), post.author_id)


def _followers(post: Post) -> QuerySet[User]:
    """Followers who have looked since; of a new topic, those of the discussion and organizers."""
    topic = post.topic
    if not post.is_opening:
        rows = Subscription.objects.filter(topic=topic, is_on=True, waits=False)
        return User.objects.filter(pk__in=rows.values("user"))
    own = Subscription.objects.filter(competition=topic.competition, topic=None)
    organizers = Q(pk__in=organizing_people(topic.competition).values("pk")) & ~Q(
        pk__in=own.filter(is_on=False).values("user")
    )
    return User.objects.filter(Q(pk__in=own.filter(is_on=True).values("user")) | organizers)


def mentioned_people(post: Post) -> QuerySet[User]:
    """People who take part or organize, and whom the post mentions, by name or with their team."""
    named, competition = mentions(post.body), post.topic.competition
    if not named.people and not named.teams:
        return User.objects.none()
    known = User.objects.filter(
        Q(pk__in=registered_people(competition).values("pk")) | Q(pk__in=organizing_people(competition).values("pk"))
    )
    teams = Membership.objects.filter(competition=competition, team__searched_name__in=named.teams)
    people = known.annotate(lower_name=Lower("username"))
    return people.filter(Q(lower_name__in=named.people) | Q(pk__in=teams.values("user")))


def desk_notify(competition: Competition, now: datetime) -> None:
    """Tell organizers that the moderation desk has something for them, at most once an hour."""
    notify(
        people=organizing_people(competition),
        kind=Kind.MODERATION,
        competition=competition,
        event=f"desk-{competition.pk}-{now:%Y-%m-%d-%H}",
        subject=f"{competition}: posts to look at",
        text=f"In the discussion of “{competition}” posts wait for you, or were reported.",
        path=f"/host/competitions/{competition.slug}/discussion/",
    )


def author_notify(post: Post, subject: str, text: str) -> None:
    """Tell a post's author what an organizer decided."""
    competition = post.topic.competition
    notify(
        people=User.objects.filter(pk=post.author_id or 0),
        kind=Kind.MODERATION,
        competition=competition,
        subject=f"{competition}: {subject}",
        text=text,
        path=f"/competitions/{competition.slug}/discussion/{post.topic_id}/",
    )
