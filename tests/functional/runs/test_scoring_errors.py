"""A failing scoring program costs teams no quota, within limits, and organizers are told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail

from competitions.catalog.models import Phase
from competitions.runs.records import scoring_errors
from competitions.runs.records.scoring_errors import PERIOD, organizers_notify
from competitions.runs.services import submission_rerun
from competitions.submissions.models import Submission
from competitions.submissions.refusals import TOO_MANY_SCORING_ERRORS
from competitions.submissions.states import Kind, Reason, State
from tests.refusals import refuses
from tests.scenario import Scenario, prediction_bytes, zip_bytes

FAILED = {"outcome": "failed", "reason": "scoring_error", "code": "exit_code", "detail": "It ended with 1."}
LATIN = "Zürich,1\n".encode("latin-1")


def fail(site: Scenario, number: int = 0) -> Submission:
    submission = site.submit(content=prediction_bytes(value=float(number)))
    return site.answer(submission, FAILED)


def test_a_team_runs_for_nothing_only_so_often_a_day(site: Scenario, settings: Any) -> None:
    settings.SCORING_ERRORS_PER_DAY = 2
    Phase.objects.update(max_submissions_per_day=1)
    last = [fail(site, number) for number in range(2)][-1]
    assert not last.is_charged
    with refuses(TOO_MANY_SCORING_ERRORS, match=r"failed on 2 of your team's submissions today.*2030-05-02 00:00 UTC"):
        site.submit()
    other = site.join()
    assert site.submit(team=other).status == State.QUEUED, "others are not held up"
    midnight = site.now.replace(hour=0) + timedelta(days=1)
    assert site.submit(at=midnight).status == State.QUEUED


def test_only_what_a_scoring_program_failed_on_counts(site: Scenario, settings: Any) -> None:
    settings.SCORING_ERRORS_PER_DAY, settings.MAX_ATTEMPTS = 1, 1
    site.answer(site.submit(), FAILED | {"reason": "infrastructure", "code": "disk"})
    site.score(site.submit(), 0.5)
    assert site.submit().status == State.QUEUED


def test_what_is_scored_in_the_end_no_longer_counts_as_a_failure(site: Scenario, settings: Any) -> None:
    settings.SCORING_ERRORS_PER_DAY = 1
    failed = fail(site)
    submission_rerun(submission=failed, actor="user:organizer", now=site.now)
    site.score(failed, 0.5)
    assert site.submit().status == State.QUEUED


def test_organizers_are_told_once_a_day_whose_submissions_it_were(site: Scenario) -> None:
    assert organizers_notify(now=site.now) == 0
    for number in range(2):
        fail(site, number)
    site.answer(site.submit(team=site.join("Others")), FAILED)
    now = site.now + timedelta(minutes=1)
    assert [organizers_notify(now=now), organizers_notify(now=now + timedelta(hours=1))] == [1, 0]
    (message,) = mail.outbox
    assert message.to == [site.organizer.email]
    assert f"  2 of {site.team.name}\n  1 of Others\n" in message.body
    assert organizers_notify(now=now + PERIOD) == 0, "nothing has failed since"


def test_organizers_are_told_in_the_next_round_where_one_broke_off(
    site: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(site)
    now = site.now + timedelta(minutes=1)
    with monkeypatch.context() as broken:
        broken.setattr(scoring_errors, "mail_person", None)
        assert organizers_notify(now=now) == 0
    assert organizers_notify(now=now) == 1


def test_an_image_that_no_registry_has_ends_the_run_at_once_and_the_organizers_hear_of_it(site: Scenario) -> None:
    answer = {"outcome": "failed", "reason": "setup_error", "code": "image_unknown", "detail": "No registry has it."}
    failed = site.answer(site.submit(kind=Kind.CODE), answer)
    assert (failed.status, failed.reason, failed.is_charged) == (State.FAILED, Reason.SETUP_ERROR, False)
    assert failed.runs.get().attempt == 1, "it is not tried again"
    assert organizers_notify(now=site.now + timedelta(minutes=1)) == 1
    assert "or its setup, failed" in mail.outbox[-1].body


def test_organizers_hear_of_submissions_that_the_platform_gave_up(site: Scenario, settings: Any) -> None:
    settings.MAX_ATTEMPTS = 1
    site.answer(site.submit(), FAILED | {"reason": "infrastructure", "code": "worker_fault"})
    assert organizers_notify(now=site.now + timedelta(minutes=1)) == 1
    body = mail.outbox[-1].body
    assert f"the platform failed on submissions to “{site.phase.name}”" in body
    assert f"  1 of {site.team.name}\n" in body
    assert "scoring program" not in body


def test_errors_after_a_mail_are_told_of_the_next_day(site: Scenario) -> None:
    fail(site)
    organizers_notify(now=site.now)
    site.now += timedelta(hours=1)
    fail(site, 1)
    assert organizers_notify(now=site.now) == 0
    assert organizers_notify(now=site.now + PERIOD - timedelta(minutes=30)) == 1
    assert "  1 of " in mail.outbox[-1].body


@pytest.mark.parametrize("on_codabench", [False, True])
@pytest.mark.parametrize(
    ("patterns", "content", "is_refused"),
    [
        ("*.csv", LATIN, True),
        ("*.csv", "Zürich,1\n".encode(), False),
        ("", LATIN, False),
        ("*.txt", LATIN, False),
        ("*.CSV *.txt", LATIN, True),
    ],
    ids=["not text", "text", "nothing is asked", "another name", "one of several"],
)
def test_predictions_that_are_text_by_their_name_must_be_text(
    site: Scenario, patterns: str, content: bytes, is_refused: bool, on_codabench: bool
) -> None:
    Phase.objects.update(text_files=patterns, prediction_format=None, as_on_codabench=on_codabench, accepts_code=False)
    site.phase.refresh_from_db()
    submission = site.submit(content=zip_bytes({"fold/answers.csv": content, "image.bin": LATIN}), name="p.zip")
    assert (submission.reason == Reason.FILE_INVALID) == is_refused
    if is_refused:
        run = submission.runs.get()
        assert (run.code, submission.is_charged) == ("not_utf8", False)
        assert "'fold/answers.csv' is not UTF-8 text (from byte 1 on)" in run.detail


def test_programs_may_hold_what_they_like(site: Scenario) -> None:
    submission = site.submit(content=zip_bytes({"metadata.yaml": "command: ./x", "notes.txt": LATIN}), kind=Kind.CODE)
    assert submission.status == State.QUEUED
