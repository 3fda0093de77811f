"""Codabench's scripts work with another host: form bodies, bare lists, links without a header.

`Script` does what Codabench's four published example scripts do, call by call, and gives up where they would.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from allauth.account.models import EmailAddress
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiToken, User
from competitions.catalog.models import Column, Competition, CompetitionOrganizer, Leaderboard, Phase, Task
from competitions.codabench_api.shapes import log_name, submission_shape
from competitions.disclosure.readers import reader_for
from competitions.leaderboards.models import Entry
from competitions.leaderboards.reading.export import submissions_csv
from competitions.leaderboards.reading.results import known_results, score_position, with_scores
from competitions.leaderboards.sealing import unscored
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.runs.models import RunOutput
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from competitions.teams.models import Registration, Team
from competitions.teams.services import find_team, register, registration_decide
from tests.background import run_background
from tests.permissions import body_text, user_client
from tests.scenario import Scenario, person, prediction_bytes, scenario, zip_bytes

FORM = "application/x-www-form-urlencoded"


class Script:
    """One script's session: it knows a user name and a password, and speaks in forms."""

    def __init__(self, user: User) -> None:
        self.client = Client()
        self.user = user
        self.headers: dict[str, str] = {}

    def sign_in(self) -> int:
        answer = self.post("/api/api-token-auth/", username=self.user.username, password="x")
        if answer.status_code == 200:
            self.headers = {"Authorization": f"Token {answer.json()['token']}"}
        return int(answer.status_code)

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, query, headers=self.headers, follow=True)

    def post(self, path: str, **fields: Any) -> Any:
        body = urlencode(fields, doseq=True)
        return self.client.post(path, body, content_type=FORM, headers=self.headers)

    def submit(
        self,
        phase: Phase,
        content: bytes,
        tasks: list[int] | None = None,
        more: Mapping[str, str] | None = None,
        **dataset: Any,
    ) -> Any:
        """The example submission: may I, where to, put, make."""
        can = self.get(f"/api/can_make_submission/{phase.pk}/").json()
        if not can["can"]:
            return can["reason"]
        fields = {
            "type": "submission",
            "request_sassy_file_name": "submission.zip",
            "file_size": len(content),
        } | dataset
        announced = self.post("/api/datasets/", **fields)
        assert announced.status_code == 201
        url = urlsplit(announced.json()["sassy_url"])
        put = self.client.put(url.path, content, content_type="application/zip")
        assert put.status_code == 200
        fields = {"phase": phase.pk, "tasks": tasks or [], "data": announced.json()["key"]} | dict(more or {})
        response = self.post("/api/submissions/", **fields)
        assert response.status_code in (200, 201), response.content
        return response.json()


@pytest.fixture
def phase(site: Scenario) -> Phase:
    """A phase that runs as on Codabench, where everybody may take part."""
    Phase.objects.filter(pk=site.phase.pk).update(as_on_codabench=True, prediction_format=None)
    return Phase.objects.get(pk=site.phase.pk)


@pytest.fixture
def robot(site: Scenario) -> Script:
    script = Script(person(is_robot=True))
    assert script.sign_in() == 200
    return script


def scored(site: Scenario, pk: int, value: float = 0.25) -> Submission:
    return site.score(Submission.objects.get(pk=pk), value)


def test_without_an_account_competitions_phases_and_tasks_are_listed(site: Scenario) -> None:
    anonymous = Script(person())
    (row,) = anonymous.get("/api/competitions/").json()
    assert (row["id"], row["title"], row["created_by"]) == (
        site.competition.pk,
        site.competition.title,
        site.organizer.username,
    )
    competition = anonymous.get(f"/api/competitions/{row['id']}").json()
    assert [phase["name"] for phase in competition["phases"]] == ["test-dev", "test-challenge"]
    assert competition["phases"][0]["tasks"] == [
        {
            "id": task.pk,
            "key": str(task.key),
            "name": task.name,
            "description": "",
            "public_datasets": [],
            "solutions": [],
        }
        for task in site.phase.tasks.all()
    ]


