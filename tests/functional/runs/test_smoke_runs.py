"""The smoke run: first, on public data, free, with its whole log, and away from hidden data."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from accounts.models import User
from competitions.catalog.models import Column, Phase, Task
from competitions.catalog.readiness import competition_warnings
from competitions.leaderboards.models import Score
from competitions.resources.models import StoredFile
from competitions.runs.leases import reports
from competitions.runs.models import Run
from competitions.runs.queue.smoke import TASK_HIDDEN
from competitions.runs.records.logs import append_logs
from competitions.runs.services import submission_cancel, submission_rerun
from competitions.runs.worker_api.jobs import job_for
from competitions.submissions.models import Submission
from competitions.submissions.quota import allowances, smoke_allowance
from competitions.submissions.refusals import SMOKE_TASK_HIDDEN, TOO_MANY_SMOKE_RUNS, NoSmokeRun, QuotaUsed
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind, Reason, State
from competitions.web.presentation.runs import run_history
from tests.answers import read_result
from tests.background import run_background
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import CODE, Scenario, lease, person, resource, zip_bytes
from tests.smoke import with_smoke_run
from workers.protocol.calls import LogPiece, LogStream
from workers.protocol.jobs import StagedFile

pytestmark = pytest.mark.django_db
PASSED = {"outcome": "finished", "scores": {"mae": 0.9}}
CRASHED = {"outcome": "failed", "reason": "program_error", "code": "exit_code", "detail": "The program ended with 1."}


@pytest.fixture
def phase(site: Scenario) -> Phase:
    return with_smoke_run(site)


MAX_QUERIES = 10  # as of every page


def code(site: Scenario, **fields: Any) -> Submission:
    return site.submit(kind=Kind.CODE, **fields)


def smoke_alone(site: Scenario, phase: Phase, kind: Kind = Kind.CODE) -> Submission:
    submission = submission_create(
        NewSubmission(
            user=site.member(), phase=phase, upload=site.upload(zip_bytes(CODE), "code.zip"), kind=kind, is_smoke=True
        ),
        now=site.now,
    )
    run_background(at=site.now)
    return Submission.objects.get(pk=submission.pk)


def used(site: Scenario, phase: Phase) -> int:
    return allowances(team_id=site.team.pk, phase=phase, now=site.now)[0].used


def answer(site: Scenario, body: dict[str, Any]) -> Run:
    run = site.claim()
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    return Run.objects.get(pk=run.pk)


def digests(run: Run) -> set[str]:
    """Digests of the files that the run's worker is given and may mount."""
    mounts = [mount for stage in job_for(run).stages for mount in stage.mounts]
    return {mount.file.sha256 for mount in mounts if isinstance(mount, StagedFile)}


def hidden_files(site: Scenario) -> set[str]:
    tasks = Task.objects.filter(competition=site.competition, is_public_split=False)
    return {pk for row in tasks.values_list("reference_data__file", "input_data__file") for pk in row if pk}


# --- what happens to a submission


def test_code_runs_on_the_mini_split_first_and_then_on_the_hidden_data(site: Scenario, phase: Phase) -> None:
    submission = code(site)
    assert list(submission.runs.values_list("task__name", "is_smoke")) == [("Mini split", True)]
    first = answer(site, PASSED)
    submission.refresh_from_db()
    assert (first.is_smoke, submission.status) == (True, State.QUEUED)
    assert not Score.objects.filter(submission=submission).exists()
    second = answer(site, {"outcome": "finished", "scores": {"mae": 0.25}})
    submission.refresh_from_db()
    assert (second.task, second.is_smoke, submission.status, submission.is_charged) == (
        phase.tasks.get(),
        False,
        "finished",
        True,
    )
    assert Score.objects.get(submission=submission).values["mae"] == 0.25


def test_what_fails_its_smoke_run_goes_no_further_and_is_free(site: Scenario, phase: Phase) -> None:
    submission = code(site)
    assert used(site, phase) == 1  # its place is kept while it may go on
    answer(site, CRASHED)
    submission.refresh_from_db()
    assert (submission.status, submission.reason, submission.is_charged) == (State.FAILED, Reason.PROGRAM_ERROR, False)
    assert submission.runs.count() == 1
    assert used(site, phase) == 0
    assert site.claim_nothing()
    client = user_client(site.member())
    assert "It cost no quota." in client.get(f"/submissions/{submission.pk}/").content.decode()
    row = client.get(f"/submissions/{submission.pk}/row/").content.decode()
    assert ("The program failed: it ended with 1." in row, "Cause:" in row) == (True, False), "one line a row"
    Submission.objects.filter(pk=submission.pk).update(is_charged=True)  # as beyond the free ones of a day
    assert "It cost no quota." not in client.get(f"/submissions/{submission.pk}/").content.decode()


