"""Codabench's calls for organizers: competitions, publishing, participants, datasets, filters."""

from __future__ import annotations

import base64
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from accounts.models import ApiToken, Scope, User, token_create
from competitions.bundles.exports import export_begin
from competitions.catalog.models import Competition, CompetitionOrganizer, Format, Page, Task
from competitions.catalog.services import rules_publish
from competitions.codabench_api.base import PAGE_PARAMETERS
from competitions.codabench_api.organizers.editing import CHANGEABLE
from competitions.codabench_api.people import LEAST_LEFT, TOKEN_DAYS, sign_in
from competitions.codabench_api.uploads import LENT, THREADS, wait_until_over
from competitions.resources.models import Resource
from competitions.teams.models import Registration
from competitions.teams.services import register
from files.bundles.schema import ColumnSpec, CompetitionSpec, LeaderboardSpec, PhaseSpec, TaskSpec
from tests.images import png_bytes
from tests.permissions import body_text, named_patterns
from tests.scenario import Scenario, person, zip_bytes

DOCS = Path(__file__).resolve().parents[3] / "docs" / "codabench.md"
PNG = base64.b64encode(png_bytes()).decode()


def token_client(site: Scenario, user: User, *scopes: Scope) -> Client:
    expires_at = site.now.replace(year=2031)
    _, secret = token_create(user=user, name="t", scopes=list(scopes or Scope.values), expires_at=expires_at)
    return Client(headers={"Authorization": f"Token {secret}"})


def own_task(site: Scenario) -> Task:
    task = site.phase.tasks.get()
    task.owner = site.organizer
    task.save()
    return task


def edited(site: Scenario, **changes: Any) -> dict[str, Any]:
    """The fields that the editor sends."""
    phase = {
        "index": 0,
        "name": "Only",
        "description": "",
        "start": "2030-05-01T12:00:00Z",
        "end": None,
        "tasks": [str(own_task(site).key)],
        "max_submissions_per_day": 3,
        "max_submissions_per_person": 50,
        "execution_time_limit": 300,
    }
    column = {"title": "MAE", "key": "mae", "index": 0, "sorting": "asc", "precision": 3, "hidden": False}
    board = {
        "title": "Results",
        "key": "main",
        "submission_rule": "Force_Best",
        "primary_index": 0,
        "columns": [column],
    }
    return {
        "title": "Made by editor",
        "description": "One line",
        "terms": "Be fair.",
        "docker_image": "",
        "queue": site.queue.pk,
        "registration_auto_approve": True,
        "image": {"file_name": "logo.png", "data": f"data:image/png;base64,{PNG}"},
        "pages": [{"title": "Overview", "content": "# Hello", "index": 0}],
        "phases": [phase],
        "leaderboards": [board],
    } | changes


def send(client: Client, method: str, path: str, body: object) -> Any:
    return getattr(client, method)(path, json.dumps(body), content_type="application/json")


@pytest.mark.usefixtures("background_meanwhile")
def test_a_competition_is_made_of_what_the_editor_sends(site: Scenario) -> None:
    client = token_client(site, site.organizer)
    answer = send(client, "post", "/api/competitions/", edited(site, collaborators=["somebody"]))
    assert answer.status_code == 201, answer.content
    assert answer.json()["ignored"] == ["collaborators"]
    competition = Competition.objects.get(pk=answer.json()["id"])
    assert (competition.title, competition.is_published, competition.queue, competition.logo is not None) == (
        "Made by editor",
        False,
        site.queue,
        True,
    )
    phase = competition.phases.get()
    assert (phase.max_submissions, phase.time_limit_s, phase.tasks.get()) == (50, 300, site.phase.tasks.get())
    assert (phase.leaderboard.rule, phase.leaderboard.columns.get().precision) == ("best", 3)
    assert competition.pages.get().body == "# Hello"


