"""The rules of disclosure in docs/sealing-and-winners.md: each artefact for each kind of reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone as django_timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from competitions.catalog.models import Column, CompetitionOrganizer, Leaderboard, Phase, SealedKey, SealedUse
from competitions.catalog.sealed_keys import phases_under_seal, sealed_keys_record
from competitions.catalog.services import phase_reveal
from competitions.disclosure import outputs
from competitions.disclosure.outputs import (
    AttemptReport,
    LogStream,
    disclosed_meters,
    disclosed_report,
    may_download,
    runs_beside_scoring,
    visible_streams,
)
from competitions.disclosure.readers import Reader, reader_for
from competitions.disclosure.receipts import disclosed_receipt
from competitions.disclosure.scores import (
    boards_to_announce,
    boards_to_carry_over,
    boards_with_open_rows,
    details_are_public,
    gives_exact_scores,
    may_know_board,
    may_see_board,
    may_see_manifest,
    may_see_that_it_counts,
    visible_columns,
)
from competitions.runs.models import Run
from competitions.submissions.states import Reason
from scoring.errors import CODES
from tests.scenario import NOON, Scenario, person

KINDS = ("visitor", "member", "organizer", "with the right", "administrator")
PROGRAMS = {LogStream.SUBMISSION, LogStream.INGESTION}
RECEIPT: dict[str, Any] = {
    "inputs": {"submission": "sha256:1", "reference_data": "sha256:2"},
    "outputs": {"predictions.zip": "sha256:3", "scoring.zip": "sha256:4"},
    "notes": ["the scoring program's remark"],
    "timings": {"scoring": 1.5},
    "stages": [{"name": "ingestion", "meters": {"wall_s": 1}}, {"name": "scoring", "meters": {"wall_s": 2}}],
}


@pytest.fixture
def readers(site: Scenario) -> Callable[[], dict[str, Reader]]:
    """One of each kind, new for each call, as for a new request."""
    right = person("with-right")
    CompetitionOrganizer.objects.create(competition=site.competition, user=right, can_see_sealed=True)
    users: list[User | AnonymousUser] = [
        AnonymousUser(),
        site.member(),
        site.organizer,
        right,
        person("root", is_superuser=True),
    ]

    def made() -> dict[str, Reader]:
        return {kind: reader_for(user, site.now) for kind, user in zip(KINDS, users, strict=True)}

    return made


def board_with(phase: Phase, **fields: object) -> Leaderboard:
    """The phase's main board, read anew, with these settings."""
    Leaderboard.objects.filter(pk=phase.leaderboard.pk).update(**fields)
    return Leaderboard.objects.select_related("phase__competition").get(pk=phase.leaderboard.pk)


def those(readers: dict[str, Reader], may: Callable[[Reader], object]) -> set[str]:
    return {kind for kind, reader in readers.items() if may(reader)}


Readers = Callable[[], dict[str, Reader]]


def test_a_public_board_is_for_everybody_and_a_hidden_one_for_organizers(site: Scenario, readers: Readers) -> None:
    assert those(readers(), lambda reader: may_see_board(reader, board_with(site.phase))) == set(KINDS)
    hidden = board_with(site.phase, is_hidden=True)
    assert those(readers(), lambda reader: may_see_board(reader, hidden)) == set(KINDS[2:])
    assert those(readers(), lambda reader: may_know_board(reader, hidden)) == set(KINDS[2:])
    assert those(readers(), lambda reader: may_see_board(reader, None)) == set()


def test_a_sealed_board_is_for_those_with_the_right_alone(site: Scenario, readers: Readers) -> None:
    sealed = board_with(site.sealed)
    assert those(readers(), lambda reader: may_see_board(reader, sealed)) == {"with the right"}
    assert those(readers(), lambda reader: visible_columns(reader, sealed)) == {"with the right"}
    assert those(readers(), lambda reader: may_see_manifest(reader, sealed)) == set()
    assert those(readers(), lambda reader: may_know_board(reader, sealed)) == set(KINDS)