def test_a_smoke_run_alone_costs_nothing_and_ends_there(site: Scenario, phase: Phase) -> None:
    Phase.objects.filter(pk=phase.pk).update(max_submissions_per_day=0)
    phase.refresh_from_db()
    submission = smoke_alone(site, phase)
    answer(site, PASSED)
    submission.refresh_from_db()
    assert (submission.status, submission.is_charged, submission.may_rank, submission.runs.count()) == (
        State.FINISHED,
        False,
        False,
        1,
    )
    assert not Score.objects.filter(submission=submission).exists()
    with pytest.raises(QuotaUsed):
        code(site)


@pytest.mark.parametrize("kind", [Kind.PREDICTION, Kind.DATASET])
def test_only_code_has_smoke_runs(site: Scenario, phase: Phase, kind: Kind) -> None:
    Phase.objects.filter(pk=phase.pk).update(accepts_datasets=True)
    phase.refresh_from_db()
    with pytest.raises(NoSmokeRun, match="code alone"):
        smoke_alone(site, phase, kind)
    assert not Submission.objects.exists()


def test_predictions_go_to_their_task_at_once(site: Scenario, phase: Phase) -> None:
    assert list(site.submit().runs.values_list("is_smoke", flat=True)) == [False]


def test_a_phase_without_a_mini_split_has_no_smoke_run(site: Scenario) -> None:
    with pytest.raises(NoSmokeRun, match="no public mini split"):
        smoke_alone(site, site.phase)


def test_a_team_has_so_many_free_smoke_runs_a_day_and_is_charged_for_what_fails_beyond_them(
    site: Scenario, phase: Phase, settings: Any
) -> None:
    settings.SMOKE_RUNS_PER_DAY = 2
    smoke_alone(site, phase)
    answer(site, PASSED)
    code(site)
    assert not answer(site, CRASHED).submission.is_charged
    with refuses(TOO_MANY_SMOKE_RUNS, match="2030-05-02 00:00"):
        smoke_alone(site, phase)
    code(site)
    assert answer(site, CRASHED).submission.is_charged, "the free ones of today are used"
    code(site)
    answer(site, PASSED)
    assert answer(site, PASSED).state == State.FINISHED, "one that counts is still run"
    tomorrow = site.now + timedelta(days=1)
    assert smoke_allowance(site.team.pk, now=tomorrow).left == 2
    assert code(site, at=tomorrow).status == State.QUEUED


def test_only_a_teams_own_free_runs_on_the_mini_split_count(site: Scenario, phase: Phase, settings: Any) -> None:
    settings.SMOKE_RUNS_PER_DAY = 1
    code(site, team=site.join())
    answer(site, CRASHED)
    code(site)
    answer(site, PASSED)
    answer(site, PASSED)  # charged: it ran on the hidden data
    site.answer(
        site.submit(), {"outcome": "failed", "reason": "scoring_error", "code": "exit_code", "detail": "It failed."}
    )
    assert code(site).status == State.QUEUED


def test_what_failed_by_our_fault_takes_none_of_them(site: Scenario, phase: Phase, settings: Any) -> None:
    settings.SMOKE_RUNS_PER_DAY, settings.MAX_ATTEMPTS = 1, 1
    code(site)
    answer(site, {"outcome": "failed", "reason": "infrastructure", "code": "disk", "detail": "Full."})
    assert code(site).status == State.QUEUED


def test_a_cancelled_submission_goes_no_further_than_its_smoke_run(site: Scenario, phase: Phase) -> None:
    submission = code(site)
    run = site.claim()
    submission_cancel(submission=submission, actor="user:a", now=site.now)
    reports.run_complete(**lease(run), result=read_result(PASSED, columns=["mae"]), now=site.now)
    submission.refresh_from_db()
    assert (submission.status, submission.is_charged, submission.runs.count()) == (State.CANCELLED, False, 1)