def test_a_robot_enrols_submits_and_reads_its_score(site: Scenario, phase: Phase, robot: Script) -> None:
    submission = robot.submit(phase, zip_bytes({"answer.txt": "1"}))
    assert (submission["status"], submission["phase"]) == ("Submitting", phase.pk)
    assert Team.objects.get(memberships__user=robot.user).name == robot.user.username
    scored(site, submission["id"])
    (row,) = robot.get("/api/submissions/", phase=phase.pk).json()
    assert (row["id"], row["owner"], row["status"]) == (submission["id"], robot.user.username, "Finished")
    assert [(score["column_key"], score["score"]) for score in row["scores"]] == [("mae", "0.2500")]
    assert row["task"]["key"] == str(phase.tasks.get().key)


def test_details_have_files_that_are_fetched_without_a_header(site: Scenario, phase: Phase, robot: Script) -> None:
    content = zip_bytes({"answer.txt": "1"})
    submission = robot.submit(phase, content)
    details = robot.get(f"/api/submissions/{submission['id']}/get_details/").json()
    path = urlsplit(details["data_file"]).path
    assert body_text(Client().get(path)) == content.decode("utf-8", "replace")
    assert Client().get(path.replace("files", "outputs")).status_code == 404
    assert (details["logs"], details["prediction_result"]) == ([], None)


def test_a_submission_may_name_its_tasks_and_then_stands_on_no_board(
    site: Scenario, phase: Phase, robot: Script
) -> None:
    second = Task.objects.create(
        competition=site.competition, name="Second", scoring_program=phase.tasks.get().scoring_program
    )
    phase.tasks.add(second)
    submission = robot.submit(phase, zip_bytes({"answer.txt": "1"}), tasks=[second.pk])
    assert submission["task"]["id"] == second.pk
    own = scored(site, submission["id"])
    assert not Entry.objects.filter(score__submission=own).exists()

    def seen_by(user: User) -> list[bool]:
        reader, rows = reader_for(user, site.now), Submission.objects.filter(pk=own.pk)
        (fresh,) = rows
        (line,) = csv.DictReader(io.StringIO(body_text(submissions_csv(rows, [phase], reader, name="own"))))
        return [
            bool(submission_shape(fresh, reader)["scores"]),
            bool(known_results(with_scores([fresh])[0], reader).values),
            score_position(fresh, reader) is not None,
            line["mae"].startswith("0.25"),
        ]

    assert (seen_by(robot.user), seen_by(site.organizer)) == ([False] * 4, [True] * 4)
    phase.leaderboards.update(shows_tasks=True)
    assert seen_by(robot.user) == [True] * 4


def test_an_organizers_robot_runs_a_submission_again_on_one_task(site: Scenario, phase: Phase) -> None:
    EmailAddress.objects.create(user=site.organizer, email=site.organizer.email, verified=True)
    original = scored(site, site.submit(phase=phase, content=zip_bytes({"answer.txt": "1"})).pk)
    script = Script(site.organizer)
    assert script.sign_in() == 200
    assert {"id", "owner", "task"} <= set(script.get("/api/submissions/").json()[0])
    tasks = script.get("/api/tasks/").json()["results"]
    key = next(task["key"] for task in tasks if task["id"] == phase.tasks.get().pk)
    rerun = script.post(f"/api/submissions/{original.pk}/re_run_submission/?task_key={key}")
    assert rerun.status_code == 201
    again = script.get(f"/api/submissions/{rerun.json()['id']}/").json()
    assert (again["task"]["key"], again["is_specific_task_re_run"]) == (key, True)
    copy = scored(site, again["id"], 0.1)
    assert (copy.is_charged, copy.rerun_of, copy.team) == (False, original, original.team)
    assert again["owner"] == original.submitted_by.username, "who sent it in, not who ran it again"
    assert not Entry.objects.filter(score__submission=copy).exists()
    missing = "00000000-0000-0000-0000-000000000000"
    for unknown in (missing, "nonsense"):
        refused = script.post(f"/api/submissions/{original.pk}/re_run_submission/?task_key={unknown}")
        assert (refused.status_code, "error_msg" in refused.json()) == (404, True)


