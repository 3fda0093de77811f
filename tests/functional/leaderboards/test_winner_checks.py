"""Checks of winners' code: permuted, perturbed and held-out input, and content of the zip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from competitions.catalog.models import Check, Task
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.runs.leases import reports
from competitions.runs.models import RunOutput
from competitions.submissions.access import visible_submissions
from competitions.submissions.models import Submission
from competitions.winners import refusals, services
from competitions.winners.checks import phase_checks
from competitions.winners.code_facts import code_facts
from competitions.winners.models import Lane, Place, State
from competitions.winners.verification import verification_start
from core.reconciler import reconcile
from tests.answers import read_result
from tests.functional.leaderboards.test_winners import OFFICIAL, handed_in, lane
from tests.permissions import user_client
from tests.scenario import Scenario, lease, prediction_bytes, resource, zip_bytes
from tests.soak import in_soak

__all__ = ["lane"]  # a fixture

ROWS = 40
PLAIN = np.linspace(1, 2, ROWS, dtype=np.float32)
MOVED = np.roll(np.arange(ROWS), 1)
Made = Callable[[str], Any]  # kind of check, or nothing, to what the code predicts


def check(site: Scenario, kind: Check, *, rows: str | None = None, **fields: Any) -> Task:
    """A check of the sealed phase's task."""
    plain = site.sealed.tasks.get()
    labels = zip_bytes({"labels.txt": "labels"} | ({} if rows is None else {"rows.csv": rows}))
    task = Task(
        competition=site.competition,
        name=kind.label,
        checks=plain,
        check_kind=kind,
        scoring_program=plain.scoring_program,
        reference_data=resource(site.organizer, Resource.Kind.REFERENCE_DATA, labels),
        input_data=plain.input_data,
        **fields,
    )
    task.full_clean()
    task.save()
    return task


def verified(site: Scenario, lane: Lane, predict: Made, *, held_out_score: float = 0.1) -> Place:
    """A place whose runs, on plain input and all checks, ended with these predictions, compared."""
    place = verification_start(key=handed_in(site, lane).key, by=site.organizer, now=site.now)
    taken_to_its_end(site, predict, held_out_score)
    return Place.objects.get(pk=place.pk)


def taken_to_its_end(site: Scenario, predict: Made, held_out_score: float) -> None:
    """All runs that wait, and the comparison."""
    for _ in range(1 + len(phase_checks(site.sealed))):
        run = site.claim(site.worker(gpus=1), free_gpus=1)
        content = zip_bytes({OFFICIAL: prediction_bytes(y_pred=predict(run.task.check_kind))})
        RunOutput.objects.create(run=run, attempt=1, name="predictions.zip", file=store_bytes(content))
        score = held_out_score if run.task.check_kind == Check.HELD_OUT else 0.1
        body = {"outcome": "finished", "scores": {"mae": score}, "stages": [{"name": "ingestion", "wall_s": 60.0}]}
        reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    assert reconcile(now=site.now)["winners_compared"] == 1


def honest(kind: str) -> Any:
    return PLAIN[MOVED] if kind == Check.PERMUTED else PLAIN


@pytest.fixture
def wide(lane: Lane) -> Lane:
    """A lane with a wide tolerance: the submitted predictions are constant, so they do not matter here."""
    Lane.objects.filter(pk=lane.pk).update(tolerance=10.0, tolerance_origin="Five runs with other seeds")
    lane.refresh_from_db()
    return lane


def test_code_whose_predictions_follow_its_input_holds_every_check_and_is_confirmed(site: Scenario, wide: Lane) -> None:
    check(site, Check.PERMUTED, rows="\n".join(map(str, MOVED)), check_tolerance=0.0)
    check(site, Check.PERTURBED, check_tolerance=0.0)
    check(site, Check.HELD_OUT, check_tolerance=0.05)
    place = verified(site, wide, honest)
    comparison = place.comparison
    assert comparison["is_within"], comparison["faults"]
    assert [result["faults"] for result in comparison["checks"]] == [[], [], []]
    assert (comparison["checks"][0]["equal_share"], comparison["checks"][0]["unmoved_share"]) == (1.0, 0.0)
    assert comparison["checks"][2]["score"] == comparison["checks"][2]["expected_score"] == 0.1
    assert services.place_confirm(key=place.key, actor="test", now=site.now).state == State.CONFIRMED