def test_what_is_cancelled_in_its_smoke_run_is_charged_once_the_free_ones_are_used(
    site: Scenario, phase: Phase, settings: Any
) -> None:
    settings.SMOKE_RUNS_PER_DAY = 1
    charged = []
    for _ in range(2):
        submission = code(site)
        run = site.claim()
        reports.run_heartbeat(**lease(run), state=State.INGESTING, meters={}, now=site.now)
        submission_cancel(submission=submission, actor="user:a", now=site.now)
        reports.run_complete(**lease(run), result=read_result(PASSED, columns=["mae"]), now=site.now)
        submission.refresh_from_db()
        charged.append(submission.is_charged)
    assert charged == [False, True]
    waits = code(site)
    submission_cancel(submission=waits, actor="user:a", now=site.now)
    waits.refresh_from_db()
    assert not waits.is_charged, "it had not begun"


def test_the_scores_of_a_smoke_run_name_no_hidden_column(site: Scenario, phase: Phase) -> None:
    board = phase.leaderboards.get()
    Column.objects.create(leaderboard=board, key="secret", title="S", sorting="asc", index=1, is_hidden=True)
    submission = code(site)
    site.answer(submission, {"outcome": "finished", "scores": {"mae": 0.5, "secret": 0.77}})
    pages = [f"/submissions/{submission.pk}/", f"/api/v1/submissions/{submission.pk}/"]
    for user, sees_it in ((site.member(), False), (site.organizer, True)):
        answers = [user_client(user).get(page).content.decode() for page in pages]
        assert all("mae" in answer for answer in answers)
        assert ["secret" in answer for answer in answers] == [sees_it, sees_it]


def test_an_organizer_runs_again_what_failed_there(site: Scenario, phase: Phase) -> None:
    submission = code(site)
    answer(site, CRASHED)
    submission_rerun(submission=submission, actor="user:o", now=site.now)
    answer(site, PASSED)
    answer(site, PASSED)
    submission.refresh_from_db()
    assert (submission.status, submission.runs.count(), submission.is_charged) == (State.FINISHED, 2, True)


def test_five_minutes_are_the_limit_and_the_phase_may_give_less(site: Scenario, phase: Phase) -> None:
    Phase.objects.filter(pk=phase.pk).update(time_limit_s=14_400, scoring_time_limit_s=20)
    code(site)
    run = site.claim()
    assert [stage.limits.wall_s for stage in job_for(run).stages] == [300, 20]
    reports.run_complete(**lease(run), result=read_result(PASSED, columns=["mae"]), now=site.now)
    assert [stage.limits.wall_s for stage in job_for(site.claim()).stages] == [14_400, 20]


# --- nothing hidden


def test_a_smoke_run_is_given_no_hidden_file(site: Scenario, phase: Phase) -> None:
    code(site)
    smoke = site.claim()
    assert smoke.is_smoke
    assert not digests(smoke) & hidden_files(site)
    reports.run_complete(**lease(smoke), result=read_result(PASSED, columns=["mae"]), now=site.now)
    assert digests(site.claim()) & hidden_files(site), "the control: other runs are given them"


def test_a_task_is_no_smoke_run_unless_its_organizers_say_that_nothing_is_hidden(site: Scenario) -> None:
    phase = site.phase
    phase.smoke_task = site.sealed.tasks.get()
    with pytest.raises(ValidationError, match="not a public split"):
        phase.full_clean()


@pytest.mark.parametrize("part", ["reference_data", "input_data"])
def test_nor_with_a_file_that_another_task_keeps_hidden(site: Scenario, phase: Phase, part: str) -> None:
    smoke = phase.smoke_task
    assert smoke is not None
    file: StoredFile = getattr(site.sealed.tasks.get(), part).file
    hidden = resource(site.organizer, getattr(smoke, part).kind, b"x")
    hidden.file = file  # the same bytes under another name
    hidden.save()
    setattr(smoke, part, hidden)
    smoke.save()
    with pytest.raises(ValidationError, match="keeps hidden"):
        Phase.objects.get(pk=phase.pk).full_clean()
    with refuses(SMOKE_TASK_HIDDEN):
        code(site)
    assert "smoke_task_hidden" in {warning.code for warning in competition_warnings(site.competition)}