def test_what_a_reader_was_told_of_one_board_is_no_answer_for_another(site: Scenario, readers: Readers) -> None:
    public, sealed = board_with(site.phase), board_with(site.sealed)
    for boards in ([public, sealed], [sealed, public]):
        reader = readers()["organizer"]
        assert {board.pk for board in boards if may_see_board(reader, board)} == {public.pk}
    for phases in ([site.phase, site.sealed], [site.sealed, site.phase]):
        reader = readers()["member"]
        reported = {phase.slug: set(visible_streams(reader, phase)) for phase in phases}
        assert reported == {site.phase.slug: PROGRAMS | {LogStream.WORKER}, site.sealed.slug: {LogStream.WORKER}}


def test_exact_scores_are_given_of_open_boards_that_say_so(site: Scenario) -> None:
    assert not gives_exact_scores(board_with(site.phase))
    assert gives_exact_scores(board_with(site.phase, gives_exact_scores=True))
    assert not gives_exact_scores(board_with(site.phase, is_hidden=True))
    assert not gives_exact_scores(board_with(site.sealed, gives_exact_scores=True))


def test_of_a_smoke_run_everything_is_public(site: Scenario, readers: Readers) -> None:
    reader = readers()["member"]
    assert set(visible_streams(reader, site.sealed, is_smoke=True)) == set(LogStream)
    assert may_download(reader, site.sealed, "scoring.log", run=Run(is_smoke=True))
    assert disclosed_receipt(reader, site.sealed, RECEIPT, run=Run(is_smoke=True)) == RECEIPT


def test_after_the_reveal_everybody_sees_board_and_manifest(site: Scenario, readers: Readers) -> None:
    phase_reveal(phase=site.sealed, now=site.now, before_the_end=True)
    revealed = board_with(Phase.objects.get(pk=site.sealed.pk))
    for may in (may_see_board, may_see_manifest):
        assert those(readers(), lambda reader, may=may: may(reader, revealed)) == set(KINDS)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rule", "who"), [("best", {"with the right"}), ("last", set(KINDS)), ("selected", {"with the right"})]
)
def test_that_a_submission_counts_is_told_where_it_tells_no_score(
    site: Scenario, readers: Readers, rule: str, who: set[str]
) -> None:
    sealed = board_with(site.sealed, rule=rule)
    assert those(readers(), lambda reader: may_see_that_it_counts(reader, sealed)) == who


def test_of_a_hidden_board_nobody_but_organizers_is_told_what_counts(site: Scenario, readers: Readers) -> None:
    hidden = board_with(site.phase, is_hidden=True, rule="last")
    assert those(readers(), lambda reader: may_see_that_it_counts(reader, hidden)) == set(KINDS[2:])


def test_logs_and_files_of_a_public_phase(site: Scenario, readers: Readers) -> None:
    streams = {kind: set(visible_streams(reader, site.phase)) for kind, reader in readers().items()}
    assert streams["member"] == PROGRAMS | {LogStream.WORKER}
    assert streams["organizer"] == set(LogStream)
    assert those(readers(), lambda reader: may_download(reader, site.phase, "scoring.log")) == set(KINDS[2:])
    assert those(readers(), lambda reader: may_download(reader, site.phase, "detailed_results.html")) == set(KINDS)


def test_logs_and_files_of_a_sealed_phase(site: Scenario, readers: Readers) -> None:
    streams = {kind: set(visible_streams(reader, site.sealed)) for kind, reader in readers().items()}
    assert streams["member"] == {LogStream.WORKER}
    assert streams["organizer"] == streams["administrator"] == PROGRAMS | {LogStream.WORKER}
    assert streams["with the right"] == set(LogStream)
    for name in ("scoring.log", "scoring.zip", "detailed_results.html"):
        assert those(readers(), lambda reader, name=name: may_download(reader, site.sealed, name)) == {"with the right"}  # type: ignore[misc]
    for name in ("predictions.zip", "ingestion.log"):
        assert those(readers(), lambda reader, name=name: may_download(reader, site.sealed, name)) == set(KINDS[2:])  # type: ignore[misc]


def test_what_a_phase_hides_is_for_organizers(site: Scenario, readers: Readers) -> None:
    phase = site.phase
    phase.hide_output = phase.hide_prediction_output = phase.hide_score_output = True
    assert set(visible_streams(readers()["member"], phase)) == {LogStream.WORKER}
    for name in ("ingestion.log", "predictions.zip", "detailed_results.html"):
        assert those(readers(), lambda reader, name=name: may_download(reader, phase, name)) == set(KINDS[2:])  # type: ignore[misc]