@pytest.mark.parametrize(
    ("predict", "held_out_score", "fault"),
    [
        (lambda kind: PLAIN, 0.1, "rows permuted: the predictions stayed where they were while the rows moved"),
        (lambda kind: np.zeros(ROWS, np.float32), 0.1, "the code does not read its input"),
        (
            lambda kind: np.zeros(ROWS, np.float32) if kind == Check.PERTURBED else honest(kind),
            0.1,
            "input perturbed: the predictions differ by 1.5 on average; 0 is allowed",
        ),
        pytest.param(
            lambda kind: PLAIN[::-1] if kind == Check.PERMUTED else PLAIN,
            0.1,
            "rows permuted: the predictions differ by",
            marks=in_soak,
        ),
        (honest, 0.9, "held-out part: the score is worse by 0.8; 0.05 is allowed"),
        (
            lambda kind: PLAIN[1:] if kind == Check.PERMUTED else honest(kind),
            0.1,
            "rows permuted: The predictions cannot be read",
        ),
    ],
    ids=["copied", "constant", "looked up by text", "in a wrong order", "looked up by meaning", "too few rows"],
)
def test_code_that_copies_or_looks_up_is_told_and_cannot_be_confirmed(
    site: Scenario, wide: Lane, predict: Made, held_out_score: float, fault: str
) -> None:
    check(site, Check.PERMUTED, rows="\n".join(map(str, MOVED)), check_tolerance=0.0)
    check(site, Check.PERTURBED, check_tolerance=0.0)
    check(site, Check.HELD_OUT, check_tolerance=0.05)
    place = verified(site, wide, predict, held_out_score=held_out_score)
    with pytest.raises(refusals.OutsideTolerance, match=fault):
        services.place_confirm(key=place.key, actor="test", now=site.now)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        (None, "hold no rows.csv"),
        pytest.param("first\nsecond", "something else than whole numbers", marks=in_soak),
        ("0\n" * ROWS, "must name each of the 40 rows once"),
    ],
)
def test_a_permutation_that_is_missing_or_wrong_is_told(
    site: Scenario, wide: Lane, rows: str | None, fault: str
) -> None:
    check(site, Check.PERMUTED, rows=rows)
    assert fault in "; ".join(verified(site, wide, honest).comparison["faults"])


def test_a_held_out_score_without_a_tolerance_is_shown_and_not_judged(site: Scenario, wide: Lane) -> None:
    check(site, Check.HELD_OUT)
    comparison = verified(site, wide, honest, held_out_score=0.9).comparison
    assert (comparison["is_within"], comparison["checks"][0]["score"]) == (True, 0.9)


def test_organizers_see_differences_plots_meters_files_and_where_the_tolerance_comes_from(
    site: Scenario, wide: Lane
) -> None:
    check(site, Check.PERMUTED, rows="\n".join(map(str, MOVED)))
    place = verified(site, wide, lambda kind: PLAIN)
    page = user_client(site.organizer).get(reverse("web:winners-place", args=[place.key])).content.decode()
    assert page.count("<figure") == 2
    for text in ("1.0000 had not moved", "Five runs with other seeds", "predict.py", "constants: 0 for 40", "1 min of"):
        assert text in page


def test_the_team_sees_neither_logs_nor_files_of_the_checks(site: Scenario, wide: Lane) -> None:
    check(site, Check.HELD_OUT)
    place = verified(site, wide, honest)
    seen_by_team, seen_by_organizer = (
        set(visible_submissions(who).values_list("pk", flat=True)) for who in (site.member(place.team), site.organizer)
    )
    assert place.verification_id in seen_by_team
    assert place.check_run_id not in seen_by_team
    assert place.check_run_id in seen_by_organizer
    client = user_client(site.member(place.team))
    listed = client.get(reverse("web:submissions", args=[site.competition.slug])).content.decode()
    assert f"#{place.check_run_id}" not in listed


