"""Pages of a discussion: lists, topics, forms, moderation, notifications, and a Discourse."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from xml.etree import ElementTree as ET

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from audit.models import AuditEntry
from competitions.catalog.models import Competition, CompetitionOrganizer
from competitions.discussions import refusals
from competitions.discussions.following import follow_set
from competitions.discussions.images import IMAGES_A_DAY, images_expire
from competitions.discussions.models import Post, PostImage, PostWord, Report, Topic, Writer
from competitions.discussions.moderation import (
    MOST_PINNED,
    REPORTS_A_DAY,
    post_remove,
    post_report,
    topic_pin,
    topic_remove,
)
from competitions.discussions.reading import TOPICS_A_PAGE, topic_page
from competitions.discussions.services import post_edit, topic_create
from competitions.notifications.mails import notifications_mail
from competitions.notifications.models import Kind, Notification
from tests.background import run_background
from tests.functional.discussions.world import draft, open_topic, reply
from tests.images import png_bytes
from tests.permissions import body_text, user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person

SECOND = timedelta(seconds=1)
MAX_QUERIES = 10


@pytest.fixture
def member(site: Scenario) -> Client:
    return user_client(site.member())


@pytest.fixture
def organizer(site: Scenario) -> Client:
    return user_client(site.organizer)


def url(site: Scenario, name: str, *arguments: Any) -> str:
    return reverse(name, args=[site.competition.slug, *arguments])


def page(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, address
    return answer.content.decode()


def fill(site: Scenario, topics: int, replies: int = 0) -> Topic:
    """Rows as they would be after months, with `replies` in the first topic; returns it."""
    user, at = site.member(), site.now - timedelta(days=9)
    common = {"competition": site.competition, "author": user, "created_at": at, "is_shown": True}
    rows = Topic.objects.bulk_create(
        Topic(title=f"Topic {number}", last_post_at=at + number * SECOND, **common) for number in range(topics)
    )
    Topic.objects.filter(pk=rows[0].pk).update(reply_count=replies)
    Post.objects.bulk_create(Post(topic=row, is_opening=True, author=user, body="Text.", created_at=at) for row in rows)
    Post.objects.bulk_create(
        Post(topic=rows[0], author=user, body=f"Reply {number}.", created_at=at) for number in range(replies)
    )
    return rows[0]


def test_pages_cost_the_same_with_few_and_many_posts_and_page_by_keyset(
    site: Scenario, member: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    first = fill(site, topics=120, replies=120)
    Post.objects.filter(topic=first).update(html="<p>Text.</p>")  # laid out when it was saved
    for post in Post.objects.filter(topic=first):
        post.save()
    follow_set(user=site.member(), competition=site.competition, topic=first, is_on=True)
    seen: list[str] = []
    address = url(site, "web:discussion")
    for _ in range(10):
        with django_assert_max_num_queries(MAX_QUERIES):
            text = page(member, address)
        seen += [
            part.split("<")[0] for part in text.split('class="topic-title"')[1:] for part in [part.split(">", 1)[1]]
        ]
        if "before=" not in text.split("Older")[0].rpartition("<a")[2]:
            break
        address = url(site, "web:discussion") + text.split("Older")[0].rpartition('href="')[2].split('"')[0].replace(
            "&amp;", "&"
        )
    assert seen == [f"Topic {number}" for number in reversed(range(120))]
    with django_assert_max_num_queries(MAX_QUERIES):
        text = page(member, url(site, "web:topic", first.pk))
    assert ("Reply 0." in text, "Reply 30." in text) == (True, False)
    middle = Post.objects.get(body="Reply 60.").pk
    with django_assert_max_num_queries(MAX_QUERIES):
        text = page(member, f"{url(site, 'web:topic', first.pk)}?at={middle}")
    assert ("Reply 59." in text, "Reply 60." in text, "Earlier replies" in text) == (False, True, True)
    text = page(member, f"{url(site, 'web:topic', first.pk)}?until={middle}")
    assert ("Reply 59." in text, "Reply 60." in text, "Later replies" in text) == (True, False, True)
    for nonsense in ("?before=x", "?before=99999999999999999-1", "?show=x", "?q=%00", "?before=1-99999999999999999999"):
        page(member, url(site, "web:discussion") + nonsense, 400 if "%00" in nonsense else 200)


def test_lists_are_narrowed_and_searched_by_what_is_shown_alone(site: Scenario) -> None:
    seeds = open_topic(site, title="Seeds of the split", text="Reproducible?")
    other = open_topic(site, title="Baseline", text="The **gradient** explodes.", at=site.now + SECOND)
    reply(other, site.organizer, "Clip the gradients.", at=site.now + 2 * SECOND)

    def listed(**narrowed: str) -> list[str]:
        return [topic.title for topic in topic_page(site.competition, site.member(), **narrowed).topics]

    assert listed() == ["Baseline", "Seeds of the split"]
    assert listed(show="unanswered") == ["Seeds of the split"]
    assert (listed(show="own"), listed(show="followed")) == (listed(), listed())
    assert (listed(words="GRAD"), listed(words="gradient clip"), listed(words="clip seeds")) == (
        ["Baseline"],
        ["Baseline"],
        [],
    )
    assert listed(words="of split") == ["Seeds of the split"]
    post_remove(post=seeds.posts.get(), by=site.organizer, reason="Off topic.", now=site.now)
    assert listed(words="reproducible") == listed(show="unanswered") == []
    assert not PostWord.objects.filter(topic=seeds).exists()
    topic_remove(topic=other, is_removed=True, now=site.now)
    assert listed(words="gradient") == []
    topic_remove(topic=other, is_removed=False, now=site.now)
    assert listed(words="gradient") == ["Baseline"]


def test_what_is_hidden_stays_hidden_on_every_way(site: Scenario, member: Client, organizer: Client) -> None:
    """A removed reply, a waiting topic, and a draft's discussion."""
    topic, other = open_topic(site), site.join("Others")
    secret = reply(topic, site.member(other), "the secret text", at=site.now)
    waiting = open_topic(site, by=site.member(other), title="waiting title", text="https://waiting.example")
    post_remove(post=secret, by=site.organizer, reason="It quotes labels.", now=site.now)
    ways = {
        url(site, "web:topic", topic.pk): 200,
        url(site, "web:discussion"): 200,
        url(site, "web:discussion") + "?q=secret": 200,
        url(site, "web:topic-feed", topic.pk): 200,
        url(site, "web:discussion-feed"): 200,
        f"{url(site, 'web:topic-reply', topic.pk)}?at={secret.pk}": 404,
        url(site, "web:post-history", secret.pk): 404,
        url(site, "web:post-report", secret.pk): 404,
        url(site, "web:topic", waiting.pk): 404,
        url(site, "web:topic-feed", waiting.pk): 404,
        f"/api/v1/competitions/{site.competition.slug}/topics/": 200,
        f"/api/v1/competitions/{site.competition.slug}/topics/{topic.pk}/posts/": 200,
        f"/api/v1/competitions/{site.competition.slug}/topics/{waiting.pk}/posts/": 404,
    }
    for address, status in ways.items():
        text = page(member, address, status)
        assert "secret text" not in text, address
        assert "waiting" not in text, address
    author = user_client(site.member(other))
    assert "It quotes labels." in page(author, url(site, "web:topic", topic.pk)), "its author reads why"
    assert "the secret text" in page(organizer, url(site, "web:topic", topic.pk))
    assert "waits for an organizer" in page(author, url(site, "web:topic", waiting.pk))
    assert "waiting.example" in page(organizer, url(site, "organize:discussion"))
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False)
    assert [
        page(client, url(site, "web:topic", topic.pk), status) != ""
        for client, status in ((member, 404), (organizer, 200))
    ]


