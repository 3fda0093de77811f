"""Announcements as topics: each that is published has one, where people ask about it."""

import uuid
from datetime import datetime
from typing import Any

from django.utils import timezone

from competitions.catalog.models import Announcement, Competition
from competitions.discussions.models import MAX_POST, MAX_TITLE, Post, Topic
from competitions.discussions.services import index_words, lock_topic, topic_show


def announcement_discuss(sender: type[Announcement], announcement: Announcement, **kwargs: Any) -> None:
    """Receiver of `announcement_published`: open its topic, or show it again."""
    competition, now = announcement.competition, timezone.now()
    if competition.discussion != Competition.Discussion.HERE:
        return
    topic, is_new = Topic.objects.get_or_create(
        announcement=announcement,
        defaults={
            "competition": competition,
            "title": announcement.title[:MAX_TITLE],
            "by_organizer": True,
            "last_post_at": now,
            "created_at": now,
        },
    )
    if is_new:
        opening = Post.objects.create(
            topic=topic,
            is_opening=True,
            by_organizer=True,
            body=announcement.body[:MAX_POST],
            key=uuid.uuid4(),
            created_at=now,
        )
        index_words(opening)
    _set_removed(topic, None)


def announcement_hide(sender: type[Announcement], announcement: Announcement, **kwargs: Any) -> None:
    """Receiver of `announcement_withdrawn`: hide its topic with it."""
    for topic in Topic.objects.filter(announcement=announcement):
        _set_removed(topic, timezone.now())


def _set_removed(topic: Topic, removed_at: datetime | None) -> None:
    topic = lock_topic(topic)  # replies are counted meanwhile
    topic.removed_at = removed_at
    topic_show(topic)