def test_hidden_logs_are_hidden_as_files_too_and_predictions_are_hidden_apart(site: Scenario, readers: Readers) -> None:
    site.phase.hide_output = True
    assert not may_download(readers()["member"], site.phase, "ingestion.log")
    assert may_download(readers()["member"], site.phase, "predictions.zip")


def test_detailed_results_wait_for_the_competitions_wish_and_every_sealed_board(
    site: Scenario, readers: Readers
) -> None:
    def shown() -> bool:
        return may_download(readers()["member"], site.phase, "detailed_results.html")

    assert shown()
    site.phase.competition.show_detailed_results_in_submission_panel = False
    assert not shown()
    site.phase.competition.show_detailed_results_in_submission_panel = True
    board_with(site.phase, is_hidden=True)
    assert not shown()
    board_with(site.phase, is_hidden=False)
    further = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, is_hidden=True)
    assert not shown(), "it may quote the scores of each board of the phase"
    Leaderboard.objects.filter(pk=further.pk).update(is_hidden=False)
    assert shown()
    Leaderboard.objects.filter(pk=further.pk).update(visibility="sealed")
    assert not shown()


def test_detailed_results_on_a_teams_dataset_are_for_organizers(site: Scenario, readers: Readers) -> None:
    """They may quote that team's labels; a digest of them would let these be guessed."""
    cell, receipt = Run(fills_board=True), {"outputs": {"detailed_results.html": "0" * 64, "predictions.zip": "1" * 64}}

    def may_have(reader: Reader, run: Run) -> bool:
        shown = "detailed_results.html" in disclosed_receipt(reader, site.phase, receipt, run=run)["outputs"]
        assert may_download(reader, site.phase, "detailed_results.html", run=run) == shown
        return shown

    assert those(readers(), lambda reader: may_have(reader, cell)) == set(KINDS[2:])
    assert those(readers(), lambda reader: may_have(reader, Run())) == set(KINDS)
    assert may_download(readers()["member"], site.phase, "predictions.zip", run=cell)


def test_logs_of_programs_are_shown_while_sealed_where_organizers_say_so(site: Scenario, readers: Readers) -> None:
    site.sealed.show_output_while_sealed = True
    assert set(visible_streams(readers()["member"], site.sealed)) == PROGRAMS | {LogStream.WORKER}
    assert may_download(readers()["member"], site.sealed, "predictions.zip")
    site.sealed.tasks.update(
        ingestion_only_during_scoring=True, ingestion_program=site.sealed.tasks.get().scoring_program
    )
    assert runs_beside_scoring(site.sealed)
    for kind in ("member", "organizer"):  # beside a scoring program, code may have been reported of scores
        assert set(visible_streams(readers()[kind], site.sealed)) == {LogStream.WORKER}
        assert not may_download(readers()[kind], site.sealed, "ingestion.log")
    assert not may_download(readers()["member"], site.sealed, "predictions.zip")
    assert set(visible_streams(readers()["with the right"], site.sealed)) == set(LogStream)


@pytest.mark.parametrize(
    ("of_phase", "of_competition", "is_public"),
    [
        ({}, {}, True),
        ({}, {"enable_detailed_results": False}, False),
        ({}, {"show_detailed_results_in_leaderboard": False}, False),
        ({"hide_score_output": True}, {}, False),
        ({"visibility": "sealed"}, {}, False),
    ],
)
def test_details_of_rows_are_public_as_far_as_the_organizers_wish(
    site: Scenario, of_phase: dict[str, Any], of_competition: dict[str, bool], is_public: bool
) -> None:
    site.competition.enable_detailed_results = True
    for row, changes in ((site.phase, of_phase), (site.competition, of_competition)):
        for name, value in changes.items():
            setattr(row, name, value)
    site.phase.competition = site.competition
    board = board_with(site.phase)
    board.phase = site.phase
    assert details_are_public(board) == is_public
    board_with(site.phase, is_hidden=True)
    assert not details_are_public(board)


def test_the_reveal_is_announced_for_boards_that_it_opened_to_everybody(site: Scenario) -> None:
    assert boards_to_announce(site.sealed) == []
    phase_reveal(phase=site.sealed, now=site.now, before_the_end=True)
    revealed = Phase.objects.get(pk=site.sealed.pk)
    assert boards_to_announce(revealed) == [revealed.leaderboard]
    board_with(revealed, is_hidden=True)
    assert boards_to_announce(revealed) == []
    Phase.objects.filter(pk=site.phase.pk).update(revealed_at=site.now)
    assert boards_to_announce(Phase.objects.get(pk=site.phase.pk)) == []