def test_what_a_service_account_runs_again_is_no_further_draw(site: Scenario, phase: Phase, robot: Script) -> None:
    sent = scored(site, robot.submit(phase, zip_bytes({"answer.txt": "1"}))["id"], 0.5)
    rerun = robot.post(f"/api/submissions/{sent.pk}/re_run_submission/")
    assert (rerun.status_code, unscored(phase)) == (201, 0), "nor does a reveal wait for it"
    scored(site, rerun.json()["id"], 0.1)
    assert Entry.objects.get(team=sent.team).score.submission == sent


@pytest.mark.parametrize(
    "change", [{"is_charged": False}, {"status": State.CANCELLED}, {"is_smoke": True, "is_charged": False}]
)
def test_a_service_account_runs_nothing_for_nothing_and_no_more_once_it_is_denied(
    site: Scenario, phase: Phase, robot: Script, change: dict[str, Any]
) -> None:
    sent = scored(site, robot.submit(phase, zip_bytes({"answer.txt": "1"}))["id"], 0.5)
    Submission.objects.filter(pk=sent.pk).update(**change)
    path = f"/api/submissions/{sent.pk}/re_run_submission/"
    for allows in (False, True):
        Competition.objects.update(allow_robot_submissions=allows)
        refused = robot.post(path)
        code = "smoke_not_repeated" if "is_smoke" in change else "free_not_repeated"
        assert (refused.status_code, refused.json()["code"]) == (409, code)
    registration_decide(
        registration=Registration.objects.get(user=robot.user),
        approve=False,
        by=site.organizer,
        now=site.now,
        reason="x",
    )
    Submission.objects.filter(pk=sent.pk).update(is_charged=True, is_smoke=False, status=State.FINISHED)
    assert robot.post(path).json()["code"] == "registration_denied"


def test_what_is_still_running_is_not_run_again(site: Scenario, phase: Phase) -> None:
    EmailAddress.objects.create(user=site.organizer, email=site.organizer.email, verified=True)
    script = Script(site.organizer)
    script.sign_in()
    submission = site.submit(phase=phase, content=zip_bytes({"answer.txt": "1"}))
    assert script.post(f"/api/submissions/{submission.pk}/re_run_submission/").status_code == 409


def test_exact_scores_are_given_where_the_board_is_open_and_gives_them(
    site: Scenario, phase: Phase, robot: Script
) -> None:
    board = Leaderboard.objects.filter(phase=phase)
    board.update(gives_exact_scores=True)
    pk = robot.submit(phase, zip_bytes({"answer.txt": "1"}))["id"]
    scored(site, pk, 0.12345678901)

    def given() -> list[str]:
        return [score["score"] for score in robot.get(f"/api/submissions/{pk}/").json()["scores"]]

    assert given() == ["0.1234567890"]
    board.update(visibility="sealed")
    assert given() == []
    board.update(visibility="phase", gives_exact_scores=False)
    assert given() == ["0.1235"]


def test_columns_over_all_tasks_are_among_the_scores_with_those_of_each_task_where_the_board_shows_them(
    site: Scenario, phase: Phase, robot: Script
) -> None:
    board = Leaderboard.objects.get(phase=phase)
    Column.objects.create(
        leaderboard=board, key="worst", title="Worst", index=1, kind="computed", computation="max", sources=["mae"]
    )
    first = phase.tasks.get()
    second = Task.objects.create(competition=site.competition, name="Second", scoring_program=first.scoring_program)
    phase.tasks.add(second)
    submission = robot.submit(phase, zip_bytes({"answer.txt": "1"}))
    for value in (0.1, 0.3):
        site.score(Submission.objects.get(pk=submission["id"]), value)
    over_all = robot.get(f"/api/submissions/{submission['id']}/").json()["scores"]
    assert [(score["task"], score["score"]) for score in over_all] == [(None, "0.2000"), (None, "0.3000")]
    Leaderboard.objects.filter(pk=board.pk).update(shows_tasks=True)
    scores = robot.get(f"/api/submissions/{submission['id']}/").json()["scores"]
    assert [(score["column_key"], score["task"], score["score"]) for score in scores] == [
        *(
            ("mae", run.task_id, f"{run.scores['mae']:.4f}")
            for run in Submission.objects.get(pk=submission["id"]).runs.all()
        ),
        ("worst", None, "0.3000"),
    ]
    assert len({score["id"] for score in scores}) == 3
    assert all(isinstance(score["id"], int) for score in scores)