@pytest.mark.usefixtures("background_meanwhile")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"phases": "none"}, "list of objects"),
        ({"queue": 999_999}, "no queue"),
        ({"leaderboards": []}, "leaderboards"),
        ({"image": "data:image/png;base64,?"}, "base64"),
    ],
)
def test_what_is_wrong_with_a_competition_is_said_and_nothing_is_made(
    site: Scenario, changes: dict[str, Any], words: str
) -> None:
    answer = send(token_client(site, site.organizer), "post", "/api/competitions/", edited(site, **changes))
    assert answer.status_code in (400, 422)
    assert words in json.dumps(answer.json())
    assert Competition.objects.count() == 1


def test_whoever_is_no_organizer_makes_no_competition(site: Scenario) -> None:
    assert send(token_client(site, site.member()), "post", "/api/competitions/", edited(site)).status_code == 403


def test_settings_pages_and_rules_are_changed_and_the_rest_is_refused_by_name(site: Scenario) -> None:
    client, path = token_client(site, site.organizer), f"/api/competitions/{site.competition.pk}/"
    whole = client.get(path).json()
    changes = {
        "title": "Another",
        "allow_robot_submissions": True,
        "pages": [{"title": "Data", "content": "x"}],
        "terms": "New.",
    }
    assert send(client, "put", path, whole | changes).status_code == 200
    site.competition.refresh_from_db()
    assert (site.competition.title, site.competition.allow_robot_submissions) == ("Another", True)
    assert site.competition.pages.get().title == "Data"
    assert site.competition.rules_versions.count() == 2
    refused = send(client, "patch", path, {"phases": [], "title": "Third"})
    assert (refused.status_code, "phases" in refused.json()["detail"]) == (400, True)
    assert send(client, "patch", path, {"docker_image": "--privileged"}).status_code == 400
    nothing = send(client, "patch", path, {"terms": "TODO", "title": "Third"})
    assert (nothing.status_code, nothing.json()["code"]) == (422, "rules_say_nothing")
    site.competition.refresh_from_db()
    assert site.competition.title == "Another"
    refusal = client.delete(path)
    assert (refusal.status_code, "under Settings in the workspace" in refusal.json()["detail"]) == (409, True)
    assert send(token_client(site, site.member()), "patch", path, {"title": "Mine"}).status_code == 404


def test_what_a_program_may_send_is_shown_to_organizers(site: Scenario) -> None:
    client = token_client(site, site.organizer)
    whole = client.get(f"/api/competitions/{site.competition.pk}/").json()
    phase, board = client.get(f"/api/phases/{site.phase.pk}/").json(), whole["leaderboards"][0]
    task = client.get(f"/api/tasks/{own_task(site).pk}/").json()
    hidden = {"where", "podium"}  # the reader's own, and what Codabench lacks
    elsewhere = {"version", "image", "tasks", "solutions"}  # an image as `logo`, tasks at each phase, solutions as well
    assert set(whole) >= CHANGEABLE
    for spec, shown, left_out in (
        (CompetitionSpec, whole, elsewhere),
        (PhaseSpec, phase, set()),
        (PhaseSpec, whole["phases"][0], set()),
        (TaskSpec, task, {"index"}),
        (LeaderboardSpec, board, set()),
        (ColumnSpec, board["columns"][0], set()),
    ):
        assert set(spec.model_fields) - hidden - left_out <= set(shown), spec


def test_a_task_says_to_its_owner_alone_with_whom_it_is_shared(site: Scenario) -> None:
    task, colleague = own_task(site), person(is_staff=True)
    task.shared_with.add(colleague)
    for user, names in ((site.organizer, [colleague.username]), (colleague, [])):
        client = token_client(site, user)
        assert client.get(f"/api/tasks/{task.pk}/").json()["shared_with"] == names
        assert client.get("/api/tasks/").json()["results"][0]["shared_with"] == names
    reading = token_client(site, site.organizer, Scope.READ)
    assert reading.get("/api/tasks/").json()["count"] == 0
    assert reading.get(f"/api/tasks/{task.pk}/").status_code == 404


