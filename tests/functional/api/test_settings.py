"""Organizers' programs change settings; effects on teams are confirmed, as on pages."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import Scope, token_create
from competitions.catalog.models import Column, Competition, Leaderboard, Phase, Task
from competitions.compute.models import Queue
from competitions.leaderboards.models import Entry
from tests.scenario import Scenario, person, scenario


class Program:
    """A program with a token of the organizer."""

    def __init__(self, site: Scenario, *scopes: Scope) -> None:
        expires_at = site.now + timedelta(days=9)
        _, secret = token_create(user=site.organizer, name="t", scopes=list(scopes), expires_at=expires_at)
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})
        self.competition = f"/api/v1/competitions/{site.competition.slug}/"
        self.board = f"{self.competition}phases/{site.phase.slug}/boards/main/"

    def change(self, path: str, **settings: Any) -> Any:
        return self.client.patch(path, json.dumps(settings), content_type="application/json")

    def confirm(self, path: str, **settings: Any) -> Any:
        """Send it, and once more with the confirmation that is asked for."""
        warning = self.change(path, **settings)
        assert warning.json()["code"] == "needs_confirmation", warning.json()
        return self.change(path, **settings, confirmed=warning.json()["confirmation"])


@pytest.fixture
def program(site: Scenario) -> Any:
    with time_machine.travel(site.now, tick=False):
        yield Program(site, Scope.ORGANIZE, Scope.READ)


@pytest.fixture
def ranked(site: Scenario) -> Leaderboard:
    """Two teams: the first has the lower error, the second the higher."""
    site.score(site.submit(), 0.25)
    site.score(site.submit(team=site.join("Second")), 0.5)
    return site.phase.leaderboard


def paths(site: Scenario, program: Program) -> list[str]:
    task = site.phase.tasks.get()
    return [
        f"{program.competition}settings/",
        program.board,
        f"{program.board}columns/mae/",
        f"/api/v1/tasks/{task.key}/",
    ]


def rows() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Competition, Column, Task)]


def test_what_is_read_can_be_sent_back_and_changes_nothing(
    site: Scenario, program: Program, ranked: Leaderboard
) -> None:
    before = rows()
    read_only = {"is_published", "competition"}
    member = Program(site, Scope.READ)
    for path in paths(site, program):
        assert member.client.get(path).json()["code"] == "scope_missing", path
        sent = program.client.get(path).json()
        known = {name: value for name, value in sent.items() if name not in read_only}
        known.pop("key" if not path.endswith("columns/mae/") else "", None)
        assert program.change(path, **known).status_code == 200, path
    assert rows() == before


def test_a_setting_that_there_is_not_is_refused_by_name(site: Scenario, program: Program) -> None:
    for path in paths(site, program):
        refused = program.change(path, colour="green")
        assert (refused.status_code, list(refused.json()["fields"])) == (400, ["colour"]), path


def test_settings_of_a_competition_are_changed_and_what_opens_files_is_confirmed(
    site: Scenario, program: Program
) -> None:
    path = f"{program.competition}settings/"
    assert program.change(path, title="Renamed", tags=["Graphs"]).json()["tags"] == ["graphs"]
    warning = program.change(path, make_programs_available=True)
    assert warning.status_code == 409
    assert "may download the ingestion and scoring programs" in warning.json()["impact"][0]
    assert not Competition.objects.get(pk=site.competition.pk).make_programs_available
    assert program.confirm(path, make_programs_available=True).json()["make_programs_available"] is True
    wrong = program.change(path, contact_email="nobody")
    assert (wrong.status_code, list(wrong.json()["fields"])) == (400, ["contact_email"])


def test_a_competition_moves_to_no_queue_whose_owner_may_not_read_its_tasks(site: Scenario, program: Program) -> None:
    path, own_queue = f"{program.competition}settings/", Queue.objects.create(name="mine", owner=site.organizer)
    Task.objects.update(competition=scenario().competition, owner=None)
    refused = program.change(path, queue=own_queue.name)
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["queue"])
    Queue.objects.create(name="theirs", owner=person(is_staff=True))
    unknown = program.change(path, queue="theirs")
    assert (unknown.status_code, list(unknown.json()["fields"])) == (400, ["queue"])


def test_ranks_that_a_column_turns_over_are_said_first(program: Program, ranked: Leaderboard) -> None:
    path = f"{program.board}columns/mae/"
    before = list(Entry.objects.order_by("pk").values_list("team", "rank_value"))
    warning = program.change(path, sorting="desc")
    assert warning.status_code == 409
    assert "2 of 2 teams change their rank." in warning.json()["impact"]
    assert list(Entry.objects.order_by("pk").values_list("team", "rank_value")) == before
    assert program.confirm(path, sorting="desc").json()["sorting"] == "desc"
    assert list(Entry.objects.order_by("pk").values_list("team", "rank_value")) != before


def test_columns_of_a_board_are_sent_as_a_whole_and_may_change_places(program: Program, ranked: Leaderboard) -> None:
    mae = program.client.get(program.board).json()["columns"][0]
    time = {"key": "wall_s", "title": "Time", "kind": "meter", "sorting": "asc", "index": 1}
    added = program.change(program.board, columns=[mae, time])
    assert [column["key"] for column in added.json()["columns"]] == ["mae", "wall_s"]
    gone = program.change(program.board, columns=[mae])
    assert gone.json()["impact"] == ["The column “Time” leaves the board. Its scores stay recorded."]
    twice = program.change(program.board, columns=[mae, mae | {"title": "Again"}])
    assert (twice.status_code, list(twice.json()["fields"])) == (422, ["columns"])
    swapped = [mae | {"is_primary": False}, time | {"is_primary": True}]
    assert program.confirm(program.board, columns=swapped).status_code == 200
    assert ranked.columns.get(is_primary=True).key == "wall_s"


def test_a_sealed_column_keeps_its_key_whoever_asks(site: Scenario, program: Program) -> None:
    site.score(site.submit(phase=site.sealed), 0.5)
    board = f"{program.competition}phases/{site.sealed.slug}/boards/main/"
    for path, sent in ((f"{board}columns/mae/", {"key": "other"}), (board, {"columns": []})):
        refused = program.change(path, **sent)
        assert (refused.status_code, list(refused.json()["fields"])) == (422, ["columns"])
        assert "it keeps its key" in refused.json()["detail"]
    opened = program.change(f"{program.competition}phases/{site.sealed.slug}/", visibility="public")
    assert (opened.status_code, list(opened.json()["fields"])) == (422, ["visibility"])


def test_a_task_is_changed_by_its_owner_or_the_organizers_of_its_competition(site: Scenario, program: Program) -> None:
    task = site.phase.tasks.get()
    colleague = person(is_staff=True)
    changed = program.change(f"/api/v1/tasks/{task.key}/", name="Molecules", shared_with=[colleague.username])
    assert (changed.json()["name"], changed.json()["shared_with"]) == ("Molecules", [colleague.username])
    other = Task.objects.create(name="Second", competition=site.competition, scoring_program=task.scoring_program)
    refused = program.change(f"/api/v1/tasks/{other.key}/", name="Molecules")
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["name"])
    Task.objects.filter(pk=task.pk).update(competition=scenario().competition, is_public=True)
    assert program.change(f"/api/v1/tasks/{task.key}/", name="Taken").status_code == 404, "may use is not may change"


def test_a_task_checks_no_task_of_others_and_lists_have_an_end(site: Scenario, program: Program) -> None:
    task = site.phase.tasks.get()
    foreign = Task.objects.create(name="Open", scoring_program=task.scoring_program, is_public=True)
    own_task = Task.objects.create(name="Mine", competition=site.competition, scoring_program=task.scoring_program)
    check = {"checks": str(foreign.key), "check_kind": "permuted"}
    refused = program.change(f"/api/v1/tasks/{own_task.key}/", **check)
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["checks"])
    assert program.change(f"/api/v1/tasks/{own_task.key}/", **check | {"checks": str(task.key)}).status_code == 200
    path = f"{program.competition}phases/{site.phase.slug}/"
    long = program.change(path, tasks=[str(task.key)] * 201)
    assert (long.status_code, list(long.json()["fields"])) == (400, ["tasks"])


def test_a_queue_is_changed_by_who_owns_it(site: Scenario, program: Program) -> None:
    path = f"/api/v1/queues/{site.queue.name}/"
    assert program.change(path, contact="nobody").status_code == 404, "the site's own"
    Queue.objects.filter(pk=site.queue.pk).update(owner=site.organizer)
    warning = program.change(path, is_paused=True)
    assert "their submissions wait until it is resumed" in warning.json()["impact"][0]
    assert program.confirm(path, is_paused=True).json()["is_paused"] is True
    assert "would be refused" in program.change(path, allowed_images="registry.example.org/*").json()["impact"][0]
    Phase.objects.filter(pk=site.phase.pk).update(docker_image="lab/own:1")
    (refused,) = program.change(path, allowed_images=site.competition.image_name).json()["impact"]
    assert "runs in the image lab/own:1, which would be refused" in refused
    renamed = program.change(path, name="other", owner="x")
    assert (renamed.status_code, sorted(renamed.json()["fields"])) == (400, ["name", "owner"])


def test_a_token_that_may_submit_changes_no_setting(site: Scenario) -> None:
    with time_machine.travel(site.now, tick=False):
        program = Program(site, Scope.SUBMIT, Scope.READ)
        for path in paths(site, program):
            assert program.change(path, title="x").status_code == 403, path