def test_scripts_and_images_of_other_hosts_reach_no_page(site: Scenario, member: Client) -> None:
    Writer.objects.create(competition=site.competition, user=site.member(), is_trusted=True)
    text = "<script>alert(1)</script> ![inside](http://10.0.0.1/x.png) [x](javascript:alert(1)) $x^2$ @[<b>]"
    shown = page(member, url(site, "web:topic", open_topic(site, text=text).pk)).partition('class="prose post-text"')[2]
    body = shown.partition("<footer")[0]
    assert "&lt;script&gt;" in body
    assert "<math" in body
    assert not [bad for bad in ("<script", "10.0.0.1", 'href="javascript', "<b>") if bad in body]


def test_the_forms_write_preview_warn_and_keep_what_was_typed(site: Scenario, member: Client) -> None:
    new, key = url(site, "web:topic-new"), str(uuid.uuid4())
    sent = {"title": "Seeds", "text": "**Which** seed?", "key": key}
    preview = member.post(new, sent | {"action": "preview"})
    assert (preview.status_code, "<strong>Which</strong>" in preview.content.decode()) == (200, True)
    assert not Post.objects.exists()
    wrong = member.post(new, sent | {"title": "", "action": "post"})
    assert (wrong.status_code, "no title" in wrong.content.decode(), "**Which** seed?" in wrong.content.decode()) == (
        422,
        True,
        True,
    )
    numbers = sent | {"text": "I get 0.0871."}
    warned = member.post(new, numbers | {"action": "post"})
    assert (warned.status_code, "Is this a sealed score?" in warned.content.decode()) == (409, True)
    for _ in range(2):  # a double click
        done = member.post(new, numbers | {"confirm_numbers": "on"})
        assert done.status_code == 302
    topic = Topic.objects.get()
    assert "0.0871" in page(member, done.headers["Location"])
    quoted = page(member, f"{url(site, 'web:topic-reply', topic.pk)}?at={topic.posts.get().pk}")
    assert "&gt; I get 0.0871." in quoted
    assert (
        member.post(url(site, "web:topic-reply", topic.pk), {"text": "Nobody?", "key": "nonsense"}).status_code == 422
    )
    assert member.post(url(site, "web:topic-reply", topic.pk), {"text": "Nobody?"}).status_code == 302
    edit = url(site, "web:post-edit", Post.objects.latest("pk").pk)
    assert member.post(edit, {"text": "Anybody?", "version": 1}).status_code == 302
    late = member.post(edit, {"text": "Somebody?", "version": 1})
    shown = late.content.decode()
    assert (
        late.status_code,
        "Anybody?" in shown,
        "Somebody?" in shown,
        'name="version"\n        value="2"' in shown,
    ) == (409, True, True, True)
    assert member.post(edit, {"text": "Somebody?", "version": 2}).status_code == 302
    assert "Anybody?" in page(Client(), url(site, "web:post-history", Post.objects.latest("pk").pk))
    gone = member.post(url(site, "web:post-delete", Post.objects.latest("pk").pk))
    assert gone.headers["Location"] == url(site, "web:topic", topic.pk)