def test_a_competition_that_is_sent_back_as_it_was_read_stays_as_it_is(site: Scenario) -> None:
    client, path = token_client(site, site.organizer), f"/api/competitions/{site.competition.pk}/"
    rules_publish(competition=site.competition, text="<p>Be fair.</p>", now=site.now, form=Format.HTML)
    Competition.objects.filter(pk=site.competition.pk).update(allow_robot_submissions=True)
    rows = Competition.objects.filter(pk=site.competition.pk)
    before, whole = rows.values().get(), client.get(path).json()
    assert (whole["terms"], whole["allow_robot_submissions"]) == ("<p>Be fair.</p>", True)
    assert send(client, "put", path, whole).status_code == 200
    assert rows.values().get() == before
    assert client.get(path).json() == whole


def test_an_organizer_publishes_and_takes_back(site: Scenario) -> None:
    client, path = token_client(site, site.organizer), f"/api/competitions/{site.competition.pk}/toggle_publish/"
    assert [client.post(path).json()["published"] for _ in range(2)] == [False, True]


def test_what_nobody_could_take_part_in_is_not_published(site: Scenario) -> None:
    draft = Competition.objects.create(slug="draft", title="Draft", queue=site.queue)
    CompetitionOrganizer.objects.create(competition=draft, user=site.organizer)
    refused = token_client(site, site.organizer).post(f"/api/competitions/{draft.pk}/toggle_publish/")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_ready")
    assert "There are no rules" in refused.json()["detail"]
    draft.refresh_from_db()
    assert not draft.is_published


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_a_text_that_cannot_be_stored_is_refused(site: Scenario, text: str) -> None:
    client, path = token_client(site, site.organizer), f"/api/competitions/{site.competition.pk}/"
    for changes in ({"terms": text}, {"pages": [{"title": "Data", "content": text}]}):
        refused = send(client, "patch", path, changes)
        assert (refused.status_code, "cannot be stored" in refused.json()["detail"]) == (400, True)
    form = client.post("/api/api-token-auth/", {"username": "a\0b", "password": "x"})
    assert (form.status_code, "cannot be stored" in form.json()["detail"]) == (400, True)
    own = client.post(f"/api/v1/competitions/{site.competition.slug}/bundle/", {"files": text}, "application/json")
    assert (own.status_code, "cannot be stored" in own.json()["detail"]) == (400, True)


def test_two_pages_of_one_title_are_two_pages(site: Scenario) -> None:
    Page.objects.create(competition=site.competition, title="Data", body="x", tab=Page.Tab.OWN, slug="data", index=0)
    client, path = token_client(site, site.organizer), f"/api/competitions/{site.competition.pk}/"
    pages = [{"title": "Data", "content": content} for content in ("first", "second")]
    assert send(client, "patch", path, {"pages": pages}).status_code == 200
    assert list(site.competition.pages.order_by("index").values_list("body", "slug")) == [
        ("first", "data"),
        ("second", ""),
    ]


def test_tasks_of_a_submission_are_a_list(site: Scenario) -> None:
    body = {"phase": site.phase.pk, "data": str(site.upload(b"x", "a.zip").key), "tasks": 5}
    refused = send(token_client(site, site.member()), "post", "/api/submissions/", body)
    assert (refused.status_code, "`tasks` must be a list" in refused.json()["detail"]) == (400, True)


def test_an_organizer_approves_participants(site: Scenario) -> None:
    site.competition.registration_policy = "approval"
    site.competition.save()
    waiting = register(user=person(), competition=site.competition, rules_version=1, now=site.now)
    client = token_client(site, site.organizer)
    (row,) = client.get("/api/participants/", {"status": "pending"}).json()
    assert (row["id"], row["is_bot"]) == (waiting.pk, False)
    path = f"/api/participants/{waiting.pk}/"
    assert send(client, "patch", path, {"status": "approved"}).json()["status"] == "approved"
    assert send(client, "patch", path, {"status": "maybe"}).status_code == 400
    assert Registration.objects.get(pk=waiting.pk).decided_by == site.organizer


