"""A submission is `checking` until a background process has read its file; no web request does."""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.urls import reverse
from pytest_django import DjangoCaptureOnCommitCallbacks

from competitions.catalog.models import Phase
from competitions.leaderboards.sealing import unscored
from competitions.runs import checks
from competitions.runs.models import Run, RunEvent
from competitions.runs.reruns import submission_repeat
from competitions.runs.services import submission_cancel, submission_rerun
from competitions.submissions.models import FileCheck, Submission
from competitions.submissions.quota import allowances
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind, Reason, State
from competitions.teams.models import Team
from core.background import bounded, jobs
from core.background.allowance import TooManyRefusedFiles, require_allowance
from core.background.bounded import MAX_ANSWER_BYTES, Bounds, Call, ChildFailed, OverBounds, Stopped, run_bounded
from core.background.jobs import turn_take
from core.background.rows import Claim, claim
from core.celery import app
from tests.background import run_background
from tests.permissions import user_client
from tests.scenario import CODE, Scenario, prediction_bytes, zip_bytes


def damaged(size: int = 100_000) -> bytes:
    """A code submission whose last member has a wrong checksum: what its headers say is right."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in CODE.items():
            archive.writestr(name, text)
        archive.writestr("weights.bin", b"\0" * 1000 + b"\1" * size)
    raw = bytearray(packed.getvalue())
    raw[raw.rindex(b"PK\x01\x02") + 16] ^= 0xFF
    return bytes(raw)


def sent(site: Scenario, content: bytes = b"", *, team: Team | None = None) -> Submission:
    """Submitted as code, and not checked yet."""
    user = site.member(team)
    upload = site.upload(content or zip_bytes(CODE), "code.zip", user=user)
    return submission_create(NewSubmission(user=user, phase=site.phase, upload=upload, kind=Kind.CODE), now=site.now)


def fresh(submission: Submission) -> Submission:
    return Submission.objects.get(pk=submission.pk)


def test_a_request_reads_headers_alone_and_the_runs_are_queued_when_the_check_has_passed(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_to_unpack(*_: object, **__: object) -> None:
        raise AssertionError("a member was opened in the request")

    content = zip_bytes(CODE)
    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "open", refuse_to_unpack)
        submission = sent(site, content)
    assert submission.status == State.CHECKING
    assert [run.state for run in submission.runs.all()] == [State.CHECKING]
    assert site.claim_nothing()
    assert unscored(site.phase) == 1
    assert run_background(at=site.now) == 1
    assert [run.state for run in fresh(submission).runs.all()] == [State.QUEUED]
    assert fresh(submission).checked_at == site.now
    event = RunEvent.objects.get(run__submission=submission)
    assert (event.source, event.target, event.actor) == (State.CHECKING, State.QUEUED, "check")


def test_a_damaged_file_is_refused_with_its_fault_on_page_and_api_and_costs_no_quota(site: Scenario) -> None:
    submission = sent(site, damaged())
    client = user_client(site.member())
    page = client.get(reverse("web:submission", args=[submission.pk])).content.decode()
    assert "The file is being checked" in page
    run_background()
    refused = fresh(submission)
    assert (refused.status, refused.reason, refused.is_charged) == (State.FAILED, Reason.FILE_INVALID, False)
    assert [limit.left for limit in allowances(team_id=site.team.pk, phase=site.phase, now=site.now)] == [5, 100]
    page = client.get(reverse("web:submission", args=[submission.pk])).content.decode()
    answer = client.get(f"/api/v1/submissions/{submission.pk}/").json()
    for text in (page, answer["runs"][0]["detail"]):
        assert "is damaged" in text
        assert "weights.bin" in text
    assert answer["runs"][0]["code"] == "zip_crc_error"


@pytest.mark.parametrize(("value", "code"), [("nan", "nan"), ("inf", "infinite")])
def test_values_of_predictions_are_read_in_the_background(site: Scenario, value: str, code: str) -> None:
    submission = site.submit(content=prediction_bytes(value=float(value)))
    assert (submission.status, submission.reason, submission.runs.get().code) == (
        State.FAILED,
        Reason.FILE_INVALID,
        code,
    )


def test_a_check_is_cancelled_and_its_verdict_comes_too_late(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    submission = sent(site)

    def cancelled_meanwhile(check: FileCheck, claim_id: Any) -> checks.Verdict:
        submission_cancel(submission=submission, actor="user:me", now=site.now)
        return checks.Verdict(FileCheck.Status.REFUSED, reason=Reason.FILE_INVALID, code="late")

    monkeypatch.setattr(checks, "_verdict", cancelled_meanwhile)
    run_background()
    assert (fresh(submission).status, fresh(submission).is_charged) == (State.CANCELLED, False)
    assert FileCheck.objects.get().outcome == FileCheck.Status.CANCELLED
    assert run_background() == 0


def claim_at(at: datetime, submission: Submission) -> Claim | None:
    """The claim of a process that takes the submission's check at a time."""
    with time_machine.travel(at, tick=False):
        return claim(checks.waiting_checks(), submission.file_check.pk)