def test_an_image_is_written_anew_and_seen_with_its_post(site: Scenario, member: Client) -> None:
    upload = SimpleUploadedFile("plot.png", png_bytes(), "image/png")
    sent = member.post(url(site, "web:topic-new"), {"title": "Plot", "text": "See", "image": upload, "action": "image"})
    image = PostImage.objects.get()
    text = f"See\n\n![Describe the image](attached/{image.key})"
    assert text in sent.content.decode()
    address = url(site, "web:post-image", image.key)
    assert member.get(address).status_code == 404, "it is not written anew yet"
    run_background(only="post-image")
    served = member.get(address)
    assert (served["Content-Type"], body_text(served)[:4]) == ("image/webp", "RIFF")
    assert Client().get(address).status_code == 404, "no post shows it"
    Writer.objects.update(is_trusted=True)
    topic = open_topic(site, text=text)
    assert f'src="{address}"' in page(Client(), url(site, "web:topic", topic.pk))
    assert body_text(Client().get(address)).startswith("RIFF")
    post_remove(post=topic.posts.get(), by=site.organizer, reason="No.", now=site.now)
    assert Client().get(address).status_code == 404
    assert images_expire(now=site.now + timedelta(days=9)) == 0, "a post has it"
    PostImage.objects.bulk_create(
        PostImage(competition=site.competition, author=site.member(), created_at=site.now) for _ in range(IMAGES_A_DAY)
    )
    again = {"title": "Plot", "text": "See", "image": SimpleUploadedFile("a.png", png_bytes(), "image/png")}
    assert "20 images within a day" in member.post(url(site, "web:topic-new"), again).content.decode()
    broken = {"title": "Plot", "text": "See", "image": SimpleUploadedFile("a.png", b"no image", "image/png")}
    assert "is not a PNG, JPEG" in member.post(url(site, "web:topic-new"), broken).content.decode()
    assert images_expire(now=site.now + timedelta(days=9)) == IMAGES_A_DAY