def test_phases_and_profile_are_read(site: Scenario) -> None:
    client = token_client(site, site.member())
    assert [phase["id"] for phase in client.get("/api/phases/", {"competition": site.competition.pk}).json()] == [
        site.phase.pk,
        site.sealed.pk,
    ]
    assert client.get(f"/api/phases/{site.phase.pk}/").json()["status"] == "Current"
    profile = client.get("/api/my_profile/").json()
    assert (profile["username"], profile["is_bot"]) == (site.member().username, False)


def test_who_takes_part_downloads_what_is_offered_and_no_reference_data(site: Scenario) -> None:
    task = site.phase.tasks.select_related("scoring_program", "reference_data").get()
    program, labels = task.scoring_program, task.reference_data
    assert labels is not None
    member, organizer = token_client(site, site.member()), token_client(site, site.organizer)
    assert member.get(f"/datasets/download/{program.key}/").status_code == 404
    site.competition.make_programs_available = True
    site.competition.save()
    (offered,) = member.get(f"/api/phases/{site.phase.pk}/").json()["tasks"][0]["public_datasets"]
    assert (offered["key"], offered["type"]) == (str(program.key), "scoring_program")
    answer = member.get(f"/datasets/download/{program.key}/")
    assert answer.status_code == 200
    answer.close()
    assert member.get(f"/datasets/download/{labels.key}/").status_code == 404
    refused = token_client(site, person()).get(f"/datasets/download/{program.key}/")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_registered")
    rules_publish(competition=site.competition, text="New rules: do not pass it on.", now=site.now)
    refused = member.get(f"/datasets/download/{program.key}/")
    assert (refused.status_code, refused.json()["code"]) == (403, "rules_changed")
    rows = organizer.get("/api/datasets/", {"type": "reference_data"}).json()["results"]
    assert str(labels.key) in {row["key"] for row in rows}
    body_text(organizer.get(f"/datasets/download/{labels.key}/"))
    refused = token_client(site, site.organizer, Scope.READ, Scope.SUBMIT).get(f"/datasets/download/{labels.key}/")
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    by_key = organizer.get(f"/api/datasets/{labels.key}/").json()
    assert by_key == organizer.get(f"/api/datasets/{by_key['id']}/").json()
    assert member.get(f"/api/datasets/{labels.key}/").status_code == 404
    assert organizer.delete(f"/api/datasets/{labels.key}/").status_code == 409
    assert Resource.objects.filter(pk=labels.pk).exists()


def test_a_submissions_upload_is_completed_without_being_taken_for_a_bundle(site: Scenario) -> None:
    client = token_client(site, site.member(), Scope.READ, Scope.SUBMIT)
    content = zip_bytes({"answer.txt": "1"})
    for kind, status in (("submission", 200), ("competition_bundle", 403)):
        announced = client.post("/api/datasets/", {"type": kind, "file_size": len(content)}).json()
        Client().put(announced["sassy_url"].removeprefix("http://testserver"), content, content_type="application/zip")
        answer = client.put(f"/api/datasets/completed/{announced['key']}/")
        assert answer.status_code == status
        assert kind != "submission" or answer.json() == {"key": announced["key"]}


def test_filters_are_honoured_or_refused_and_never_ignored(site: Scenario) -> None:
    ended, waiting = site.score(site.submit(), 0.5), site.submit()
    client = token_client(site, site.member())

    def numbers(**query: Any) -> list[int]:
        return [row["id"] for row in client.get("/api/submissions/", query).json()]

    assert numbers(status="Finished") == [ended.pk]
    assert numbers(status="Submitted") == [waiting.pk]
    assert numbers(phase__competition=site.competition.pk) == [waiting.pk, ended.pk]
    assert numbers(phase__competition=0) == []
    for query, words in (
        ({"status": "Done"}, "Finished"),
        ({"owner": "me"}, "parameter"),
        ({"phase": "x"}, "number"),
        ({"colour": "red"}, "phase"),
    ):
        answer = client.get("/api/submissions/", query)
        assert (answer.status_code, words in answer.json()["detail"]) == (400, True)
    assert client.get("/api/competitions/", {"mine": "true"}).json() == []
    assert len(client.get("/api/competitions/", {"participating_in": "true"}).json()) == 1
    assert client.get("/api/competitions/public/", {"search": "nothing"}).json()["count"] == 0
    assert client.get("/api/competitions/", {"ordering": "popular"}).status_code == 400


