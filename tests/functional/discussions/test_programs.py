"""Discussions over the API: what people's programs change, and what organizers' programs decide."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import Scope, User, token_create
from audit.models import AuditEntry
from competitions.discussions.models import Post, Report, Topic, Writer
from competitions.discussions.moderation import post_remove
from competitions.notifications.models import Notification
from tests.functional.discussions.world import open_topic, reply
from tests.permissions import user_client
from tests.scenario import Scenario, person

SECOND = timedelta(seconds=1)


class Program:
    """Calls below a competition, by a token with these scopes."""

    def __init__(self, site: Scenario, user: User, *scopes: Scope) -> None:
        self.root = f"/api/v1/competitions/{site.competition.slug}/"
        expires_at = site.now + timedelta(days=30)
        _, secret = token_create(user=user, name="program", scopes=list(scopes), expires_at=expires_at)
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})

    def __call__(self, method: str, path: str, **sent: Any) -> tuple[int, Any]:
        """The status and the document of the answer."""
        answer = self.client.generic(method, self.root + path, json.dumps(sent), content_type="application/json")
        return answer.status_code, answer.json() if answer.content else None


@pytest.fixture
def author(site: Scenario) -> Program:
    return Program(site, site.member(), Scope.READ, Scope.TEAM)


@pytest.fixture
def organizer(site: Scenario) -> Program:
    return Program(site, site.organizer, Scope.ORGANIZE)


def test_an_edit_names_the_version_that_it_began_with_and_loses_no_other(site: Scenario, author: Program) -> None:
    post = open_topic(site).posts.get()
    status, seen = author("GET", f"posts/{post.pk}/")
    assert (status, seen["version"], seen["text"]) == (200, 1, "Which seed?")
    status, edited = author("PATCH", f"posts/{post.pk}/", text="Which seeds?", version=1, title="Seeds of all")
    assert (status, edited["version"], edited["title"], edited["text"]) == (200, 2, "Seeds of all", "Which seeds?")
    status, late = author("PATCH", f"posts/{post.pk}/", text="Mine.", version=1)
    assert (status, late["code"]) == (409, "edited_meanwhile")
    assert Post.objects.get(pk=post.pk).body == "Which seeds?"
    status, problem = author("PATCH", f"posts/{post.pk}/", text="No version.")
    assert (status, list(problem["fields"])) == (400, ["version"])
    status, problem = author("PATCH", f"posts/{post.pk}/", text="MAE 0.0871", version=2)
    assert (status, problem["code"]) == (409, "numbers_under_seal")
    assert author("PATCH", f"posts/{post.pk}/", text="x" * 20_001, version=2)[1]["code"] == "post_too_long"
    assert author("PATCH", "posts/99999999999999999999/", text="x", version=2)[0] == 404


def test_own_posts_are_deleted_and_those_of_others_are_not_touched(site: Scenario, author: Program) -> None:
    topic = open_topic(site)
    post, foreign = topic.posts.get(), reply(topic, site.organizer, at=site.now + SECOND)
    for method, sent in (("PATCH", {"text": "x", "version": 1}), ("DELETE", {})):
        status, problem = author(method, f"posts/{foreign.pk}/", **sent)
        assert (status, problem["code"]) == (403, "not_your_post")
    assert Post.objects.get(pk=foreign.pk).body == "Any."
    assert author("DELETE", f"posts/{post.pk}/") == (204, None)
    assert author("GET", f"posts/{post.pk}/")[0] == author("DELETE", f"posts/{post.pk}/")[0] == 404
    assert Topic.objects.get(pk=topic.pk).is_shown  # with its reply


def test_whoever_opened_a_topic_names_its_solution(site: Scenario, author: Program) -> None:
    topic = open_topic(site)
    answer = reply(topic, site.organizer, at=site.now + SECOND)
    stranger = Program(site, site.member(site.join("Others")), Scope.READ, Scope.TEAM)
    path = f"topics/{topic.pk}/solution/"
    assert stranger("PUT", path, reply=answer.pk)[1]["code"] == "not_your_post"
    assert author("PUT", path, reply=topic.posts.earliest("pk").pk)[1]["code"] == "no_solution"
    assert author("PUT", path)[0] == 400
    assert author("PUT", path, reply=answer.pk)[1]["solution"] == answer.pk
    assert author("GET", f"topics/{topic.pk}/")[1]["solution"] == answer.pk
    assert author("PUT", path, reply=None)[1]["solution"] is None


def test_a_report_is_kept_once_and_read_by_organizers_alone(
    site: Scenario, author: Program, organizer: Program
) -> None:
    post = reply(open_topic(site), site.organizer, "Spam.", at=site.now + SECOND)
    path = f"posts/{post.pk}/reports/"
    assert author("POST", path, text=" ")[0] == 400
    assert author("POST", path, text="x" * 501)[1]["code"] == "reason_missing"
    assert author("POST", path, text="It is spam.") == (201, {"is_new": True})
    assert author("POST", path, text="Again.") == (200, {"is_new": False})
    listed = organizer("GET", "reports/")[1]["results"]
    assert [(row["text"], row["reporter"], row["post"]["text"]) for row in listed] == [
        ("It is spam.", site.member().username, "Spam.")
    ]
    assert author("GET", "reports/")[1]["code"] == "scope_missing"
    assert Program(site, site.member(), Scope.ORGANIZE)("GET", "reports/")[0] == 404
    assert organizer("POST", f"posts/{post.pk}/decision/", action="dismiss")[0] == 200
    assert organizer("GET", "reports/")[1]["results"] == []
    settled = organizer("GET", "reports/?settled=true")[1]["results"]
    assert [row["settled_by"] for row in settled] == [site.organizer.username]
    assert organizer("GET", "reports/?settled=perhaps")[0] == 400


def test_decisions_take_effect_and_stand_in_the_audit_log_with_their_reasons(
    site: Scenario, author: Program, organizer: Program
) -> None:
    topic = open_topic(site)
    post = reply(topic, site.member(), at=site.now + SECOND)
    decision = f"posts/{post.pk}/decision/"
    assert organizer("POST", decision, action="remove")[1]["code"] == "reason_missing"
    assert organizer("POST", decision, action="burn")[0] == 400
    assert organizer("POST", decision, action="remove", reason="Rude.")[1]["state"] == "removed"
    assert Notification.objects.filter(user=site.member(), text__contains="Rude.").exists()
    assert organizer("POST", decision, action="approve")[1]["state"] == "shown"
    assert organizer("POST", f"topics/{topic.pk}/decision/", action="lock")[1]["is_locked"] is True
    assert author("PATCH", f"posts/{post.pk}/", text="x", version=1)[1]["code"] == "topic_locked"
    assert organizer("POST", f"topics/{topic.pk}/decision/", action="remove")[0] == 200
    assert author("POST", f"topics/{topic.pk}/posts/", text="x")[0] == 404
    for action, path in (("remove", decision), ("lock", f"topics/{topic.pk}/decision/")):
        entry = AuditEntry.objects.filter(path=organizer.root + path, action=action).latest("pk")
        assert (entry.status, entry.actor) == (200, site.organizer)
    refused = AuditEntry.objects.get(action="burn")
    assert refused.status == 400
    assert AuditEntry.objects.filter(action="remove").earliest("pk").fields == {"action": "remove"}
    assert AuditEntry.objects.filter(fields__reason="Rude.").count() == 1


def test_a_decision_is_on_the_version_that_it_names(site: Scenario, author: Program, organizer: Program) -> None:
    link = "See https://example.org/"
    post = open_topic(site, text=link).posts.get()
    decision = f"posts/{post.pk}/decision/"
    assert author("PATCH", f"posts/{post.pk}/", text=f"{link} again", version=1)[1]["version"] == 2
    for sent in ({"action": "approve"}, {"action": "remove", "reason": "Spam."}, {"action": "dismiss"}):
        status, late = organizer("POST", decision, version=1, **sent)
        assert (status, late["code"]) == (409, "edited_meanwhile")
    assert not Writer.objects.get(user=site.member()).is_trusted
    assert (Post.objects.get().state, Report.objects.get().settled_at) == ("waiting", None)
    assert organizer("POST", decision, action="approve", version="first")[0] == 400
    assert organizer("POST", decision, action="approve", version=2)[1]["state"] == "shown"
    assert organizer("POST", decision, action="remove", reason="Spam.")[1]["state"] == "removed"  # names none


def test_people_are_excluded_and_let_in_again(site: Scenario, author: Program, organizer: Program) -> None:
    topic = open_topic(site)
    name = site.member().username
    assert organizer("POST", "exclusions/", username=name)[0] == 400
    assert organizer("POST", "exclusions/", username="nobody", reason="x")[1]["code"] == "not_a_writer"
    assert organizer("POST", "exclusions/", username=person().username, reason="x")[1]["code"] == "not_a_writer"
    assert organizer("POST", "exclusions/", username=name, reason="Spam.", remove_posts=True)[0] == 201
    assert [row["reason"] for row in organizer("GET", "exclusions/")[1]["results"]] == ["Spam."]
    assert author("POST", f"topics/{topic.pk}/posts/", text="x")[0] == 404  # its only post is removed
    assert author("POST", "topics/", text="x", title="y")[1]["code"] == "banned"
    assert organizer("DELETE", f"exclusions/{name}/") == (204, None)
    assert organizer("DELETE", f"exclusions/{name}/")[0] == 404
    assert author("POST", "topics/", text="x", title="y")[0] == 201
    entry = AuditEntry.objects.get(view="api:exclusions", status=201)
    assert (entry.fields["username"], entry.fields["reason"]) == (name, "Spam.")


def test_organizers_of_another_competition_decide_nothing(site: Scenario) -> None:
    topic = open_topic(site)
    post = topic.posts.get()
    other = Program(site, person(is_staff=True), Scope.ORGANIZE)
    assert other("POST", f"posts/{post.pk}/decision/", action="remove", reason="x")[0] == 404
    assert other("POST", f"topics/{topic.pk}/decision/", action="remove")[0] == 404
    assert other("POST", "exclusions/", username=site.member().username, reason="x")[0] == 404
    assert (Post.objects.get().state, Writer.objects.filter(banned_at__isnull=False).exists()) == ("shown", False)


def test_posts_that_are_hidden_are_read_by_their_author_and_organizers_alone(site: Scenario, author: Program) -> None:
    topic = open_topic(site)
    post = reply(topic, site.member(), "Secret.", at=site.now + SECOND)
    post_remove(post=post, by=site.organizer, reason="Off topic.", now=site.now)
    address = f"{author.root}posts/{post.pk}/"
    assert author("GET", f"posts/{post.pk}/")[1]["text"] == "Secret."
    assert user_client(site.organizer).get(address).json()["state"] == "removed"
    reading, organizing = (
        Program(site, site.organizer, Scope.READ),
        Program(site, site.organizer, Scope.READ, Scope.ORGANIZE),
    )
    assert [each("GET", f"posts/{post.pk}/")[0] for each in (reading, organizing)] == [404, 200]
    others = (Client(), user_client(person()), user_client(site.member(site.join("Others"))))
    assert [client.get(address).status_code for client in others] == [404, 404, 404]
    assert others[2].post(f"{address}reports/", {"text": "x"}, content_type="application/json").status_code == 404
    assert not Report.objects.exists()