def test_what_a_killed_process_had_claimed_is_sent_again_and_done_by_another(
    site: Scenario, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = sent(site)
    messages: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda _, args, **__: messages.extend(args))
    assert jobs.resend(now=site.now) == 1, "its message was lost"
    turn = turn_take("background", now=site.now, lease_s=settings.BACKGROUND_LEASE_S)
    assert turn is not None
    assert turn.asker == f"team:{site.team.pk}"
    assert claim_at(site.now, submission) is not None, "and the process that took it is killed"
    assert jobs.resend(now=site.now + timedelta(seconds=settings.BACKGROUND_LEASE_S - 1)) == 0
    later = site.now + timedelta(seconds=settings.BACKGROUND_LEASE_S + 5)
    with time_machine.travel(later, tick=False):
        assert jobs.resend(now=later) == 1
        assert messages == ["background", "background"]
        assert jobs.work(jobs.Queue.SHORT)
    assert fresh(submission).status == State.QUEUED


def test_a_submission_stands_whatever_becomes_of_its_message(
    site: Scenario,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("a fault of a kind that nobody thought of")

    monkeypatch.setattr(app, "send_task", broken)
    with django_capture_on_commit_callbacks(execute=True):
        submission = sent(site)
    assert "a fault of a kind that nobody thought of" in caplog.text
    messages: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda _, args, **__: messages.extend(args))
    assert jobs.resend(now=site.now + timedelta(minutes=10)) == 1
    assert messages == ["background"]
    assert jobs.work(jobs.Queue.SHORT)
    assert fresh(submission).status == State.QUEUED


def test_a_check_that_kills_its_process_again_and_again_is_given_up_as_our_fault(site: Scenario, settings: Any) -> None:
    submission = sent(site)
    for number in range(settings.BACKGROUND_ATTEMPTS):
        at = site.now + timedelta(seconds=number * settings.BACKGROUND_LEASE_S)
        assert claim_at(at, submission) is not None
    run_background(at=site.now + timedelta(hours=1))
    assert (fresh(submission).status, fresh(submission).reason) == (State.FAILED, Reason.INFRASTRUCTURE)
    submission_rerun(submission=fresh(submission), actor="admin:root", now=site.now)
    assert fresh(submission).status == State.CHECKING, "it was never found right"
    run_background()
    assert fresh(submission).status == State.QUEUED


def test_two_processes_never_read_one_file_and_a_claim_that_ran_out_decides_nothing(site: Scenario) -> None:
    submission = sent(site)
    first = claim_at(site.now, submission)
    assert first is not None
    assert claim_at(site.now, submission) is None
    later = site.now + timedelta(minutes=1)
    second = claim_at(later, submission)
    assert second is not None
    refused = checks.Verdict(FileCheck.Status.REFUSED, reason=Reason.FILE_INVALID, code="x", detail="late")
    check = submission.file_check
    assert not checks._decide(check, first, refused, now=later)
    assert checks._decide(check, second, replace(refused, code="y"), now=later)
    assert Run.objects.get().code == "y"


def test_refused_files_are_counted_by_team_and_day(site: Scenario, settings: Any) -> None:
    settings.REFUSED_FILES_PER_DAY = 2
    submissions = [sent(site, damaged()) for _ in range(3)]
    run_background()
    codes = [run.code for run in Run.objects.order_by("submission_id")]
    assert codes == ["zip_crc_error", "zip_crc_error", "too_many_refused_files"]
    assert all(fresh(submission).reason == Reason.FILE_INVALID for submission in submissions)
    with pytest.raises(TooManyRefusedFiles, match=r"2 files today .* until 2030-05-02 00:00 UTC"):
        sent(site)
    assert sent(site, team=site.join("Other")).status == State.CHECKING
    require_allowance(asker=f"team:{site.team.pk}", now=site.now + timedelta(days=1))