def test_a_smoke_run_whose_task_became_hidden_meanwhile_is_not_handed_out(site: Scenario, phase: Phase) -> None:
    submission = code(site)
    Task.objects.filter(pk=phase.smoke_task_id or 0).update(is_public_split=False)
    assert site.claim_nothing()
    run = submission.runs.get()
    submission.refresh_from_db()
    assert (run.state, run.reason, run.code, submission.is_charged) == ("failed", "setup_error", TASK_HIDDEN, False)


def test_a_public_split_that_phases_run_first_stays_public(site: Scenario, phase: Phase) -> None:
    task = phase.smoke_task
    assert task is not None
    task.is_public_split = False
    with pytest.raises(ValidationError, match="choose another smoke run"):
        task.full_clean()


# --- who sees what


@pytest.fixture
def sealed(site: Scenario) -> Phase:
    return with_smoke_run(site, site.sealed)


def seen(who: User, submission: Submission) -> dict[str, str]:
    client = Client()
    client.force_login(who)
    logs = client.get(f"/api/v1/submissions/{submission.pk}/logs/").json()
    return {
        f"{'smoke' if Run.objects.get(pk=log['run']).is_smoke else 'hidden'} {log['stream']}": log["text"]
        for log in logs
    }


def test_the_team_reads_the_whole_log_of_a_smoke_run_while_scores_are_sealed(site: Scenario, sealed: Phase) -> None:
    """A control: of the run on the hidden data it reads nothing but what the platform says."""
    Phase.objects.filter(pk=sealed.pk).update(hide_output=True)
    submission = code(site, phase=sealed)
    for text in ("of the mini split", "of the hidden data"):
        run = site.claim()
        append_logs(
            run, [LogPiece(stream=stream, seq=0, text=text) for stream in (LogStream.INGESTION, LogStream.SCORING)]
        )
        reports.run_complete(**lease(run), result=read_result(PASSED, columns=["mae"]), now=site.now)
    assert {what: text for what, text in seen(site.member(), submission).items() if text} == {
        "smoke ingestion": "of the mini split",
        "smoke scoring": "of the mini split",
    }


def test_a_sealed_phase_says_in_full_why_a_smoke_run_failed(site: Scenario, sealed: Phase) -> None:
    submission = code(site, phase=sealed)
    body = {"outcome": "failed", "reason": "output_invalid", "code": "wrong_rows", "detail": "Row 3 is missing."}
    answer(site, body)
    assert submission.runs.get().detail == body["detail"]
    page = Client()
    page.force_login(site.member())
    assert body["detail"] in page.get(f"/submissions/{submission.pk}/").content.decode()


def test_teams_download_the_mini_split_with_its_labels_and_no_hidden_file(site: Scenario, sealed: Phase) -> None:
    client = Client()
    client.force_login(site.member())
    files = client.get(f"/api/v1/competitions/{site.competition.slug}/files/").json()
    assert {file["name"] for file in files} >= {"smoke-input_data", "smoke-reference_data", "smoke-scoring_program"}
    assert not {file["sha256"] for file in files} & hidden_files(site)
    Task.objects.filter(pk=sealed.smoke_task_id or 0).update(is_public_split=False)
    address = f"/api/v1/competitions/{site.competition.slug}/phases/{sealed.slug}/files/smoke-reference_data/"
    assert client.get(address).status_code == 404


def test_strangers_download_nothing_of_it(site: Scenario, phase: Phase) -> None:
    client = Client()
    client.force_login(person())
    address = f"/api/v1/competitions/{site.competition.slug}/phases/{phase.slug}/files/smoke-reference_data/"
    assert client.get(address).status_code == 403


# --- pages and API


def test_the_form_offers_a_smoke_run_where_the_phase_has_one(site: Scenario, phase: Phase) -> None:
    client = Client()
    client.force_login(site.member())
    address = f"/competitions/{site.competition.slug}/submissions/"
    assert 'name="smoke"' in client.get(f"{address}?phase={phase.slug}").content.decode()
    assert 'name="smoke"' not in client.get(f"{address}?phase={site.sealed.slug}").content.decode()
    upload = site.upload(zip_bytes(CODE), "code.zip")
    form = {"phase": phase.slug, "kind": "code", "upload": str(upload.key), "smoke": "on"}
    assert client.post(f"/competitions/{site.competition.slug}/submit/", form).status_code == 302
    submission = Submission.objects.get()
    assert submission.is_smoke
    shown = client.get(f"/submissions/{submission.pk}/").content.decode()
    assert "Smoke run: Mini split" in shown


