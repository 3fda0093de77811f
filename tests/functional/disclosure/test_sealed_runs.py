"""Runs of a phase with sealed scores: receipts, meters, logs and predictions tell nothing of these."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse

from competitions.catalog.models import Column, CompetitionOrganizer, Phase
from competitions.catalog.services import phase_reveal
from competitions.resources.storage import store_bytes
from competitions.runs.leases import reports
from competitions.runs.models import Run, RunLog, RunOutput
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from tests.answers import read_result
from tests.permissions import body_text, user_client
from tests.scenario import Scenario, lease

DIGITS = 77_313  # what the scoring container wrote: as many bytes as the score has digits
USED = {"output_bytes": DIGITS, "cpu_s": 77.313, "memory_peak_bytes": DIGITS, "wall_s": 77.313}
SCORING = {"name": "scoring", "image": "podium/runtime:1", "exit_code": 0, **USED}
INGESTION = {"name": "ingestion", "image": "podium/runtime:1", "wall_s": 3.0, "cpu_s": 2.0}
NOTE = "scores.json: 'mae_0_98765' is not a column of the board and was left out."


def ended(site: Scenario, phase: Phase, *, kind: Kind = Kind.PREDICTION, **more: Any) -> Submission:
    """A submission whose containers left all that a worker reports."""
    submission = site.submit(phase=phase, kind=kind)
    run = site.claim()
    reports.run_heartbeat(**lease(run), state=State.SCORING, meters=dict(USED), now=site.now)
    stages = [SCORING] if kind == Kind.PREDICTION else [INGESTION, SCORING]
    body = {
        "outcome": "finished",
        "scores": {"mae": 0.5},
        "stages": stages,
        "notes": [NOTE],
        "timings": {"collect_s": 77.313},
    }
    reports.run_complete(**lease(run), result=read_result(body | more, columns=["mae"]), now=site.now)
    return submission


def texts_about(site: Scenario, user: Any, submission: Submission) -> str:
    """All that pages, API and admin say to somebody of a submission."""
    client, run = user_client(user), submission.runs.get()
    urls = [
        reverse(name, args=[submission.pk])
        for name in ("web:submission", "api:submission", "api:submission-receipt", "codabench:submission")
    ]
    urls += [
        reverse("api:submissions"),
        reverse("admin:runs_run_change", args=[run.pk]),
        reverse("api:submission-logs", args=[submission.pk]),
    ]
    return "".join(body_text(client.get(url)) for url in urls)


def people(site: Scenario) -> list[Any]:
    return [site.member(), site.organizer]


def test_the_meters_of_a_container_that_only_scores_are_sealed(site: Scenario) -> None:
    submission = ended(site, site.sealed)
    for user in people(site):
        text = texts_about(site, user, submission)
        assert not [part for part in ("77313", "77.313", "98765") if part in text]
    assert submission.runs.get().meters == {}


def test_the_meters_of_a_scoring_container_are_sealed_while_it_runs(site: Scenario) -> None:
    site.submit(phase=site.sealed)
    run = site.claim()
    held = reports.run_heartbeat(**lease(run), state=State.SCORING, meters=dict(USED), now=site.now)
    assert Run.objects.get(pk=held.pk).meters == {}


def test_the_meters_of_a_teams_own_program_stay(site: Scenario) -> None:
    submission = ended(site, site.sealed, kind=Kind.CODE)
    assert submission.runs.get().meters == {"wall_s": 3.0, "cpu_s": 2.0}
    for user in people(site):
        assert "77.313" not in texts_about(site, user, submission)


def test_no_column_of_measurements_shows_what_sealed_scoring_used(site: Scenario) -> None:
    """In a public phase a sealed portion is scored by the same container."""
    final = site.phase.leaderboards.create(key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=final, key="private", title="MAE", is_primary=True)
    Column.objects.create(
        leaderboard=site.phase.leaderboard, key="output_bytes", title="Written", kind="meter", index=1
    )
    ended(site, site.phase)
    assert site.phase.leaderboard.entries.get().values == {"mae": 0.5}


def test_in_a_public_phase_the_meters_of_scoring_are_shown(site: Scenario) -> None:
    submission = ended(site, site.phase)
    assert submission.runs.get().meters["output_bytes"] == DIGITS
    assert "77.313" in texts_about(site, site.member(), submission)


def test_who_holds_the_right_and_everybody_after_the_reveal_reads_what_scoring_used(site: Scenario) -> None:
    submission = ended(site, site.sealed)
    CompetitionOrganizer.objects.filter(competition=site.competition).update(can_see_sealed=True)
    assert "77.313" in texts_about(site, site.organizer, submission)
    phase_reveal(phase=site.sealed, now=site.now, before_the_end=True)
    assert "77.313" in texts_about(site, site.member(), submission)


def receipt(site: Scenario, user: Any, submission: Submission) -> dict[str, Any]:
    answer = user_client(user).get(reverse("api:submission-receipt", args=[submission.pk]))
    run_receipt: dict[str, Any] = json.loads(body_text(answer))["runs"][0]["receipt"]
    return run_receipt


@pytest.mark.parametrize("programs", [False, True])
def test_a_team_gets_digests_of_what_it_may_have(site: Scenario, programs: bool) -> None:
    site.competition.make_programs_available = site.competition.make_input_data_available = programs
    site.competition.save()
    submission = ended(site, site.phase)
    more = {"scoring_program", "input_data"} if programs else set()
    assert set(receipt(site, site.member(), submission)["inputs"]) == {"submission"} | more
    assert "reference_data" in receipt(site, site.organizer, submission)["inputs"]


def printed(site: Scenario, phase: Phase) -> Submission:
    """A code submission whose program printed the hidden input, and left it among its predictions."""
    submission = ended(site, phase, kind=Kind.CODE)
    run = submission.runs.get()
    for stream in ("ingestion", "submission"):
        RunLog.objects.create(run=run, attempt=1, stream=stream, seq=0, text=f"hidden input seen by {stream}")
    for name in ("ingestion.log", "submission.log", "predictions.zip"):
        RunOutput.objects.create(run=run, attempt=1, name=name, file=store_bytes(f"hidden input in {name}".encode()))
    Run.objects.filter(pk=run.pk).update(receipt=run.receipt | {"outputs": {"predictions.zip": "d" * 64}})
    return submission


def file_statuses(user: Any, submission: Submission) -> list[int]:
    client = user_client(user)
    names = ("ingestion.log", "submission.log", "predictions.zip")
    answers = [client.get(reverse("web:submission-output", args=[submission.pk, name])) for name in names]
    assert all(body_text(answer) for answer in answers)
    return [answer.status_code for answer in answers]


def test_what_code_prints_and_leaves_in_a_sealed_phase_is_hidden_from_its_team(site: Scenario) -> None:
    submission = printed(site, site.sealed)
    text = texts_about(site, site.member(), submission)
    assert "hidden input" not in text
    assert "d" * 64 not in text
    assert file_statuses(site.member(), submission) == [404, 404, 404]
    assert file_statuses(site.organizer, submission) == [200, 200, 200]
    phase_reveal(phase=site.sealed, now=site.now, before_the_end=True)
    assert file_statuses(site.member(), submission) == [200, 200, 200]


def test_organizers_may_show_what_code_prints_while_scores_are_sealed(site: Scenario) -> None:
    submission = printed(site, site.sealed)
    Phase.objects.filter(pk=site.sealed.pk).update(show_output_while_sealed=True)
    assert file_statuses(site.member(), submission) == [200, 200, 200]
    assert "hidden input seen by ingestion" in texts_about(site, site.member(), submission)


def test_what_ran_beside_a_scoring_program_is_hidden_as_its_own_log_is(site: Scenario) -> None:
    task = site.sealed.tasks.get()
    task.ingestion_program, task.ingestion_only_during_scoring = task.scoring_program, True
    task.save()
    submission = printed(site, site.sealed)
    Phase.objects.filter(pk=site.sealed.pk).update(show_output_while_sealed=True)
    for user in people(site):
        assert "hidden input" not in texts_about(site, user, submission)
        assert file_statuses(user, submission) == [404, 404, 404]
    CompetitionOrganizer.objects.filter(competition=site.competition).update(can_see_sealed=True)
    assert file_statuses(site.organizer, submission) == [200, 200, 200]


def test_a_program_that_failed_before_scoring_did_is_told_in_fixed_words(site: Scenario) -> None:
    detail = "The program ended with exit code 1. Then nothing could be scored: 'mae' is 0.98765."
    failed = {"outcome": "failed", "reason": "program_error", "code": "exit_code", "detail": detail, "scores": None}
    submission = ended(site, site.sealed, kind=Kind.CODE, **failed)
    for user in people(site):
        assert "98765" not in texts_about(site, user, submission)


def test_a_row_of_a_sealed_board_is_answered_as_one_that_is_not_there(site: Scenario) -> None:
    ended(site, site.sealed)
    entry = site.sealed.leaderboard.entries.get()
    client = user_client(site.member())
    assert client.get(reverse("web:entry", args=[entry.pk])).status_code == 404
    assert client.get(reverse("web:entry", args=[entry.pk + 1000])).status_code == 404