def told(user: User) -> list[tuple[str, str]]:
    rows = Notification.objects.filter(user=user).exclude(kind=Kind.RUN).order_by("pk")
    return [(row.kind, row.subject.partition(": ")[2]) for row in rows]


def test_people_are_told_once_of_what_they_follow_and_of_mentions(site: Scenario, member: Client) -> None:
    asker, other = site.member(), site.join("Other Team")
    helper, stranger = site.member(other), person("stranger")
    topic = open_topic(
        site, text=f"@{helper.username} @stranger, and @[other team]: which seed? `@{site.organizer.username}`"
    )
    run_background(only="post-notice")
    assert told(site.organizer) == [("topic", f"{asker} opened the topic “Seeds”")]
    assert told(helper) == [("mention", f"{asker} mentions you in “Seeds”")]
    assert (told(stranger), told(asker)) == ([], [])
    for number in range(3):
        reply(topic, helper, f"Text {number}", at=site.now + number * SECOND)
    run_background(only="post-notice")
    assert told(asker) == [("reply", f"{helper} replied in “Seeds”")], "once, until they look"
    assert "Text 0" not in Notification.objects.get(user=asker).text, "no post is quoted"
    notifications_mail(now=site.now)
    assert [message for message in mail.outbox if asker.email in message.to]
    page(member, url(site, "web:topic", topic.pk))
    reply(topic, helper, "Later", at=site.now + timedelta(hours=1))
    run_background(only="post-notice")
    assert len(told(asker)) == 2
    member.post(url(site, "web:topic-follow", topic.pk), {"follow": "no"})
    last = reply(topic, helper, "Unheard", at=site.now + timedelta(hours=2))
    run_background(only="post-notice")
    assert len(told(asker)) == 2
    post_remove(post=Post.objects.get(body="Later"), by=site.organizer, reason="Noise.", now=site.now)
    assert len(told(asker)) == 1, "what was told of a removed post is taken back"
    assert told(helper)[-1] == ("moderation", "your post was removed")
    follow_set(user=site.organizer, competition=site.competition, topic=None, is_on=False)
    open_topic(site, title="Another", at=site.now + timedelta(hours=3))
    run_background(only="post-notice")
    assert len(told(site.organizer)) == 1
    assert last.topic.competition == site.competition