def test_receipts_leave_out_what_may_not_be_had(site: Scenario, readers: Readers) -> None:
    receipts = {kind: disclosed_receipt(reader, site.sealed, RECEIPT) for kind, reader in readers().items()}
    assert receipts["with the right"] == RECEIPT
    assert receipts["member"] == {
        "inputs": {"submission": "sha256:1"},
        "outputs": {},
        "stages": [RECEIPT["stages"][0], {"name": "scoring"}],
    }
    assert receipts["organizer"] == receipts["administrator"]
    assert receipts["organizer"]["outputs"] == {"predictions.zip": "sha256:3"}
    assert receipts["organizer"]["inputs"] == RECEIPT["inputs"]
    assert disclosed_receipt(readers()["member"], site.sealed, {}) == {"inputs": {}}
    in_public = disclosed_receipt(readers()["member"], site.phase, RECEIPT)
    assert (in_public["stages"], "notes" in in_public) == (RECEIPT["stages"], False)


def test_the_part_of_a_worker_that_only_ingests_is_disclosed_as_the_rest(site: Scenario, readers: Readers) -> None:
    receipt = RECEIPT | {"ingestion": RECEIPT}
    shown = {kind: disclosed_receipt(reader, site.sealed, receipt)["ingestion"] for kind, reader in readers().items()}
    assert shown["with the right"] == RECEIPT
    assert (shown["member"]["outputs"], "notes" in shown["member"]) == ({}, False)
    assert shown["organizer"]["outputs"] == {"predictions.zip": "sha256:3"}


def test_digests_of_what_a_competition_makes_available_are_for_everybody(site: Scenario, readers: Readers) -> None:
    receipt = {"inputs": {"scoring_program": "sha256:1", "input_data": "sha256:2", "reference_data": "sha256:3"}}
    assert disclosed_receipt(readers()["member"], site.phase, receipt)["inputs"] == {}
    site.phase.competition.make_programs_available = True
    assert disclosed_receipt(readers()["member"], site.phase, receipt)["inputs"] == {"scoring_program": "sha256:1"}


def report(reason: str, *stages: str, code: str = "", detail: str = "label 7 is 0.25") -> AttemptReport:
    return AttemptReport(reason=reason, code=code, detail=detail, meters={"wall_s": 1}, stages=frozenset(stages))


@pytest.mark.parametrize(
    ("reported", "detail", "meters"),
    [
        (report("", "scoring"), "label 7 is 0.25", {}),
        (report("", "ingestion", "scoring"), "label 7 is 0.25", {"wall_s": 1}),
        (report("scoring_error", "scoring"), "The scoring program failed.", {}),
        (report("output_invalid", "scoring"), "The scoring program refused the output.", {}),
        (report("output_invalid", "scoring", code="nan"), f"The output cannot be scored: {CODES['nan']}.", {}),
        (report("program_error", "ingestion"), "label 7 is 0.25", {"wall_s": 1}),
        (
            report("program_error", "ingestion", "scoring"),
            "The program failed, and what it left could not be scored.",
            {"wall_s": 1},
        ),
    ],
)
def test_a_scoring_program_speaks_in_fixed_words_while_sealed(
    site: Scenario, reported: AttemptReport, detail: str, meters: dict[str, int]
) -> None:
    disclosed = disclosed_report(site.sealed, reported)
    assert (disclosed.detail, disclosed.meters) == (detail, meters)
    assert disclosed.code == ("refused" if "refused the output" in detail else reported.code)
    assert disclosed_report(site.phase, reported) == reported


def test_an_ingestion_programs_refusal_goes_where_the_log_of_the_teams_code_goes(site: Scenario) -> None:
    """The code runs beside it and could write what it has read into the refusal."""
    refused = replace(report("output_invalid", "ingestion", code="no_model"), refused_by="ingestion")
    withheld = replace(refused, code="refused", detail="The ingestion program refused the submission.")
    assert disclosed_report(site.phase, refused) == refused
    assert disclosed_report(site.sealed, refused) == withheld
    assert disclosed_report(site.sealed, replace(refused, is_smoke=True)).detail == refused.detail
    site.phase.hide_output = True
    assert disclosed_report(site.phase, refused) == withheld
    site.sealed.show_output_while_sealed = True
    assert disclosed_report(site.sealed, refused) == refused