@pytest.mark.parametrize("address", ["/api/competitions/", "/api/competitions/public/"])
def test_competitions_are_listed_by_what_codabench_asks_for(site: Scenario, address: str) -> None:
    own = site.competition
    benchmark = Competition.objects.create(
        slug="b", title="A benchmark", queue=site.queue, is_published=True, competition_type="benchmark", reward="Fame"
    )
    Competition.objects.filter(pk=own.pk).update(created_at=benchmark.created_at - timedelta(days=1))
    client = token_client(site, site.member())

    def numbers(**query: str) -> list[int]:
        answer = client.get(address, query)
        assert answer.status_code == 200, answer.content
        rows = answer.json()
        return [row["id"] for row in (rows["results"] if isinstance(rows, dict) else rows)]

    assert sorted(numbers(type="any")) == sorted(numbers()) == [own.pk, benchmark.pk]
    assert (numbers(type="benchmark"), numbers(type="competition")) == ([benchmark.pk], [own.pk])
    assert (numbers(has_reward="true"), numbers(has_reward="false")) == ([benchmark.pk], [own.pk])
    assert numbers(participating_in="true") == [own.pk]
    assert numbers(ordering="recent") == [benchmark.pk, own.pk] == numbers(ordering="created_when")[::-1]
    for query, words in (({"type": "game"}, "benchmark or any"), ({"ordering": "popular"}, "recent or")):
        refused = client.get(address, query)
        assert (refused.status_code, words in refused.json()["detail"]) == (400, True)


def test_organizers_filter_as_on_codabench(site: Scenario) -> None:
    shared = Task.objects.create(name="Shared", scoring_program=own_task(site).scoring_program, is_public=True)
    client, submission = token_client(site, site.organizer), site.submit()

    def names(address: str, **query: str) -> set[str]:
        answer = client.get(f"/api/{address}/", {**query, "page_size": "1000"})
        assert answer.status_code == 200, answer.content
        return {row.get("name") or row["username"] for row in answer.json()["results"]}

    assert names("tasks", public="true") == names("tasks") >= {shared.name}
    assert names("tasks", public="false") == names("tasks") - {shared.name}
    assert site.queue.name in names("queues", public="true")
    assert names("queues", public="false") == set()
    assert names("datasets", _type="dataset") == names("datasets")
    assert names("datasets", _type="submission") == names("datasets", type="competition_bundle") == set()
    assert names("participants", user__is_bot="false") == names("participants") == {site.member().username}
    assert names("participants", user__is_bot="true") == set()
    for name in ("is_soft_deleted", "is_public"):
        assert names("submissions", **{name: "true"}) == set()
        assert names("submissions", **{name: "false"}) == {submission.file_name}
    assert names("submissions", show_is_soft_deleted="true") == {submission.file_name}


@pytest.mark.parametrize(
    ("address", "query", "words"),
    [
        ("datasets", {"type": "colour"}, "scoring_program or"),
        ("datasets", {"_type": "program"}, "dataset or bundle"),
        ("participants", {"status": "maybe"}, "pending or approved"),
        ("participants", {"user__email": "a@example.org"}, "user__username"),
        ("tasks", {"public": "perhaps"}, "true or false"),
        ("submissions", {"show_is_soft_deleted": "perhaps"}, "true or false"),
    ],
)
def test_a_filter_that_is_not_served_is_refused_with_those_that_are(
    site: Scenario, address: str, query: dict[str, str], words: str
) -> None:
    refused = token_client(site, site.organizer).get(f"/api/{address}/", query)
    assert (refused.status_code, words in refused.json()["detail"]) == (400, True)


