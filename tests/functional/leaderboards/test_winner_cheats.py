"""Winners' checks against code that carries answers along: tables by place, text and meaning, at several shares.

Programs are functions of the rows that they read. A row has a place, a text and a meaning; other spellings have another
text, the held-out part other meanings. An honest model is right on the same share of any rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.urls import reverse
from numpy.typing import NDArray

import scoring
from competitions.catalog.models import Check, Column, Phase, Task
from competitions.catalog.services import phase_reveal
from competitions.resources.models import Resource
from competitions.resources.storage import store_bytes
from competitions.runs.leases import reports
from competitions.runs.models import RunOutput
from competitions.submissions.states import Kind
from competitions.winners import refusals, services
from competitions.winners.models import Lane, Place
from competitions.winners.states import State
from competitions.winners.verification import verification_start
from core.reconciler import reconcile
from scoring import reference
from scoring.formats.submissions import official_filename
from tests.answers import read_result
from tests.functional.leaderboards.test_winners import handed_in
from tests.permissions import user_client
from tests.scenario import Scenario, lease, prediction_bytes, resource, zip_bytes

ROWS, UNSEEN = 6000, 4000
QUALITY = 0.7
SPLIT = "test-challenge"
Arrays = dict[str, NDArray[Any]]
SKILL = np.random.default_rng(1).random(ROWS + UNSEEN)  # an honest model is right where this is below QUALITY
TRUTH = np.random.default_rng(2).integers(0, 150, ROWS + UNSEEN)
MOVED = np.random.default_rng(3).permutation(ROWS)


@dataclass(frozen=True)
class Rows:
    """What a program reads: row i stands at place i and has this text and meaning."""

    text: NDArray[Any]
    meaning: NDArray[np.int64]


Program = Callable[[Rows], NDArray[np.bool_]]  # in which rows it has the right answer


def rows_of(kind: str) -> Rows:
    meaning = np.arange(ROWS, ROWS + UNSEEN) if kind == Check.HELD_OUT else np.arange(ROWS)
    if kind == Check.PERMUTED:
        meaning = MOVED
    text = np.array([f"{'other' if kind == Check.PERTURBED else 'plain'} {number}" for number in meaning])
    return Rows(text, meaning)


def honest(rows: Rows) -> NDArray[np.bool_]:
    return SKILL[rows.meaning] < QUALITY


def noisy(rows: Rows) -> NDArray[np.bool_]:
    """Two in a hundred answers differ in each run."""
    return honest(rows) ^ (np.random.default_rng().random(len(rows.meaning)) < 0.02)


def table_by_place(rows: Rows) -> NDArray[np.bool_]:
    """The right answers of the plain rows, in their order; the moved rows get those of others."""
    places = np.arange(len(rows.meaning))
    return np.where(places < ROWS, rows.meaning == places, honest(rows))


def table_by_text(share: float) -> Program:
    known = set(rows_of("").text[: int(share * ROWS)])
    return lambda rows: np.array([text in known for text in rows.text]) | honest(rows)


def table_by_meaning(share: float) -> Program:
    return lambda rows: (rows.meaning < share * ROWS) | honest(rows)


def deciding_rows(rows: Rows) -> NDArray[np.bool_]:
    """Only 60 of the rows that the model has wrong: one point, enough for the next place."""
    known = set(rows_of("").text[np.flatnonzero(SKILL[:ROWS] >= QUALITY)[:60]])
    return np.array([text in known for text in rows.text]) | honest(rows)


@dataclass(frozen=True)
class World:
    """A dataset: how right and wrong answers look in it, and the lane's tolerances for honest noise."""

    dataset: str
    key: str
    truth: str
    answers: Callable[[NDArray[np.int64], NDArray[np.bool_]], Arrays]
    lane: dict[str, float]

    def labels(self, rows: Rows) -> Arrays:
        truth = TRUTH[rows.meaning]
        return {self.truth: truth / 20.0 if self.key == "mae" else truth}

    def score(self, predictions: Arrays, rows: Rows) -> float:
        return scoring.evaluate(self.dataset, {**self.labels(rows), **predictions})[self.key]

    @property
    def is_error(self) -> bool:
        return self.key == "mae"