def test_the_meters_of_a_scoring_program_are_withheld_while_it_runs(site: Scenario) -> None:
    meters: dict[str, dict[str, int]] = {"reported": {"wall_s": 2}, "before": {"wall_s": 1}}
    assert disclosed_meters(site.sealed, **meters, is_scoring=True) == {"wall_s": 1}
    assert disclosed_meters(site.sealed, **meters, is_scoring=False) == {"wall_s": 2}
    assert disclosed_meters(site.phase, **meters, is_scoring=True) == {"wall_s": 2}


def test_the_reasons_named_here_are_reasons_of_runs() -> None:
    assert {outputs.OUTPUT_INVALID, outputs.PROGRAM_ERROR, outputs.SCORING_ERROR} <= set(Reason.values)


def test_a_use_of_the_right_is_recorded_once_a_request_and_only_where_something_is_sealed(
    site: Scenario, readers: Readers
) -> None:
    reader = readers()["with the right"]
    assert may_see_board(reader, board_with(site.phase))
    assert not SealedUse.objects.exists()
    assert may_see_board(reader, board_with(site.sealed))
    visible_streams(reader, site.sealed)
    assert SealedUse.objects.get().uses == 1
    later = replace(readers()["with the right"], now=datetime(2030, 5, 2, 1, tzinfo=timezone(timedelta(hours=2))))
    assert may_see_board(later, board_with(site.sealed))
    use = SealedUse.objects.get()
    assert (use.uses, use.day, use.first_at, use.last_at) == (2, site.now.date(), site.now, later.now), (
        "the day is UTC's"
    )
    Phase.objects.filter(pk=site.phase.pk).update(visibility=Phase.Visibility.SEALED)
    assert may_see_board(later, board_with(site.phase))
    assert SealedUse.objects.count() == 2, "one of each phase"


def test_a_reader_asks_as_of_now_unless_told_otherwise(site: Scenario) -> None:
    assert reader_for(AnonymousUser()).now <= django_timezone.now()
    assert reader_for(AnonymousUser(), NOON).now == NOON


def test_only_the_right_itself_gives_sealed_scores(readers: Readers) -> None:
    assert {kind for kind, reader in readers().items() if any(reader.rights.values())} == {"with the right"}
    assert not reader_for(AnonymousUser()).rights


def test_rights_are_read_once_and_only_when_they_matter(
    site: Scenario, readers: Readers, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    reader, phase = readers()["organizer"], site.phase
    with django_assert_num_queries(1):
        assert reader.organizes(phase)
        assert reader.organizes(phase)


def test_boards_say_that_they_have_keys_under_seal(site: Scenario) -> None:
    final = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=final, key="private", title="MAE")
    assert site.phase in phases_under_seal()
    sealed_keys_record(phase=site.phase, now=site.now)
    marked = set(Leaderboard.objects.filter(has_sealed_keys=True).values_list("pk", flat=True))
    assert marked == set(SealedKey.objects.values_list("leaderboard", flat=True)) == {final.pk}
    Leaderboard.objects.filter(pk=final.pk).update(visibility="phase")
    assert site.phase in phases_under_seal()
    assert Leaderboard.objects.get(pk=final.pk).is_sealed


def test_what_counts_under_seal_is_neither_run_openly_nor_carried_over(site: Scenario) -> None:
    phase = site.phase
    final = Leaderboard.objects.create(phase=phase, key="final", title="Final", index=1, visibility="sealed")
    assert boards_with_open_rows(phase) == boards_to_carry_over(phase) == [phase.leaderboard]
    Column.objects.create(leaderboard=final, key="private", title="MAE")
    sealed_keys_record(phase=phase, now=site.now)
    Leaderboard.objects.filter(pk=final.pk).update(visibility="phase")
    assert boards_with_open_rows(phase) == boards_to_carry_over(phase) == [phase.leaderboard]
    assert boards_to_carry_over(site.sealed) is None
    board_with(site.sealed, rule="last")
    assert boards_to_carry_over(site.sealed) == [site.sealed.leaderboard]