def test_a_check_that_we_lost_puts_the_place_back_and_one_that_cannot_be_scored_is_told(
    site: Scenario, wide: Lane
) -> None:
    check(site, Check.HELD_OUT)
    place = verified(site, wide, honest)
    for reason, state in (("infrastructure", State.HARDWARE), ("scoring_error", State.COMPARED)):
        Place.objects.update(state=State.VERIFYING)
        checks = place.check_run
        assert checks is not None
        checks.runs.update(state="failed", reason=reason, detail="It broke.")
        Submission.objects.filter(pk=checks.pk).update(status="failed", reason=reason)
        reconcile(now=site.now)
        place = Place.objects.get()
        assert place.state == state
    assert any("It broke." in fault for fault in place.comparison["faults"])


def test_what_earlier_runs_of_the_code_came_to_is_shown_beside_the_newest(site: Scenario, wide: Lane) -> None:
    place = verified(site, wide, honest)
    for value in (2.0, 3.0):
        place = verification_start(key=place.key, by=site.organizer, now=site.now)
        page = user_client(site.organizer).get(reverse("web:winners-place", args=[place.key]))
        assert "Runs of the code" not in page.content.decode()  # the newest is on its way
        predictions = np.full(ROWS, value, np.float32)
        taken_to_its_end(site, {"": predictions}.__getitem__, 0.1)
        place = Place.objects.get()
    assert [round(comparison["mae"], 6) for comparison in place.comparison["earlier"]] == [0.5, 1.0]
    assert place.comparison["mae"] == 2.0
    repeats = Submission.objects.filter(is_verification=True, is_check=False).order_by("pk")
    assert list(repeats.values_list("seed", flat=True)) == [0, 1, 2], "each is told another seed"
    page = user_client(site.organizer).get(reverse("web:winners-place", args=[place.key]))
    assert "Earlier runs of the same code" in page.content.decode()


def test_a_check_belongs_to_one_task_of_its_competition_and_to_no_phase(site: Scenario) -> None:
    task = check(site, Check.HELD_OUT)
    with pytest.raises(ValidationError, match="checks no other task"):
        Task(
            competition=site.competition,
            name="n",
            scoring_program=task.scoring_program,
            checks=task,
            check_kind="permuted",
        ).full_clean()
    with pytest.raises(ValidationError, match="needs a kind of check"):
        Task(
            competition=site.competition, name="n", scoring_program=task.scoring_program, check_kind="permuted"
        ).full_clean()
    other = site.phase.tasks.get()
    other.checks, other.check_kind = site.sealed.tasks.get(), Check.PERMUTED
    with pytest.raises(ValidationError, match="out of its phases"):
        other.full_clean()


def test_a_tolerance_needs_its_origin(site: Scenario) -> None:
    with pytest.raises(ValidationError, match="how the tolerance was found"):
        Lane(leaderboard=site.sealed.leaderboard, tolerance=0.1).full_clean()
    Lane(leaderboard=site.sealed.leaderboard, tolerance=0.1, tolerance_origin="Five runs").full_clean()


def test_constants_are_counted_in_texts_and_by_size_in_other_files(db: None) -> None:
    stored = store_bytes(zip_bytes({"main.py": "a = [0.25, 0.5, 3]", "weights.bin": b"\0" * 400}))
    facts = code_facts(stored, predictions=100)
    assert facts["files"] == [["weights.bin", 400], ["main.py", 18]]
    assert (facts["constants"], facts["bytes"], facts["file_count"]) == (103, 418, 2)


def test_what_is_read_to_count_constants_is_bounded_over_all_files(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("competitions.winners.code_facts.MAX_READ_BYTES", 30)
    files: dict[str, str | bytes] = {f"part-{number}.txt": "1 2 3 4 5 6 " for number in range(4)}  # 12 bytes each
    facts = code_facts(store_bytes(zip_bytes(files)), predictions=100)
    assert facts["constants"] == 6 + 6 + 3 + 3, "two are read, two count by their size"