def test_the_desk_shows_what_waits_or_was_reported_and_every_decision_is_on_record(
    site: Scenario, organizer: Client
) -> None:
    topic, other = open_topic(site), site.join("Others")
    post, reader = topic.posts.select_related("topic__competition").get(), site.member(other)
    assert post_report(post=post, by=reader, text="It is rude.", now=site.now)
    assert not post_report(post=post, by=reader, text="Still.", now=site.now)
    with refuses(refusals.OWN_POST):
        post_report(post=post, by=site.member(), text="Mine.", now=site.now)
    with refuses(refusals.REASON_MISSING):
        post_report(post=post, by=reader, text=" ", now=site.now)
    assert user_client(reader).post(url(site, "web:post-report", post.pk)).status_code == 422, "nothing was sent"
    assert told(site.organizer) == [("moderation", "posts to look at")]
    Post.objects.filter(pk=post.pk).update(body=f"{'Much. ' * 500}The end.")
    shown = page(organizer, url(site, "organize:discussion"))
    assert "It is rude." in shown
    assert "The end." in shown, "nobody decides on what they were not shown"
    act = url(site, "organize:post-act", post.pk)
    assert organizer.post(act, {"action": "dismiss", "version": 1}).status_code == 302
    assert Report.objects.get().settled_by == site.organizer
    assert organizer.post(act, {"action": "remove", "version": 1}).status_code == 422, "without a reason"
    organizer.post(act, {"action": "remove", "version": 1, "reason": "Rude."})
    assert Post.objects.get().state == "removed"
    organizer.post(act, {"action": "approve", "version": 1})
    assert Post.objects.get().state == "shown"
    organizer.post(act, {"action": "ban_and_remove", "version": 1, "reason": "Spam."})
    assert "Banned from writing" in page(organizer, url(site, "organize:discussion"))
    organizer.post(url(site, "organize:writer-readmit", site.member().pk))
    assert not Writer.objects.filter(banned_at__isnull=False).exists()
    for action in ("pin", "lock", "unpin", "unlock", "remove", "restore"):
        assert organizer.post(url(site, "organize:topic-act", topic.pk), {"action": action}).status_code == 302
    entries = list(AuditEntry.objects.order_by("pk").values_list("view", "action", "actor_name"))
    assert entries[0] == ("organize:post-act", "dismiss", site.organizer.username)
    assert [action for view, action, _ in entries if view == "organize:topic-act"][-1] == "restore"
    Report.objects.bulk_create(
        Report(post=other_post, competition=site.competition, reporter=reader, text="x", created_at=site.now)
        for other_post in Post.objects.filter(topic=fill(site, 1, REPORTS_A_DAY))[:REPORTS_A_DAY]
    )
    organizer.post(act, {"action": "approve", "version": 1})
    Report.objects.filter(post=post).delete()
    with refuses(refusals.TOO_MANY_REPORTS):
        post_report(
            post=Post.objects.select_related("topic__competition").get(pk=post.pk),
            by=reader,
            text="More.",
            now=site.now,
        )


def test_the_desk_and_the_topic_decide_on_the_text_that_they_showed(site: Scenario, organizer: Client) -> None:
    topic = open_topic(site, text="See https://example.org/")
    post = topic.posts.get()
    act = url(site, "organize:post-act", post.pk)
    pages = (url(site, "organize:discussion"), url(site, "web:topic", topic.pk))
    for version, text in ((1, "Buy pills: https://example.org/"), (2, "Which seed? https://example.org/")):
        for address in pages:
            forms = [form.partition("</form>")[0] for form in page(organizer, address).split(f'action="{act}"')[1:]]
            assert all(f'name="version" value="{version}"' in form for form in forms)
            (with_reason,) = [form for form in forms if 'name="reason"' in form]
            assert "approve" not in with_reason, "Enter in the reason must not publish the post"
        post_edit(post=post, draft=draft(site.member(), text), seen_version=version, now=site.now)
        assert organizer.post(act, {"action": "approve", "version": version}).status_code == 409
        assert Post.objects.get().state == "waiting"
    assert organizer.post(act, {"action": "approve"}).status_code == 422, "without the version"
    refused = organizer.post(
        act, {"action": "approve", "version": 2}, follow=True, headers={"Referer": f"http://testserver{pages[0]}"}
    )
    assert "The post was edited meanwhile" in refused.content.decode()
    assert "Which seed?" in refused.content.decode()
    organizer.post(act, {"action": "approve", "version": 3})
    assert (Post.objects.get().state, Post.objects.get().body) == ("shown", "Which seed? https://example.org/")


