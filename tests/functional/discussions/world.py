"""Topics and replies for tests, written as people write them."""

from __future__ import annotations

import uuid
from datetime import datetime

from accounts.models import User
from competitions.discussions.models import Post, Topic
from competitions.discussions.services import Draft, reply_create, topic_create
from tests.scenario import Scenario


def draft(author: User, text: str = "Which seed?", *, key: uuid.UUID | None = None, confirmed: bool = False) -> Draft:
    return Draft(author, text, key, confirmed)


def open_topic(
    site: Scenario,
    *,
    by: User | None = None,
    title: str = "Seeds",
    text: str = "Which seed?",
    at: datetime | None = None,
) -> Topic:
    """A topic of the first team's member, or of somebody else."""
    author = by or site.member()
    post = topic_create(competition=site.competition, draft=draft(author, text), title=title, now=at or site.now)
    return Topic.objects.select_related("competition").get(pk=post.topic_id)


def reply(topic: Topic, by: User, text: str = "Any.", *, at: datetime) -> Post:
    post = reply_create(topic=topic, draft=draft(by, text), now=at)
    return Post.objects.select_related("topic__competition").get(pk=post.pk)