def test_a_service_account_runs_its_own_again_and_those_of_others_where_that_is_allowed(
    site: Scenario, phase: Phase, robot: Script
) -> None:
    key = phase.tasks.get().key
    own = scored(site, robot.submit(phase, zip_bytes({"answer.txt": "1"}))["id"])
    again = robot.post(f"/api/submissions/{own.pk}/re_run_submission/?task_key={key}")
    assert again.status_code == 201
    assert robot.get(f"/api/submissions/{again.json()['id']}/").json()["task"]["key"] == str(key)
    scored(site, again.json()["id"])
    theirs = site.submit(phase=phase, content=zip_bytes({"answer.txt": "2"}))
    theirs = scored(site, Submission.objects.get(pk=theirs.pk).pk)
    path = f"/api/submissions/{theirs.pk}/re_run_submission/?task_key={key}"
    assert robot.post(path).status_code == 404
    site.competition.allow_robot_submissions = True
    site.competition.save()
    allowed = robot.post(path)
    assert allowed.status_code == 201
    seen = robot.get(f"/api/submissions/{allowed.json()['id']}/").json()
    assert (seen["task"]["key"], seen["filename"], seen["fact_sheet_answers"]) == (str(key), "", None)
    for hidden in (f"/api/submissions/{theirs.pk}/", f"/api/submissions/{seen['id']}/get_details/"):
        assert robot.get(hidden).status_code == 404


def test_a_person_runs_nothing_again_where_service_accounts_may(site: Scenario, phase: Phase) -> None:
    site.competition.allow_robot_submissions = True
    site.competition.save()
    EmailAddress.objects.create(user=site.member(), email=site.member().email, verified=True)
    script = Script(site.member())
    assert script.sign_in() == 200
    own = scored(site, site.submit(phase=phase, content=zip_bytes({"answer.txt": "1"})).pk)
    assert script.post(f"/api/submissions/{own.pk}/re_run_submission/").status_code == 403


def test_a_service_account_enters_without_approval_where_that_is_allowed(
    site: Scenario, phase: Phase, robot: Script
) -> None:
    site.competition.registration_policy, site.competition.allow_robot_submissions = "approval", True
    site.competition.save()
    assert robot.submit(phase, zip_bytes({"answer.txt": "1"}))["status"] == "Submitting"
    register(user=person(), competition=site.competition, rules_version=1, now=site.now)
    assert sorted(Registration.objects.filter(competition=site.competition).values_list("state", flat=True)) == [
        "approved",
        "approved",
        "pending",
    ]


def test_scripts_that_say_no_size_or_a_wrong_one_are_served(site: Scenario, phase: Phase, robot: Script) -> None:
    content = zip_bytes({"answer.txt": "1"})
    for size in (None, 1, 10**6, "12.5"):
        answer = robot.submit(phase, content, file_size="" if size is None else size)
        assert answer["status"] == "Submitting"


def test_quotas_and_dates_hold_for_robots_as_for_everybody(site: Scenario, phase: Phase, robot: Script) -> None:
    Phase.objects.filter(pk=phase.pk).update(max_submissions_per_day=1)
    phase.refresh_from_db()
    robot.submit(phase, zip_bytes({"answer.txt": "1"}))
    reason = robot.submit(phase, zip_bytes({"answer.txt": "2"}))
    assert "Your team has used the one submission for today." in reason
    Phase.objects.filter(pk=phase.pk).update(closes_at=site.now)
    assert "closed on" in robot.submit(phase, zip_bytes({"answer.txt": "2"}))


def test_to_ask_if_one_may_submit_makes_no_team(site: Scenario) -> None:
    """A link would make one for whoever follows it."""
    who = person()
    register(user=who, competition=site.competition, rules_version=1, now=site.now)
    answer = user_client(who).get(f"/api/can_make_submission/{site.phase.pk}/")
    assert answer.json() == {"can": True, "reason": None}
    assert find_team(who, site.competition) is None