def test_a_copy_of_what_was_found_right_is_queued_at_once_and_any_other_is_checked(site: Scenario) -> None:
    good = site.score(site.submit(), 0.5)
    bad = sent(site, damaged())
    run_background()
    again = submission_repeat(submission=good, by=site.organizer, now=site.now)
    assert again.runs.get().state == State.QUEUED
    assert submission_repeat(submission=fresh(bad), by=site.organizer, now=site.now).status == State.CHECKING


def test_metadata_that_stands_for_gigabytes_is_no_command_and_costs_nothing(site: Scenario) -> None:
    nested = "\n".join(
        ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9))]
    )
    Phase.objects.filter(pk=site.phase.pk).update(as_on_codabench=True, prediction_format=None)
    site.phase.tasks.update(ingestion_program=None)
    site.phase.refresh_from_db()
    began = time.process_time()
    submission = site.submit(content=zip_bytes({"metadata.yaml": f"command: x\n{nested}\n"}), name="x.zip")
    assert time.process_time() - began < 5
    assert (submission.kind, submission.program) == (Kind.PREDICTION, "metadata")


def test_a_directory_of_a_hundred_thousand_members_is_left_to_the_background(site: Scenario) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(25_000):
            archive.writestr(f"f{number}", b"")
    content = packed.getvalue()
    upload = site.upload(content, "code.zip")
    began = time.process_time()
    submission = submission_create(
        NewSubmission(user=site.member(), phase=site.phase, upload=upload, kind=Kind.CODE), now=site.now
    )
    assert time.process_time() - began < 1.0
    run_background()
    assert submission.runs.get().code == "zip_too_many_files"


def spin() -> None:
    while True:
        pass


BOUNDS = Bounds(wall_s=250, cpu_s=1, memory_bytes=256 * 1024**2)


@pytest.mark.parametrize(
    ("work", "bounds", "what"),
    [
        (spin, BOUNDS, "processor time"),
        (lambda: len(bytearray(2 * 1024**3)), BOUNDS, "memory"),
        (lambda: time.sleep(60), Bounds(wall_s=0.3, cpu_s=1, memory_bytes=2**28), "time"),
        (lambda: "x" * MAX_ANSWER_BYTES, BOUNDS, "space"),
    ],
)
def test_a_child_that_takes_too_much_is_ended(work: Callable[[], Any], bounds: Bounds, what: str) -> None:
    with pytest.raises(OverBounds) as over:
        run_bounded(work, bounds, is_wanted=lambda: True, every_s=0.1)
    assert over.value.what == what


def fill() -> None:
    """Write a large temporary file, and go on for long."""
    Path(tempfile.mkdtemp(), "large").write_bytes(bytes(16 * 1024**2))
    time.sleep(60)


FILL = ["sh", "-c", 'head -c 16M /dev/zero > "$TMPDIR/large"; exec sleep 5']


@pytest.mark.parametrize("work", [fill, Call("subprocess:call", {"args": FILL})], ids=["forked", "called"])
def test_temporary_files_of_a_child_are_bounded_and_go_with_it(
    work: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(bounded, "SCRATCH_BYTES", 8 * 1024**2)
    with pytest.raises(OverBounds) as over:
        run_bounded(work, replace(BOUNDS, wall_s=5), is_wanted=lambda: True, every_s=60)
    assert (over.value.what, list(tmp_path.iterdir())) == ("space", [])


def test_a_child_answers_is_stopped_or_fails_by_itself(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_bounded(lambda: {"a": [1, "x"]}, BOUNDS, is_wanted=lambda: True, every_s=1) == {"a": [1, "x"]}
    with pytest.raises(Stopped):
        run_bounded(lambda: time.sleep(60), BOUNDS, is_wanted=lambda: False, every_s=0.1)
    with pytest.raises(ChildFailed):
        run_bounded(lambda: 1 // 0, BOUNDS, is_wanted=lambda: True, every_s=1)
    assert "ZeroDivisionError" in capfd.readouterr().err, "the log says what our own fault was"
