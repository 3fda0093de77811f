"""Writing in a discussion: by whom, within which bounds, and what is refused in words."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from accounts.attempts import Limit
from competitions.catalog.models import Announcement, Competition, Phase
from competitions.catalog.services import rules_publish
from competitions.catalog.texts.announcements import announcement_save, announcement_withdraw
from competitions.discussions import refusals, rights
from competitions.discussions.models import MAX_POST, Post, PostRevision, Report, Topic
from competitions.discussions.moderation import post_approve, topic_lock, writer_ban, writer_readmit
from competitions.discussions.reading import topic_page
from competitions.discussions.rights import MOST_WAITING, PERIODS
from competitions.discussions.services import (
    MOST_MENTIONS,
    MOST_REVISIONS,
    post_delete,
    post_edit,
    reply_create,
    topic_create,
    topic_solve,
)
from competitions.discussions.texts import MANY_ROWS, MAX_LINES
from competitions.teams.refusals import NOT_REGISTERED, RULES_CHANGED
from tests.functional.discussions.world import draft, open_topic, reply
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person

SECOND = timedelta(seconds=1)


def fresh(post: Post) -> Post:
    return Post.objects.select_related("topic__competition").get(pk=post.pk)


def test_those_who_take_part_and_organizers_write_and_nobody_else(site: Scenario) -> None:
    topic = open_topic(site)
    answer = reply(topic, site.organizer, at=site.now + SECOND)
    assert (answer.by_organizer, topic.by_organizer) == (True, False)
    assert Topic.objects.get(pk=topic.pk).reply_count == 1
    with refuses(NOT_REGISTERED):
        reply(topic, person(), at=site.now)
    with refuses(refusals.ROBOTS_WRITE_NOTHING):
        reply(topic, person(is_robot=True), at=site.now)
    rules_publish(competition=site.competition, text="New rules.", now=site.now)
    with refuses(RULES_CHANGED):
        reply(Topic.objects.select_related("competition").get(pk=topic.pk), site.member(), at=site.now)
    Competition.objects.filter(pk=site.competition.pk).update(discussion="off")
    with refuses(refusals.NO_DISCUSSION):
        reply(Topic.objects.select_related("competition").get(pk=topic.pk), site.organizer, at=site.now)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("  \n ", refusals.POST_EMPTY, "is empty"),
        ("x" * (MAX_POST + 1), refusals.POST_TOO_LONG, "20,001 characters"),
        ("a\n" * 10_000 + "b", refusals.POST_TOO_MANY_LINES, f"10,001 lines; at most {MAX_LINES:,}"),
        (" ".join(f"@p{n}" for n in range(MOST_MENTIONS + 1)), refusals.TOO_MANY_MENTIONS, "mentions 11"),
    ],
    ids=["empty", "long", "ten thousand lines", "mentions"],
)
def test_a_text_beyond_its_bounds_is_refused_with_how_much_is_possible(
    site: Scenario, text: str, kind: Any, says: str
) -> None:
    with refuses(kind, match=says):
        open_topic(site, text=text)
    assert not Post.objects.exists()


@pytest.mark.parametrize(("title", "says"), [("", "no title"), ("a\nb", "one line"), ("x" * 161, "161 characters")])
def test_a_title_is_one_short_line(site: Scenario, title: str, says: str) -> None:
    with refuses(refusals.TITLE_WRONG, match=says):
        open_topic(site, title=title)


def test_a_form_that_is_sent_twice_is_one_post(site: Scenario) -> None:
    key, member = uuid.uuid4(), site.member()
    first, again = (
        topic_create(competition=site.competition, draft=draft(member, key=key), title="Seeds", now=site.now)
        for _ in "12"
    )
    assert first.pk == again.pk
    topic = Topic.objects.select_related("competition").get()
    same = [reply(topic, member, at=site.now + number * SECOND).pk for number in range(2)]
    assert same[0] == same[1], "the same text a second later, without a key"
    assert reply(topic, member, at=site.now + timedelta(minutes=11)).pk != same[0]
    assert Topic.objects.get().reply_count == 2


def test_a_person_writes_only_so_much_in_a_minute(site: Scenario) -> None:
    topic, (_, limit, _) = open_topic(site), PERIODS[0]
    for number in range(limit - 1):
        reply(topic, site.member(), f"Text {number}", at=site.now + SECOND)
    with refuses(refusals.TOO_MANY_POSTS, match="5 posts within a minute"):
        reply(topic, site.member(), "One more", at=site.now + SECOND)
    reply(topic, site.member(), "One more", at=site.now + timedelta(minutes=2))
    assert reply(topic, site.organizer, at=site.now).by_organizer, "organizers are not counted"


@pytest.mark.parametrize(
    ("review", "text", "waits"),
    [
        ("links", "Hello.", False),
        ("links", "See https://example.org", True),
        ("links", "![x](a.png)", True),
        ("first", "Hello.", True),
        ("none", "See https://example.org", False),
        ("none", "\n".join(f"{n},0.5" for n in range(1000)), True),
    ],
    ids=["plain", "link", "image", "every first one", "nothing waits", "labels by the thousand"],
)
def test_first_posts_wait_as_the_organizers_chose_and_rows_of_data_always(
    site: Scenario, review: str, text: str, waits: bool
) -> None:
    Phase.objects.filter(competition=site.competition).update(visibility="public")
    Competition.objects.filter(pk=site.competition.pk).update(discussion_review=review)
    site.competition.refresh_from_db()
    topic = open_topic(site, text=text)
    assert (topic.is_shown, topic.posts.get().state) == (not waits, "waiting" if waits else "shown")
    assert Report.objects.filter(post__topic=topic, reporter=None).count() == waits
    assert topic_page(site.competition, site.organizer).topics == ([] if waits else [topic])
    if "0.5" in text:
        assert "1,000 lines that look like rows of data" in Report.objects.get().text
        assert MANY_ROWS < 1000


def test_who_was_let_through_waits_no_more_and_who_waits_writes_no_heap(site: Scenario) -> None:
    link = "See https://example.org/"
    for number in range(MOST_WAITING):
        open_topic(site, title=f"Link {number}", text=link, at=site.now + timedelta(minutes=number))
    with refuses(refusals.POSTS_WAIT, match="3 posts of yours wait"):
        open_topic(site, title="Another", text=link, at=site.now + timedelta(minutes=9))
    post_approve(post=Post.objects.earliest("pk"), by=site.organizer, now=site.now + timedelta(minutes=9))
    assert Topic.objects.earliest("pk").is_shown
    assert open_topic(site, title="Another", text=link, at=site.now + timedelta(minutes=10)).is_shown


def test_trust_comes_with_a_post_that_was_shown_for_a_day(site: Scenario) -> None:
    topic = open_topic(site)
    link = "See https://example.org/"
    assert reply(topic, site.member(), link, at=site.now + timedelta(hours=23)).state == "waiting"
    assert reply(topic, site.member(), link + "2", at=site.now + timedelta(hours=25)).state == "shown"


def test_an_edit_that_adds_a_link_waits_as_a_new_post_does(site: Scenario) -> None:
    topic = open_topic(site)
    post = post_edit(
        post=topic.posts.get(), draft=draft(site.member(), "https://spam.example"), seen_version=1, now=site.now
    )
    assert (post.state, Topic.objects.get().is_shown) == ("waiting", False)
    assert not topic_page(site.competition, site.organizer, words="spam").topics


def test_numbers_are_asked_about_where_everybody_knows_of_a_seal_whatever_they_are(site: Scenario) -> None:
    """The question follows from the seal and the text alone: it is the same for any number, scored or not."""
    site.score(site.submit(phase=site.sealed), 0.987654321)
    for number in ("0.987654321", "0.123456789"):
        with refuses(refusals.NUMBERS_UNDER_SEAL, match=number):
            open_topic(site, text=f"I have {number} here.")
    assert topic_create(
        competition=site.competition, draft=draft(site.member(), "0.5000", confirmed=True), title="A", now=site.now
    ).is_shown
    assert open_topic(site, title="Versions", text="numpy 1.26.4, 3 epochs, 2030-05-01, 2.5 h").is_shown
    site.sealed.visibility = "public"
    site.sealed.save()
    assert open_topic(site, title="Open", text="0.987654321").is_shown


def test_a_locked_topic_takes_posts_of_organizers_alone(site: Scenario) -> None:
    topic = open_topic(site)
    topic_lock(topic=topic, is_locked=True, now=site.now)
    with refuses(refusals.TOPIC_LOCKED, match="locked “Seeds”"):
        reply(topic, site.member(), at=site.now)
    with refuses(refusals.TOPIC_LOCKED):
        post_edit(post=topic.posts.get(), draft=draft(site.member(), "New"), seen_version=1, now=site.now)
    assert reply(topic, site.organizer, at=site.now).is_shown
    topic_lock(topic=topic, is_locked=False, now=site.now)
    assert reply(topic, site.member(), at=site.now).is_shown


def test_who_is_excluded_writes_and_edits_nothing_until_let_back(site: Scenario) -> None:
    topic, member = open_topic(site), site.member()
    reply(topic, site.organizer, at=site.now)
    count = writer_ban(
        competition=site.competition, user=member, by=site.organizer, reason="Spam.", removes=True, now=site.now
    )
    assert count == 1
    shown = Topic.objects.select_related("competition").get()
    assert (shown.is_shown, shown.posts.get(is_opening=True).state) == (True, "removed"), "the reply keeps the thread"
    with refuses(refusals.BANNED, match="Spam"):
        reply(topic, member, at=site.now)
    with refuses(refusals.BANNED, match="Spam"):
        post_edit(post=topic.posts.earliest("pk"), draft=draft(member, "X"), seen_version=1, now=site.now)
    with refuses(refusals.ORGANIZERS_STAY):
        writer_ban(
            competition=site.competition,
            user=site.organizer,
            by=site.organizer,
            reason="X",
            removes=False,
            now=site.now,
        )
    assert writer_readmit(competition=site.competition, user=member)
    assert not writer_readmit(competition=site.competition, user=member)
    assert reply(topic, member, at=site.now).is_shown


def test_two_edits_at_once_lose_nothing_and_the_history_is_bounded(site: Scenario) -> None:
    topic, member = open_topic(site), site.member()
    post = fresh(topic.posts.get())
    post_edit(post=post, draft=draft(member, "First edit"), seen_version=1, title="Seeds, again", now=site.now)
    with refuses(refusals.EDITED_MEANWHILE):
        post_edit(post=post, draft=draft(member, "Second edit"), seen_version=1, now=site.now)
    assert (fresh(post).body, fresh(post).topic.title) == ("First edit", "Seeds, again")
    revision = PostRevision.objects.get()
    assert (revision.body, revision.title, revision.version) == ("Which seed?", "Seeds", 1)
    for version in range(2, MOST_REVISIONS + 5):
        post_edit(post=post, draft=draft(member, f"Text {version}"), seen_version=version, now=site.now)
    assert PostRevision.objects.count() == MOST_REVISIONS
    with refuses(refusals.NOT_YOUR_POST):
        post_edit(post=post, draft=draft(site.organizer, "Theirs"), seen_version=fresh(post).version, now=site.now)
    version = fresh(post).version
    same = post_edit(post=post, draft=draft(member, fresh(post).body), seen_version=version, now=site.now)
    assert same.version == version, "a form that is sent twice is one edit"


def test_a_text_that_was_never_shown_is_not_in_the_history(site: Scenario) -> None:
    topic, member = open_topic(site, text="Label 7, see https://example.org/"), site.member()
    post, history = (
        fresh(topic.posts.get()),
        reverse("web:post-history", args=[site.competition.slug, topic.posts.get().pk]),
    )
    rows = "\n".join(f"{number},{number % 2}" for number in range(MANY_ROWS))
    for version, text in enumerate(("Label 8, see https://example.org/", "Which seed?"), start=1):
        post_edit(post=post, draft=draft(member, text), seen_version=version, title=f"Title {version}", now=site.now)
    post_approve(post=post, by=site.organizer, now=site.now)
    post_edit(post=post, draft=draft(member, rows), seen_version=3, now=site.now)
    assert fresh(post).state == "waiting"
    post_edit(post=post, draft=draft(member, "Which seeds?"), seen_version=4, now=site.now)
    post_approve(post=post, by=site.organizer, now=site.now)
    assert list(PostRevision.objects.values_list("version", "body")) == [(3, "Which seed?")]
    page = body_text(Client().get(history))
    assert [text in page for text in ("Which seed?", "Label", "Title 1", "7,1")] == [True, False, False, False]


def test_edits_are_bounded_also_of_a_post_that_waits(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(rights, "EDITS", Limit(3, 24 * 3600))
    for waits in (False, True):
        post = fresh(
            open_topic(site, title=f"Waits: {waits}", text="See https://example.org/" * waits or "X").posts.get()
        )
        assert post.is_shown is not waits
        for version in (1, 2, 3):
            post_edit(post=post, draft=draft(site.member(), f"Text {version}"), seen_version=version, now=site.now)
        with refuses(refusals.TOO_MANY_EDITS, match="3 edits within a day"):
            post_edit(post=post, draft=draft(site.member(), "Text 4"), seen_version=4, now=site.now)
        assert fresh(post).version == 4
        cache.clear()


def test_deleting_keeps_the_thread_whole(site: Scenario) -> None:
    topic, member = open_topic(site), site.member()
    answer = reply(topic, site.organizer, "Seed 7.", at=site.now)
    topic_solve(topic=topic, by=member, reply=answer.pk)
    assert post_delete(post=topic.posts.get(is_opening=True), by=member) is not None
    shown = Topic.objects.get()
    assert (shown.is_shown, shown.reply_count, shown.solution_id) == (True, 1, answer.pk)
    page = user_client(person()).get(reverse("web:topic", args=[site.competition.slug, topic.pk])).content.decode()
    assert "This post was deleted by its author." in page
    assert "Which seed?" not in page
    assert "Seed 7." in page
    with refuses(refusals.NOT_YOUR_POST):
        post_delete(post=answer, by=member)
    assert post_delete(post=answer, by=site.organizer)
    assert not post_delete(post=answer, by=site.organizer)
    gone = Topic.objects.get()
    assert (gone.is_shown, gone.reply_count, gone.solution) == (False, 0, None)


def test_the_author_and_organizers_name_the_reply_that_solves_it(site: Scenario) -> None:
    topic, other = open_topic(site), site.join("Others")
    answer = reply(topic, site.member(other), at=site.now)
    with refuses(refusals.NOT_YOUR_POST):
        topic_solve(topic=topic, by=site.member(other), reply=answer.pk)
    with refuses(refusals.NO_SOLUTION):
        topic_solve(topic=topic, by=site.member(), reply=topic.posts.get(is_opening=True).pk)
    topic_solve(topic=topic, by=site.member(), reply=answer.pk)
    assert topic_page(site.competition, site.organizer, show="solved").topics == [topic]
    topic_solve(topic=topic, by=site.organizer, reply=None)
    assert topic_page(site.competition, site.organizer, show="solved").topics == []


def test_an_announcement_is_a_topic_as_long_as_it_is_published(site: Scenario) -> None:
    news = Announcement(competition=site.competition, title="New file", body="**Read** it.", published_at=site.now)
    announcement_save(announcement=news, now=site.now)
    topic = Topic.objects.select_related("competition").get()
    page = reverse("web:topic", args=[site.competition.slug, topic.pk])
    reply(topic, site.member(), "Thanks!", at=site.now)
    assert "<strong>Read</strong> it." in user_client(site.member()).get(page).content.decode()
    announcement_withdraw(announcement=news, now=site.now)
    assert user_client(site.member()).get(page).status_code == 404
    announcement_save(announcement=news, now=site.now)
    assert Topic.objects.get().is_shown
    assert user_client(site.member()).get(page).status_code == 200


def test_a_reply_to_a_topic_that_is_not_shown_is_refused(site: Scenario) -> None:
    topic = open_topic(site, text="https://example.org")
    with refuses(refusals.POST_HIDDEN):
        reply_create(topic=topic, draft=draft(site.member(), "And?"), now=site.now)