def top10(truth: NDArray[np.int64], right: NDArray[np.bool_]) -> Arrays:
    others = 1000 + np.arange(10)
    ids = np.tile(others, (len(truth), 1))
    ids[right, 0] = truth[right]
    return {"t_pred_top10": ids.astype(np.int32)}


def numbers(truth: NDArray[np.int64], right: NDArray[np.bool_]) -> Arrays:
    """Off by 0.1 or 0.5; sums in another order differ in the last digits."""
    rounding = np.random.default_rng().normal(0, 1e-6, len(truth))
    return {"y_pred": (truth / 20.0 + np.where(right, 0.1, 0.5) + rounding).astype(np.float32)}


WORLDS = {
    "mag240m": World(
        "lsc-mag240m",
        "acc",
        "y_true",
        lambda truth, right: {"y_pred": np.where(right, truth, truth + 1).astype(np.int16)},
        {"min_equal_share": 0.95},
    ),
    "wikikg90mv2": World("lsc-wikikg90mv2", "mrr", "t", top10, {"min_equal_share": 0.95}),
    "pcqm4mv2": World("lsc-pcqm4mv2", "mae", "y_true", numbers, {"tolerance": 0.05}),
}


class Contest:
    """A closed and revealed phase in the format of a world, whose first place is to be verified."""

    def __init__(self, site: Scenario, folder: Path, world: World, *, are_labels_known: bool = True) -> None:
        self.site, self.folder, self.world, self.are_labels_known = site, folder, world, are_labels_known
        Phase.objects.filter(pk=site.sealed.pk).update(
            prediction_format={"dataset": world.dataset, "split": SPLIT, "rows": ROWS}
        )
        site.sealed.refresh_from_db()
        sorting = Column.Sorting.ASC if world.is_error else Column.Sorting.DESC
        Column.objects.filter(leaderboard=site.sealed.leaderboard).update(key=world.key, sorting=sorting)
        plain = site.sealed.tasks.get()
        plain.reference_data = self._labels("")
        plain.save()
        for kind in (Check.PERMUTED, Check.PERTURBED, Check.HELD_OUT):
            Task.objects.create(
                competition=site.competition,
                name=kind.label,
                checks=plain,
                check_kind=kind,
                check_tolerance=0.1 if kind == Check.HELD_OUT else None,
                scoring_program=plain.scoring_program,
                reference_data=self._labels(kind),
                input_data=plain.input_data,
            )

    def _labels(self, kind: str) -> Resource:
        """A reference folder, or labels that the site cannot read."""
        files: dict[str, str | bytes] = {"labels.txt": "labels"}
        if self.are_labels_known:
            folder = self.folder / f"labels-{kind}"
            reference.write(folder, self.world.dataset, {SPLIT: self.world.labels(rows_of(kind))})
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
        if kind == Check.PERMUTED:
            files["rows.csv"] = "\n".join(map(str, MOVED))
        return resource(self.site.organizer, Resource.Kind.REFERENCE_DATA, zip_bytes(files))

    def answer_of(self, program: Program, kind: str) -> tuple[bytes, float]:
        """The official file that a program makes, and its score."""
        rows = rows_of(kind)
        predictions = self.world.answers(TRUTH[rows.meaning], program(rows))
        return prediction_bytes(**predictions), self.world.score(predictions, rows)

    def submit(self, team: str, program: Program, *, is_baseline: bool = False) -> None:
        content, score = self.answer_of(program, "")
        sent: dict[str, Any] = {"content": content, "name": official_filename(self.world.dataset, SPLIT)}
        if is_baseline:
            sent = {"kind": Kind.CODE}
        submission = self.site.submit(
            team=self.site.join(team, is_baseline=is_baseline), phase=self.site.sealed, **sent
        )
        self.finish(program, worker_gpus=0)
        assert submission.runs.get().scores == {} or score

    def finish(self, program: Program, *, worker_gpus: int = 1) -> None:
        """Answer the run that waits with what the program makes of its input."""
        run = self.site.claim(self.site.worker(gpus=worker_gpus), free_gpus=worker_gpus)
        content, score = self.answer_of(program, run.task.check_kind)
        packed = store_bytes(zip_bytes({official_filename(self.world.dataset, SPLIT): content}))
        RunOutput.objects.create(run=run, attempt=1, name="predictions.zip", file=packed)
        body = {"outcome": "finished", "scores": {self.world.key: score}}
        reports.run_complete(**lease(run), result=read_result(body, columns=[self.world.key]), now=self.site.now)

    def verified(self, program: Program, *, baseline: Program | None = None) -> Place:
        """The first place of a team that sent in what its code makes, run and compared."""
        self.submit("first", program)
        self.submit("second", lambda rows: SKILL[rows.meaning] < QUALITY - 0.005)
        if baseline is not None:
            self.submit("baseline", baseline, is_baseline=True)
        site = self.site
        assert site.sealed.grace_ends_at is not None
        site.now = site.sealed.grace_ends_at
        phase_reveal(phase=site.sealed, now=site.now)
        lane = Lane.objects.create(leaderboard=site.sealed.leaderboard, top=1, score_tolerance=0.02, **self.world.lane)
        place = verification_start(key=handed_in(site, lane).key, by=site.organizer, now=site.now)
        for _ in range(4):
            self.finish(program)
        for _ in range(3 if baseline is not None else 0):
            assert baseline is not None
            self.finish(baseline)
        assert reconcile(now=site.now)["winners_compared"] == 1
        return Place.objects.get(pk=place.pk)


