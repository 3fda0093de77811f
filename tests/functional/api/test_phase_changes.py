"""Organizers' programs change phases: what that does to teams is confirmed, as on pages."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import Scope, token_create
from competitions.catalog.models import Phase
from competitions.notifications.models import Notification
from tests.permissions import user_client
from tests.scenario import NOON, Scenario, scenario


class Program:
    """A program with a token of the organizer."""

    def __init__(self, site: Scenario, *scopes: Scope) -> None:
        _, secret = token_create(
            user=site.organizer, name="t", scopes=list(scopes), expires_at=site.now + timedelta(days=9)
        )
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})
        self.path = f"/api/v1/competitions/{site.competition.slug}/phases/{site.phase.slug}/"

    def change(self, **settings: Any) -> Any:
        return self.client.patch(self.path, json.dumps(settings), content_type="application/json")


@pytest.fixture
def program(site: Scenario) -> Any:
    with time_machine.travel(site.now, tick=False):
        yield Program(site, Scope.ORGANIZE, Scope.READ)


def test_an_end_is_moved_once_its_consequences_are_confirmed(site: Scenario, program: Program) -> None:
    later = {"closes_at": (NOON + timedelta(days=60)).isoformat()}
    warning = program.change(**later)
    assert (warning.status_code, warning.json()["code"]) == (409, "needs_confirmation")
    assert any("Its end moves from" in sentence for sentence in warning.json()["impact"])
    assert Phase.objects.get(pk=site.phase.pk).closes_at == site.phase.closes_at
    confirmed = warning.json()["confirmation"]
    assert program.change(max_submissions=1, **later, confirmed=confirmed).status_code == 409, "not what was confirmed"
    saved = program.change(**later, confirmed=confirmed)
    assert (saved.status_code, saved.json()["closes_at"]) == (200, "2030-06-30T12:00:00Z")
    assert Notification.objects.filter(subject__endswith="was extended").exists()


def test_settings_are_read_and_sent_back_as_they_are(site: Scenario, program: Program) -> None:
    settings = program.client.get(program.path).json()
    assert settings["tasks"] == [str(site.phase.tasks.get().key)]
    before = Phase.objects.filter(pk=site.phase.pk).values().get()
    for read_only in ("slug", "revealed_at"):
        del settings[read_only]
    assert program.change(**settings).status_code == 200
    assert Phase.objects.filter(pk=site.phase.pk).values().get() == before


def test_what_is_wrong_is_said_by_name_and_nothing_is_saved(site: Scenario, program: Program) -> None:
    foreign, before = scenario().phase.tasks.get(), Phase.objects.filter(pk=site.phase.pk).values().get()
    wrong: list[dict[str, Any]] = [
        {"closs_at": None},
        {"slug": "other"},
        {"time_limit_s": 0},
        {"tasks": [str(foreign.key)]},
        {"docker_image": "no image!"},
        {"smoke_task": str(site.phase.tasks.get().key)},
        {"closes_at": "2000-01-01T00:00:00Z"},
    ]
    for settings in wrong:
        answer = program.change(**settings)
        assert answer.status_code in (400, 422), (settings, answer.content)
        assert next(iter(settings)) in str(answer.json()) or "close after it opens" in str(answer.json())
    assert Phase.objects.filter(pk=site.phase.pk).values().get() == before


def test_others_change_nothing(site: Scenario, program: Program) -> None:
    submitting = Program(site, Scope.SUBMIT, Scope.READ)
    assert submitting.change(description="Mine.").json()["code"] == "scope_missing"
    body = json.dumps({"description": "Mine."})
    for user in (site.member(), scenario().organizer):
        assert user_client(user).patch(program.path, body, content_type="application/json").status_code == 404
    assert Phase.objects.get(pk=site.phase.pk).description == ""