def test_the_docs_list_the_filters_of_each_call() -> None:
    docs = DOCS.read_text()
    for address in ("competitions/", "competitions/public/", "submissions/", "datasets/", "tasks/", "participants/"):
        (row,) = re.findall(rf"^\| `GET[A-Z, ]* /api/{address}` \| (.*) \|$", docs, re.MULTILINE)
        view: Any = resolve(f"/api/{address}").func
        missing = [name for name in view.cls.parameters if name not in PAGE_PARAMETERS and f"`{name}`" not in row]
        assert not missing, f"/api/{address}: {missing}"


def test_one_token_is_given_again_while_it_is_valid(site: Scenario) -> None:
    robot = person(is_robot=True)

    def token(now: Any = site.now) -> str:
        return sign_in(username=robot.username, password="x", address="192.0.2.1", now=now)

    first = token()
    assert token() == first
    assert Client(headers={"Authorization": f"Token {first}"}).get("/api/my_profile/").status_code == 200
    row = ApiToken.objects.get(user=robot)
    assert token(row.expires_at - LEAST_LEFT) != first
    ApiToken.objects.filter(user=robot).update(revoked_at=site.now)
    another = token(site.now + timedelta(seconds=1))
    assert another != first
    robot.set_password("y")
    robot.save()
    assert sign_in(username=robot.username, password="y", address="192.0.2.1", now=site.now) not in (first, another)
    assert LEAST_LEFT.days < TOKEN_DAYS


def test_few_threads_are_lent_to_those_who_wait(site: Scenario, settings: Any) -> None:
    settings.ROBOT_WAIT_S = 3600
    export = export_begin(competition=site.competition, by=site.organizer, with_files=True, now=site.now)
    for _ in range(THREADS):
        assert LENT.acquire(blocking=False)
    try:
        assert not wait_until_over(export).is_over, "answered at once, not after an hour"
    finally:
        for _ in range(THREADS):
            LENT.release()


ROUTE = re.compile(r"^\| `(?P<methods>[A-Z, ]+) (?P<path>/\S+)` \| (?P<answer>works|refused|absent)\b", re.MULTILINE)
SAMPLES = {"ID": "1", "KEY": "00000000-0000-0000-0000-000000000000", "FORMAT": "json", "ACTION": "anything"}


def routes() -> list[tuple[str, str, str]]:
    """Method, address and answer of every route of Codabench's API that the docs list."""
    return [
        (method.strip(), row["path"], row["answer"])
        for row in ROUTE.finditer(DOCS.read_text())
        for method in row["methods"].split(",")
    ]


def sample(path: str) -> str:
    for name, value in SAMPLES.items():
        path = path.replace(name, value)
    return path


def test_every_route_of_codabench_answers_as_the_docs_say(site: Scenario) -> None:
    client = token_client(site, site.organizer)
    for method, path, answer in routes():
        if answer == "absent":
            with pytest.raises(Resolver404):
                pytest.fail(f"{method} {path} is there: {resolve(sample(path))}")
            continue
        view: Any = resolve(sample(path)).func
        assert hasattr(view.cls, method.lower()), f"{method} {path} has no handler"
        if answer == "refused":
            refusal = getattr(client, method.lower())(sample(path).replace("/1/", f"/{site.competition.pk}/"))
            assert refusal.status_code in (404, 409), (method, path, refusal.content)
            assert refusal.json()["detail"], (method, path)


def test_every_call_of_ours_stands_in_the_docs() -> None:
    listed = {resolve(sample(path)).view_name for _, path, answer in routes() if answer != "absent"}
    ours = {name for name, _ in named_patterns() if name.startswith("codabench:")}
    unlisted = {f"codabench:{name}" for name in ("upload", "file", "output", "dump-file", "competition-bare")}
    assert ours - listed == unlisted, "addresses that other answers give"