def test_only_a_few_topics_are_pinned_above_the_others(site: Scenario) -> None:
    fill(site, topics=TOPICS_A_PAGE + 3)
    rows = list(Topic.objects.order_by("pk")[: MOST_PINNED + 1])
    for number, topic in enumerate(rows[:MOST_PINNED]):
        topic_pin(topic=topic, is_pinned=True, now=site.now + number * SECOND)
    with refuses(refusals.TOO_MANY_PINNED):
        topic_pin(topic=rows[-1], is_pinned=True, now=site.now)
    listed = topic_page(site.competition, site.member())
    assert [topic.pk for topic in listed.pinned] == [topic.pk for topic in reversed(rows[:MOST_PINNED])]
    assert not {topic.pk for topic in listed.topics} & {topic.pk for topic in listed.pinned}


def test_the_tab_leads_elsewhere_or_is_gone_as_the_setting_says(site: Scenario, organizer: Client) -> None:
    topic, settings_page = open_topic(site), url(site, "organize:settings")
    sent = {"section": "discussion", "discussion": "elsewhere", "discussion_url": "", "discussion_review": "links"}
    assert "give the address of the forum" in organizer.post(settings_page, sent).content.decode()
    sent["discussion_url"] = "javascript:alert(1)"
    assert "valid URL" in organizer.post(settings_page, sent).content.decode()
    sent["discussion_url"] = "https://forum.example.org/c/gap"
    confirm = organizer.post(settings_page, sent).content.decode()
    assert "shown no longer" in confirm
    confirmed = confirm.partition('name="confirmed" value="')[2].partition('"')[0]
    assert organizer.post(settings_page, sent | {"confirmed": confirmed}).status_code == 302
    assert Client().get(url(site, "web:discussion")).headers["Location"] == "https://forum.example.org/c/gap"
    for address in (
        url(site, "web:topic", topic.pk),
        url(site, "web:topic-feed", topic.pk),
        url(site, "web:post-history", 1),
    ):
        assert Client().get(address).status_code == 404
    Competition.objects.filter(pk=site.competition.pk).update(discussion="off")
    assert Client().get(url(site, "web:discussion")).status_code == 404
    assert ">Discussion</a>" not in page(Client(), url(site, "web:overview"))


def test_feeds_have_topics_and_replies_without_control_characters(site: Scenario) -> None:
    topic = open_topic(site, text="**Bold** \x0c text")
    reply(topic, site.organizer, "An answer.", at=site.now + SECOND)
    for name, arguments, title in (
        ("web:discussion-feed", (), "Seeds"),
        ("web:topic-feed", (topic.pk,), f"{site.organizer} in Seeds"),
    ):
        root = ET.fromstring(Client().get(url(site, name, *arguments)).content)
        titles = [element.text for element in root.iter("{http://www.w3.org/2005/Atom}title")]
        assert titles[1] == title


def test_a_name_is_no_html_in_a_feed(site: Scenario) -> None:
    author = site.member()
    User.objects.filter(pk=author.pk).update(first_name="<img src=x onerror=alert(1)>", last_name="")
    open_topic(site, by=User.objects.get(pk=author.pk))
    root = ET.fromstring(Client().get(url(site, "web:discussion-feed")).content)
    summary = root.find(".//{http://www.w3.org/2005/Atom}summary")
    assert summary is not None
    assert "&lt;img" in (summary.text or "")


SECRET = "a secret of sixteen or more"
FORUM = "https://forum.example.org"


def signed(values: dict[str, str], secret: str = SECRET) -> dict[str, str]:
    payload = base64.b64encode(urlencode(values).encode()).decode()
    return {"sso": payload, "sig": hmac.new(secret.encode(), payload.encode(), hashlib.sha256).hexdigest()}


def test_a_discourse_learns_who_somebody_is(site: Scenario, member: Client, settings: Any) -> None:
    settings.DISCOURSE_URL, settings.DISCOURSE_SECRET = FORUM, SECRET
    user, door = site.member(), reverse("web:discourse")
    right = {"nonce": "n0nce", "return_sso_url": f"{FORUM}/session/sso_login"}
    for confirmed in (False, True):
        if confirmed:
            EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        answer = urlsplit(member.get(door, signed(right)).headers["Location"])
        assert f"{answer.scheme}://{answer.netloc}{answer.path}" == right["return_sso_url"]
        sent = {name: values[0] for name, values in parse_qs(answer.query).items()}
        assert sent["sig"] == hmac.new(SECRET.encode(), sent["sso"].encode(), hashlib.sha256).hexdigest()
        answered = {name: values[0] for name, values in parse_qs(base64.b64decode(sent["sso"]).decode()).items()}
        assert (answered["nonce"], answered["external_id"], answered["email"]) == ("n0nce", str(user.pk), user.email)
        assert answered["require_activation"] == ("false" if confirmed else "true")
    assert "/accounts/login/" in Client().get(door, signed(right)).headers["Location"]
    robot = user_client(person(is_robot=True)).get(door, signed(right))
    assert "/accounts/login/" in robot.headers["Location"], "it has no session"