def test_the_api_takes_and_tells_smoke_runs(site: Scenario, phase: Phase) -> None:
    client = Client()
    client.force_login(site.member())
    upload = site.upload(zip_bytes(CODE), "code.zip")
    body = {"phase": phase.pk, "kind": "code", "upload": str(upload.key), "smoke": True}
    submission = client.post("/api/v1/submissions/", body, content_type="application/json").json()
    assert (submission["is_smoke"], submission["is_charged"], [run["is_smoke"] for run in submission["runs"]]) == (
        True,
        False,
        [True],
    )
    answer(site, PASSED)
    assert client.get(f"/api/v1/submissions/{submission['id']}/").json()["runs"][0]["smoke_scores"] == {"mae": 0.9}
    assert "0.9000" in client.get(f"/submissions/{submission['id']}/").content.decode()
    phases = client.get(f"/api/v1/competitions/{site.competition.slug}/").json()["phases"]
    assert [row["has_smoke_run"] for row in phases] == [True, False]


def test_scores_on_hidden_data_are_never_told_as_those_of_a_smoke_run(site: Scenario, sealed: Phase) -> None:
    submission = code(site, phase=sealed)
    for value in (0.9, 0.123456):
        answer(site, {"outcome": "finished", "scores": {"mae": value}})
    client = Client()
    client.force_login(site.member())
    for address in (f"/api/v1/submissions/{submission.pk}/", "/api/v1/submissions/", f"/submissions/{submission.pk}/"):
        shown = client.get(address).content.decode()
        assert "0.9" in shown
        assert "0.1234" not in shown


@pytest.mark.parametrize("page", ["data", "submissions"])
def test_pages_with_a_smoke_run_ask_no_more_than_others(
    site: Scenario, phase: Phase, page: str, django_assert_max_num_queries: Any
) -> None:
    code(site)
    answer(site, PASSED)
    answer(site, PASSED)
    client = Client()
    client.force_login(site.member())
    address = f"/competitions/{site.competition.slug}/{page}/"
    client.get(address)  # what is drawn once
    with django_assert_max_num_queries(MAX_QUERIES):
        assert client.get(address).status_code == 200


def test_the_run_after_the_smoke_run_waits_from_then_on(site: Scenario, phase: Phase) -> None:
    submission = code(site)
    later = site.now + timedelta(minutes=5)
    for seconds in (0, 7):
        run = site.claim(at=later + timedelta(seconds=seconds))
        reports.run_complete(
            **lease(run), result=read_result(PASSED, columns=["mae"]), now=later + timedelta(seconds=seconds)
        )
    smoke, hidden = Submission.objects.get(pk=submission.pk).runs.order_by("-is_smoke")
    waits = [
        [seconds for event, seconds in run_history(run, submission) if event.source == State.QUEUED]
        for run in (smoke, hidden)
    ]
    assert waits == [[300], [7]]
    Run.objects.filter(pk=hidden.pk).update(queued_at=later + timedelta(hours=1))  # as of one that is run again
    hidden.refresh_from_db()
    assert run_history(hidden, submission)[0][1] == 7


@pytest.mark.parametrize(
    ("wall_s", "limit_s", "verdict"),
    [
        (2, 600, "That is within the limit"),
        (20, 600, "whether the code stays within it depends"),
        (700, 600, "That is over the limit"),
    ],
)
def test_the_page_says_what_the_whole_takes_with_and_without_its_start_up(
    site: Scenario, phase: Phase, wall_s: float, limit_s: int, verdict: str
) -> None:
    Phase.objects.filter(pk=phase.pk).update(smoke_scale=150, time_limit_s=limit_s)
    submission = code(site)
    Run.objects.filter(pk=answer(site, PASSED).pk).update(meters={"wall_s": wall_s})
    client = Client()
    client.force_login(site.member())
    shown = " ".join(client.get(f"/submissions/{submission.pk}/").content.decode().split())
    assert "if all of this run was start-up" in shown
    assert verdict in shown