def test_sealed_scores_are_sealed_for_robots(site: Scenario, robot: Script) -> None:
    sealed = site.sealed
    content = prediction_bytes(value=3)
    robot.get(f"/api/can_make_submission/{sealed.pk}/")
    announced = robot.post(
        "/api/datasets/", type="submission", request_sassy_file_name="y_pred_pcqm4m-v2_test-challenge.npz"
    )
    robot.client.put(urlsplit(announced.json()["sassy_url"]).path, content, content_type="application/zip")
    submission = robot.post("/api/submissions/", phase=sealed.pk, data=announced.json()["key"]).json()
    scored(site, submission["id"], 0.123456)
    for path in (
        f"/api/submissions/{submission['id']}/",
        f"/api/submissions/{submission['id']}/get_details/",
        "/api/submissions/",
    ):
        assert "0.123456" not in robot.get(path).content.decode()
    assert robot.get(f"/api/submissions/{submission['id']}/").json()["scores"] == []


def test_a_verdict_is_told_in_the_status_details(site: Scenario, phase: Phase, robot: Script) -> None:
    submission = robot.submit(phase, zip_bytes({"answer.txt": "1"}))
    body = {"outcome": "failed", "reason": "scoring_error", "code": "exit_code", "detail": "The scoring program ended."}
    site.answer(Submission.objects.get(pk=submission["id"]), body)
    row = robot.get(f"/api/submissions/{submission['id']}/").json()
    assert row["status"] == "Failed"
    assert "The scoring program ended. It cost no quota" in row["status_details"]


def test_the_kind_of_a_submission_follows_from_its_zip(site: Scenario, phase: Phase, robot: Script) -> None:
    kinds = {
        Kind.PREDICTION: {"answer.txt": "1"},
        Kind.CODE: {"metadata": "command: python3 main.py", "main.py": "x"},
    }
    for kind, files in kinds.items():
        submission = robot.submit(phase, zip_bytes(files))
        run_background()
        assert Submission.objects.get(pk=submission["id"]).kind == kind


def test_a_person_must_have_confirmed_the_address_and_have_no_second_factor(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = person()
    assert Script(someone).sign_in() == 400
    EmailAddress.objects.create(user=someone, email=someone.email, verified=True)
    script = Script(someone)
    assert script.sign_in() == 200
    assert ApiToken.objects.get(user=someone).scopes == ["read", "submit", "team"]
    assert script.post("/api/api-token-auth/", username=someone.username, password="wrong").status_code == 400
    monkeypatch.setattr("competitions.codabench_api.people.is_mfa_enabled", lambda user: True)
    assert Script(someone).sign_in() == 403


def test_a_new_password_ends_the_token_of_the_one_before(site: Scenario) -> None:
    someone = person()
    EmailAddress.objects.create(user=someone, email=someone.email, verified=True)
    script = Script(someone)
    assert script.sign_in() == 200
    assert script.get("/api/my_profile/").status_code == 200
    passwords = {"oldpassword": "x", "password1": "entirely-new-9876", "password2": "entirely-new-9876"}
    assert user_client(someone).post("/accounts/password/change/", passwords).status_code == 302
    assert script.get("/api/my_profile/").status_code == 401


def test_where_an_organizer_decides_nobody_is_enrolled(site: Scenario, phase: Phase, robot: Script) -> None:
    site.competition.registration_policy = "approval"
    site.competition.save()
    assert (
        "Register" in robot.submit(phase, zip_bytes({"a": "b"}))
        or Registration.objects.filter(user=robot.user).count() == 0
    )
    answer = robot.post(f"/api/competitions/{site.competition.pk}/register/")
    assert (answer.status_code, answer.json()["participant_status"]) == (201, "pending")


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/api/datasets/", {"type": "input_data"}, 400),
        ("/api/submissions/", {}, 400),
        ("/api/submissions/", {"phase": "x", "data": "y"}, 400),
        ("/api/submissions/", {"phase": "²", "data": "y"}, 400),
        ("/api/submissions/", {"phase": "999999", "data": "y"}, 400),
        ("/api/datasets/", {"type": "submission", "file_size": "²"}, 201),
        ("/api/datasets/", {"type": "submission", "file_size": "9" * 400}, 201),
        ("/api/competitions/999999/register/", {}, 404),
    ],
)
def test_nonsense_is_refused_in_words(
    site: Scenario, robot: Script, path: str, fields: dict[str, str], status: int
) -> None:
    answer = robot.post(path, **fields)
    assert answer.status_code == status
    assert status == 201 or answer.json()["detail"]