def check_of(place: Place, kind: Check) -> dict[str, Any]:
    found: dict[str, Any] = next(part for part in place.comparison["checks"] if part["kind"] == kind.label)
    return found


CHEATS: list[tuple[str, Program, Check]] = [
    ("mag240m", table_by_place, Check.PERMUTED),
    ("mag240m", table_by_text(1.0), Check.PERTURBED),
    ("mag240m", table_by_text(0.1), Check.PERTURBED),
    ("mag240m", table_by_meaning(1.0), Check.HELD_OUT),
    ("mag240m", table_by_meaning(0.3), Check.HELD_OUT),
    ("mag240m", deciding_rows, Check.PERTURBED),
    ("wikikg90mv2", table_by_meaning(0.3), Check.HELD_OUT),
    ("pcqm4mv2", table_by_meaning(0.3), Check.HELD_OUT),
    ("pcqm4mv2", deciding_rows, Check.PERTURBED),
]


@pytest.mark.parametrize(
    ("world", "program", "told_by"),
    CHEATS,
    ids=[
        "by place",
        "by text",
        "by text, a tenth",
        "by meaning",
        "by meaning, a third",
        "the rows that decide",
        "by meaning, rankings",
        "by meaning, numbers",
        "the rows that decide, numbers",
    ],
)
def test_code_with_a_table_of_answers_cannot_be_confirmed(
    site: Scenario, tmp_path: Path, world: str, program: Program, told_by: Check
) -> None:
    place = Contest(site, tmp_path, WORLDS[world]).verified(program)
    assert any("the score is worse by" in fault for fault in check_of(place, told_by)["faults"])
    with pytest.raises(refusals.OutsideTolerance, match="the score is worse by"):
        services.place_confirm(key=place.key, actor="test", now=site.now)


@pytest.mark.parametrize(
    ("world", "program"),
    [("mag240m", honest), ("mag240m", noisy), ("wikikg90mv2", honest), ("pcqm4mv2", honest)],
    ids=["deterministic", "with noise", "rankings", "numbers, in another order of sums"],
)
def test_honest_code_is_confirmed(site: Scenario, tmp_path: Path, world: str, program: Program) -> None:
    place = Contest(site, tmp_path, WORLDS[world]).verified(program)
    assert place.comparison["faults"] == []
    assert check_of(place, Check.PERTURBED)["agreement"] >= 0.9
    assert 0 < check_of(place, Check.HELD_OUT)["allowed_gap"] < 0.03
    assert services.place_confirm(key=place.key, actor="test", now=site.now).state == State.CONFIRMED


def test_a_tolerance_that_does_not_come_from_the_data_confirms_the_table(site: Scenario, tmp_path: Path) -> None:
    """The control: labels that the site cannot read leave the check's own tolerance of 0.1."""
    contest = Contest(site, tmp_path, WORLDS["mag240m"], are_labels_known=False)
    place = contest.verified(table_by_meaning(0.3))
    found = check_of(place, Check.HELD_OUT)
    assert 0.08 < found["gap"] < found["allowed_gap"] == 0.1
    assert place.comparison["warnings"], "it is wider than the distance to the next place"
    assert services.place_confirm(key=place.key, actor="test", now=site.now).state == State.CONFIRMED
