"""Fills a discussion with up to 100,000 posts and an inbox with as many notifications, by SQL."""

from __future__ import annotations

from typing import Any

from django.db import connection
from django.db.models import Model

from competitions.discussions.models import Post, PostWord, Report, Subscription, Topic
from competitions.discussions.services import Draft, reply_create, topic_create
from competitions.notifications.models import Kind, Notification
from competitions.notifications.services import notify_person
from tests.benchmarks.site.filling import copy
from tests.scenario import Scenario

LEAST = 90  # topics: each list has a full page of them
TABLES: tuple[type[Model], ...] = (Topic, Post, PostWord, Report, Subscription, Notification)


def fill_discussion(site: Scenario, posts: int) -> Topic:
    """Insert a discussion and the member's inbox; returns the longest topic.

    A third of the topics is solved, a third unanswered, and all are the member's, who has read nothing.
    """
    longest, reply = _patterns(site)
    topics, own = max(LEAST, posts // 10), f"t.competition_id = {site.competition.pk} AND t.id <> {longest.pk}"
    ago = "now() - n * interval '1 second'"
    copy(longest, f"generate_series(1, {topics}) n", title="'Topic ' || n", last_post_at=ago, created_at=ago)
    opening = Post.objects.get(topic=longest, is_opening=True)
    new = {"key": "gen_random_uuid()"}
    copy(
        opening, f"(SELECT 1) one JOIN discussions_topic t ON {own}", topic_id="t.id", created_at="t.created_at", **new
    )
    copy(reply, f"generate_series(1, {posts // 2}) n", **new)
    spread = f"(SELECT 1) one JOIN discussions_topic t ON {own} AND t.id %% 3 <> 0 CROSS JOIN generate_series(1, 6) n"
    copy(reply, spread, topic_id="t.id", **new)
    _run(
        "ANALYZE discussions_post",
        f"""UPDATE discussions_topic t SET reply_count = 6, solution_id = CASE WHEN t.id % 3 = 1 THEN p.first END
            FROM (SELECT topic_id, min(id) AS first FROM discussions_post WHERE NOT is_opening GROUP BY topic_id) p
            WHERE p.topic_id = t.id AND {own} AND t.id % 3 <> 0""",
        f"""INSERT INTO discussions_postword (competition_id, topic_id, post_id, word)
            SELECT t.competition_id, t.id, p.id, w.word FROM discussions_post p JOIN discussions_topic t ON t.id = p.topic_id
            CROSS JOIN LATERAL (VALUES ('common'), ('some' || p.id % 5), ('rare' || p.id)) w (word)
            WHERE t.competition_id = {site.competition.pk} ON CONFLICT DO NOTHING""",
    )
    Topic.objects.filter(pk=longest.pk).update(reply_count=posts // 2 + 1)
    copy(
        Subscription.objects.get(topic=longest, user=site.member()),
        f"(SELECT 1) one JOIN discussions_topic t ON {own}",
        topic_id="t.id",
    )
    copy(
        Report.objects.get(post=reply),
        f"(SELECT 1) one JOIN discussions_post q ON q.topic_id = {longest.pk} AND q.id > {reply.pk}",
        post_id="q.id",
    )
    copy(
        Notification.objects.filter(user=site.member()).latest("pk"),
        f"generate_series(1, {posts}) n",
        event="gen_random_uuid()::text",
        created_at=ago,
    )
    _run(*(f"VACUUM ANALYZE {model._meta.db_table}" for model in TABLES))
    return longest


def _patterns(site: Scenario) -> tuple[Topic, Post]:
    """One row of each kind, as people make them."""
    member, now = site.member(), site.now
    opening = topic_create(competition=site.competition, draft=Draft(member, "Which seed?"), title="Seeds", now=now)
    reply = reply_create(topic=opening.topic, draft=Draft(member, "Any **seed** will do."), now=now)
    Report.objects.create(post=reply, competition=site.competition, reporter=None, text="It waits.", created_at=now)
    about: dict[str, Any] = {"subject": "A reply", "text": "Somebody replied.", "path": "/"}
    notify_person(user=member, kind=Kind.REPLY, competition=site.competition, **about)
    return opening.topic, reply


def _run(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