def test_an_upload_that_is_not_there_is_told_how_to_make_one(site: Scenario, phase: Phase, robot: Script) -> None:
    theirs = site.upload(zip_bytes({"answer.txt": "1"}))
    for key in ("nonsense", str(theirs.key)):
        answer = robot.post("/api/submissions/", phase=phase.pk, data=key)
        assert (answer.status_code, "POST /api/datasets/" in answer.json()["detail"]) == (400, True)
    announced = robot.post("/api/datasets/", type="submission", request_sassy_file_name="s.zip", file_size=10).json()[
        "key"
    ]
    assert robot.post("/api/submissions/", phase=phase.pk, data=announced).status_code in (409, 422), (
        "nothing was put there"
    )


@pytest.mark.parametrize("fields", [{}, {"fact_sheet_answers": ""}, {"fact_sheet_answers": "null"}])
def test_who_answers_nothing_may_submit_where_no_answer_is_required(
    site: Scenario, phase: Phase, robot: Script, fields: dict[str, str]
) -> None:
    site.competition.questions.create(key="method", title="Method")
    submission = robot.submit(phase, zip_bytes({"answer.txt": "1"}), more=fields)
    assert submission["fact_sheet_answers"] is None


def test_an_address_that_no_api_has_is_answered_as_a_program_reads_it(robot: Script) -> None:
    answer = robot.get("/api/nothing/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_answer_to_a_new_submission_has_codabenchs_fields(site: Scenario, phase: Phase, robot: Script) -> None:
    submission = robot.submit(phase, zip_bytes({"answer.txt": "1"}))
    fields = {
        "id",
        "data",
        "phase",
        "status",
        "status_details",
        "filename",
        "description",
        "md5",
        "fact_sheet_answers",
        "organization",
        "queue",
        "created_when",
        "scores",
    }
    assert fields <= set(submission)
    assert submission["created_when"] == f"{Submission.objects.get(pk=submission['id']).created_at:%Y-%m-%d %H:%M}"
    row = robot.get(f"/api/submissions/{submission['id']}/").json()
    assert {
        "phase_name", "name", "filename", "description", "created_when", "is_public", "is_specific_task_re_run", "status", "status_details",
        "owner", "has_children", "parent", "children", "pk", "id", "phase", "scores", "fact_sheet_answers", "leaderboard", "on_leaderboard",
        "task", "auto_run", "can_make_submissions_public", "is_soft_deleted",
    } == set(row)  # fmt: skip
    assert {
        "id",
        "name",
        "description",
        "key",
        "created_by",
        "created_when",
        "is_public",
        "ingestion_only_during_scoring",
        "validated",
        "input_data",
        "ingestion_program",
        "reference_data",
        "scoring_program",
        "shared_with",
    } == set(row["task"])
    details = robot.get(f"/api/submissions/{submission['id']}/get_details/").json()
    assert {
        "logs",
        "data_file",
        "prediction_result",
        "detailed_result",
        "scoring_result",
        "leaderboards",
        "fact_sheet_answers",
    } <= set(details)


def test_participants_learn_no_keys_of_data(site: Scenario, phase: Phase, robot: Script) -> None:
    Task.objects.update(is_public=True)
    Resource.objects.update(is_public=True)
    submission = robot.submit(phase, zip_bytes({"answer.txt": "1"}))
    task = robot.get(f"/api/submissions/{submission['id']}/").json()["task"]
    assert {task[kind] for kind in ("scoring_program", "reference_data", "input_data", "ingestion_program")} == {None}
    assert robot.get("/api/tasks/").json()["count"] == 0, "nothing there is for those who organize nothing"
    organizer = Script(site.organizer)
    EmailAddress.objects.create(user=site.organizer, email=site.organizer.email, verified=True)
    assert organizer.sign_in() == 200
    keys = {str(key) for key in Resource.objects.values_list("key", flat=True)}
    assert {row["reference_data"]["key"] for row in organizer.get("/api/tasks/").json()["results"]} < keys
    row = organizer.get(f"/api/submissions/{submission['id']}/").json()
    assert row["task"]["reference_data"]["key"] in keys


def test_pages_are_given_where_they_are_asked_for(site: Scenario, phase: Phase, robot: Script) -> None:
    numbers = [robot.submit(phase, zip_bytes({"answer.txt": str(number)}))["id"] for number in range(3)]
    assert len(robot.get("/api/submissions/").json()) == 3
    first = robot.get("/api/submissions/", page=1, page_size=2).json()
    assert (first["count"], [row["id"] for row in first["results"]], first["previous"]) == (3, numbers[:0:-1], None)
    url = urlsplit(first["next"])
    second = robot.get(f"{url.path}?{url.query}").json()
    assert ([row["id"] for row in second["results"]], second["next"]) == (numbers[:1], None)
    assert robot.get("/api/submissions/", page=9).status_code == 404


def test_files_of_every_task_are_fetched(site: Scenario, phase: Phase, robot: Script) -> None:
    first = phase.tasks.get()
    second = Task.objects.create(competition=site.competition, name="Second", scoring_program=first.scoring_program)
    phase.tasks.add(second)
    submission = robot.submit(phase, zip_bytes({"metadata": "command: python3 main.py", "main.py": "x"}))
    names = ("submission.log", "predictions.zip", "scoring.log")
    for run in Submission.objects.get(pk=submission["id"]).runs.all():
        for name in names:
            stored = store_bytes(f"{name} of {run.task_id}".encode())
            RunOutput.objects.create(run=run, attempt=run.attempt, name=name, file=stored)
    details = robot.get(f"/api/submissions/{submission['id']}/get_details/").json()
    assert [files["task"] for files in details["tasks"]] == [first.pk, second.pk]
    assert details["prediction_result"] == details["tasks"][0]["prediction_result"]
    assert [log["name"] for log in details["logs"]] == [
        f"prediction_stdout_task_{task.pk}" for task in (first, second)
    ], "the scoring program's log may quote labels"
    texts = [body_text(Client().get(urlsplit(files["prediction_result"]).path)) for files in details["tasks"]]
    assert texts == [f"predictions.zip of {task.pk}" for task in (first, second)]


@pytest.mark.parametrize(
    ("beside", "name", "expected"),
    [
        (False, "submission.log", "prediction_stdout"),
        (False, "ingestion.log", "prediction_ingestion_stdout"),
        (True, "ingestion.log", "scoring_ingestion_stdout"),
        (None, "ingestion.log", "prediction_stdout"),
        (False, "scoring.log", "scoring_stdout"),
    ],
)
def test_logs_have_codabenchs_names(
    site: Scenario, phase: Phase, beside: bool | None, name: str, expected: str
) -> None:
    task = phase.tasks.get()
    if beside is not None:
        task.ingestion_program, task.ingestion_only_during_scoring = task.scoring_program, beside
        task.save()
    submission = site.submit(phase=phase, content=zip_bytes({"answer.txt": "1"}))
    assert log_name(submission.runs.get(), name) == expected


def test_a_list_costs_the_same_whatever_its_length(site: Scenario, phase: Phase) -> None:
    EmailAddress.objects.create(user=site.organizer, email=site.organizer.email, verified=True)
    script = Script(site.organizer)
    script.sign_in()

    def queries() -> dict[str, list[str]]:
        captured = {}
        for path in ("/api/submissions/", "/api/submissions/?page=1", "/api/tasks/", "/api/competitions/"):
            with CaptureQueriesContext(connection) as context:
                assert script.get(path).status_code == 200
            captured[path] = [query["sql"][:230] for query in context]
        return captured

    def grow() -> None:
        site.score(site.submit(phase=phase, content=zip_bytes({"answer.txt": "1"})), 0.5)
        site.score(site.submit(phase=site.sealed), 0.5)
        other = scenario()
        CompetitionOrganizer.objects.create(competition=other.competition, user=site.organizer)
        other.score(other.submit(), 0.5)

    grow()
    queries()  # what is looked up once in a process
    before = queries()
    grow()
    for path, statements in queries().items():
        assert len(statements) == len(before[path]), "\n".join([path, *statements])