@pytest.mark.parametrize(
    "sent",
    [
        {},
        signed({"nonce": "n", "return_sso_url": f"{FORUM}/session/sso_login"}, secret="another secret of theirs"),
        signed({"nonce": "n", "return_sso_url": "https://evil.example/session/sso_login"}),
        signed({"nonce": "n", "return_sso_url": f"{FORUM}.evil.example/session/sso_login"}),
        signed({"nonce": "n", "return_sso_url": "https://forum.example.org@evil.example/session/sso_login"}),
        signed({"nonce": "n", "return_sso_url": "http://forum.example.org/session/sso_login"}),
        signed({"nonce": "n", "return_sso_url": f"{FORUM}:444/session/sso_login"}),
        signed({"nonce": "n", "return_sso_url": f"{FORUM}:x/session/sso_login"}),
        signed({"nonce": "n", "return_sso_url": f"{FORUM}/other"}),
        signed({"nonce": "", "return_sso_url": f"{FORUM}/session/sso_login"}),
        {"sso": "%%%", "sig": hmac.new(SECRET.encode(), b"%%%", hashlib.sha256).hexdigest()},
        {"sso": "x" * 5000, "sig": "é"},
    ],
)
def test_what_the_forum_did_not_sign_or_leads_elsewhere_is_refused(
    site: Scenario, member: Client, settings: Any, sent: dict[str, str]
) -> None:
    settings.DISCOURSE_URL, settings.DISCOURSE_SECRET = FORUM, SECRET
    assert member.get(reverse("web:discourse"), sent).status_code == 403


def test_programs_read_and_write_as_people_do(site: Scenario, member: Client) -> None:
    topics = f"/api/v1/competitions/{site.competition.slug}/topics/"
    created = member.post(topics, {"title": "Seeds", "text": "Which?"}, content_type="application/json")
    assert (created.status_code, created.json()["title"], created.json()["state"]) == (201, "Seeds", "shown")
    posts = f"{topics}{created.json()['topic']}/posts/"
    sealed = member.post(posts, {"text": "0.1234"}, content_type="application/json")
    assert (sealed.status_code, sealed.json()["code"]) == (409, "numbers_under_seal")
    answer = member.post(posts, {"text": "0.1234", "confirm_numbers": True}, content_type="application/json")
    assert answer.status_code == 201
    assert [row["text"] for row in Client().get(posts).json()["results"]] == ["Which?", "0.1234"]
    assert Client().get(topics).json()["results"][0]["replies"] == 1
    assert Client().post(posts, {"text": "x"}, content_type="application/json").status_code == 401
    assert (
        user_client(person()).post(topics, {"title": "A", "text": "b"}, content_type="application/json").status_code
        == 403
    )


def test_people_who_leave_leave_their_posts_and_an_administrator_organizes(site: Scenario) -> None:
    author = person("leaver")
    site.join("Leavers", user=author)
    topic = open_topic(site, by=author)
    CompetitionOrganizer.objects.filter(competition=site.competition).delete()
    root = person(is_staff=True, is_superuser=True)
    assert topic_create(competition=site.competition, draft=draft(root), title="Mine", now=site.now).by_organizer
    Topic.objects.filter(pk=topic.pk).update(author=None)
    Post.objects.filter(topic=topic).update(author=None)
    assert "Deleted account" in page(Client(), url(site, "web:topic", topic.pk))
