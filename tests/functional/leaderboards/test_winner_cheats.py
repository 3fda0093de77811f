"""Winners' checks against code that carries answers along: tables by place, by text and by meaning.

Programs are functions of the rows that they read. A row has a place, a text and a meaning; other spellings have another
text, the held-out part other meanings. An honest model is right on the same share of any rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from competitions.winners.models import Lane, Place, State
from competitions.winners.verification import verification_start
from core.reconciler import reconcile
from scoring import reference
from scoring.formats.submissions import official_filename
from tests.answers import read_result
from tests.functional.leaderboards.test_winners import handed_in
from tests.permissions import user_client
from tests.scenario import Scenario, lease, prediction_bytes, resource, zip_bytes
from tests.soak import mostly_in_soak

ROWS, UNSEEN = 6000, 4000
QUALITY = 0.7
SPLIT = "test-challenge"
Arrays = dict[str, Any]
SKILL = np.random.default_rng(1).random(ROWS + UNSEEN)  # an honest model is right where this is below QUALITY
TRUTH = np.random.default_rng(2).integers(0, 150, ROWS + UNSEEN)
MOVED = np.random.default_rng(3).permutation(ROWS)


@dataclass(frozen=True)
class Rows:
    """The input of a program: row i stands at place i and has this text and meaning."""

    text: NDArray[Any]
    meaning: NDArray[np.int64]


Program = Callable[[Rows], NDArray[np.bool_]]  # in which rows it has the right answer


def input_rows(kind: str) -> Rows:
    meaning = np.arange(ROWS, ROWS + UNSEEN) if kind == Check.HELD_OUT else np.arange(ROWS)
    if kind == Check.PERMUTED:
        meaning = MOVED
    text = np.array([f"{'other' if kind == Check.PERTURBED else 'plain'} {number}" for number in meaning])
    return Rows(text, meaning)


def honest(rows: Rows) -> NDArray[np.bool_]:
    return SKILL[rows.meaning] < QUALITY


def noisy(rows: Rows) -> NDArray[np.bool_]:
    """Two in a hundred answers differ in each run."""
    return honest(rows) ^ (seeded_noise(rows).random(len(rows.meaning)) < 0.02)


def seeded_noise(rows: Rows) -> np.random.Generator:
    """Other noise for each input, the same whenever the test is run."""
    return np.random.default_rng([len(rows.text[0]), *rows.meaning[:2]])


def table_by_place(rows: Rows) -> NDArray[np.bool_]:
    """The right answers of the plain rows, in their order; the moved rows get those of others."""
    places = np.arange(len(rows.meaning))
    return np.where(places < ROWS, rows.meaning == places, honest(rows))


def table_by_text(share: float) -> Program:
    known = set(input_rows("").text[: int(share * ROWS)])
    return lambda rows: np.array([text in known for text in rows.text]) | honest(rows)


def table_by_meaning(share: float) -> Program:
    return lambda rows: (rows.meaning < share * ROWS) | honest(rows)


def deciding_rows(rows: Rows) -> NDArray[np.bool_]:
    """Only 60 of the rows that the model has wrong: one point, enough for the next place."""
    known = set(input_rows("").text[np.flatnonzero(SKILL[:ROWS] >= QUALITY)[:60]])
    return np.array([text in known for text in rows.text]) | honest(rows)


@dataclass(frozen=True)
class World:
    """A dataset: how right and wrong answers look in it, and the lane's tolerances for honest noise."""

    dataset: str
    key: str
    truth: str
    answers: Callable[[NDArray[np.int64], NDArray[np.bool_], np.random.Generator], Arrays]
    lane: dict[str, float]

    def labels(self, rows: Rows) -> Arrays:
        truth = TRUTH[rows.meaning]
        return {self.truth: truth / 20.0 if self.key == "mae" else truth}

    def score(self, predictions: Arrays, rows: Rows) -> float:
        return scoring.evaluate(self.dataset, {**self.labels(rows), **predictions})[self.key]

    @property
    def is_error(self) -> bool:
        return self.key == "mae"


def classes(truth: NDArray[np.int64], right: NDArray[np.bool_], rng: np.random.Generator) -> Arrays:
    return {"y_pred": np.where(right, truth, truth + 1).astype(np.int16)}


def top10(truth: NDArray[np.int64], right: NDArray[np.bool_], rng: np.random.Generator) -> Arrays:
    others = 1000 + np.arange(10)
    ids = np.tile(others, (len(truth), 1))
    ids[right, 0] = truth[right]
    return {"t_pred_top10": ids.astype(np.int32)}


def numbers(truth: NDArray[np.int64], right: NDArray[np.bool_], rng: np.random.Generator) -> Arrays:
    """Off by 0.1 or 0.5; sums in another order differ in the last digits."""
    rounding = rng.normal(0, 1e-6, len(truth))
    return {"y_pred": (truth / 20.0 + np.where(right, 0.1, 0.5) + rounding).astype(np.float32)}


WORLDS = {
    "mag240m": World(
        "lsc-mag240m",
        "acc",
        "y_true",
        classes,
        {"min_equal_share": 0.95},
    ),
    "wikikg90mv2": World("lsc-wikikg90mv2", "mrr", "t", top10, {"min_equal_share": 0.95}),
    "pcqm4mv2": World("lsc-pcqm4mv2", "mae", "y_true", numbers, {"tolerance": 0.05}),
}


class Contest:
    """A closed and revealed phase in the format of a world, whose first place is to be verified."""

    def __init__(self, site: Scenario, folder: Path, world: World, *, are_labels_known: bool = True) -> None:
        self.site, self.folder, self.world, self.are_labels_known = site, folder, world, are_labels_known
        self.beside: dict[str, str | bytes] = {}  # further files that code leaves
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
                name=str(kind.label),
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
            reference.write(folder, self.world.dataset, {SPLIT: self.world.labels(input_rows(kind))})
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
        if kind == Check.PERMUTED:
            files["rows.csv"] = "\n".join(map(str, MOVED))
        return resource(self.site.organizer, Resource.Kind.REFERENCE_DATA, zip_bytes(files))

    def answer(self, program: Program, kind: str) -> tuple[bytes, float]:
        """The official file that a program makes, and its score."""
        rows = input_rows(kind)
        predictions: dict[str, Any] = self.world.answers(TRUTH[rows.meaning], program(rows), seeded_noise(rows))
        return prediction_bytes(**predictions), self.world.score(predictions, rows)

    def submit(self, team: str, program: Program, **how: Any) -> None:
        """A team sends in what its program makes, or for a baseline its code, which is run."""
        content, _ = self.answer(program, "")
        name = official_filename(self.world.dataset, SPLIT)
        sent: dict[str, Any] = {"kind": Kind.CODE} if how else {"content": content, "name": name}
        self.site.submit(team=self.site.join(team, **how), phase=self.site.sealed, **sent)
        self.finish({team: program})

    def finish(self, programs: Mapping[str, Program]) -> None:
        """Answer the run that waits with what its team's program makes of its input."""
        run = self.site.claim(self.site.worker(gpus=1), free_gpus=1)
        content, score = self.answer(programs[run.submission.team.name], run.task.check_kind)
        packed = store_bytes(zip_bytes({official_filename(self.world.dataset, SPLIT): content} | self.beside))
        RunOutput.objects.create(run=run, attempt=1, name="predictions.zip", file=packed)
        body = {"outcome": "finished", "scores": {self.world.key: score}}
        reports.run_complete(**lease(run), result=read_result(body, columns=[self.world.key]), now=self.site.now)

    def verified(self, program: Program, *, baseline: Program | None = None) -> Place:
        """The first place of a team that sent in what its code makes, run and compared."""
        programs = {"first": program, "second": lambda rows: SKILL[rows.meaning] < QUALITY - 0.005}
        for team, sent in programs.items():
            self.submit(team, sent)
        if baseline is not None:
            programs["baseline"] = baseline
            self.submit("baseline", baseline, is_baseline=True)
        site = self.site
        assert site.sealed.grace_ends_at is not None
        site.now = site.sealed.grace_ends_at
        phase_reveal(phase=site.sealed, now=site.now)
        lane = Lane.objects.create(leaderboard=site.sealed.leaderboard, top=1, score_tolerance=0.02, **self.world.lane)
        place = verification_start(key=handed_in(site, lane).key, by=site.organizer, now=site.now)
        for _ in range(4 if baseline is None else 7):
            self.finish(programs)
        assert reconcile(now=site.now)["winners_compared"] == 1
        return Place.objects.get(pk=place.pk)


def check_facts(place: Place, kind: Check) -> dict[str, Any]:
    facts: dict[str, Any] = next(part for part in place.comparison["checks"] if part["kind"] == kind.label)
    return facts


CHEATS: dict[str, tuple[str, Program, Check]] = {
    "by place": ("mag240m", table_by_place, Check.PERMUTED),
    "by text": ("mag240m", table_by_text(1.0), Check.PERTURBED),
    "by text, a tenth": ("mag240m", table_by_text(0.1), Check.PERTURBED),
    "by meaning": ("mag240m", table_by_meaning(1.0), Check.HELD_OUT),
    "by meaning, a third": ("mag240m", table_by_meaning(0.3), Check.HELD_OUT),
    "the rows that decide": ("mag240m", deciding_rows, Check.PERTURBED),
    "by meaning, rankings": ("wikikg90mv2", table_by_meaning(0.3), Check.HELD_OUT),
    "by meaning, numbers": ("pcqm4mv2", table_by_meaning(0.3), Check.HELD_OUT),
    "the rows that decide, numbers": ("pcqm4mv2", deciding_rows, Check.PERTURBED),
}
HONEST = {
    "deterministic": ("mag240m", honest),
    "with noise": ("mag240m", noisy),
    "rankings": ("wikikg90mv2", honest),
    "numbers, in another order of sums": ("pcqm4mv2", honest),
}


@pytest.mark.parametrize(
    "cheat",
    mostly_in_soak(
        CHEATS, always=["by place", "by text, a tenth", "by meaning, rankings", "the rows that decide, numbers"]
    ),
)
def test_code_with_a_table_of_answers_cannot_be_confirmed(site: Scenario, tmp_path: Path, cheat: str) -> None:
    world, program, told_by = CHEATS[cheat]
    place = Contest(site, tmp_path, WORLDS[world]).verified(program)
    assert any("the score is worse by" in fault for fault in check_facts(place, told_by)["faults"])
    with pytest.raises(refusals.OutsideTolerance, match="the score is worse by"):
        services.place_confirm(key=place.key, actor="test", now=site.now)


@pytest.mark.parametrize("code", mostly_in_soak(HONEST, always=["with noise", "numbers, in another order of sums"]))
def test_honest_code_is_confirmed(site: Scenario, tmp_path: Path, code: str) -> None:
    world, program = HONEST[code]
    place = Contest(site, tmp_path, WORLDS[world]).verified(program)
    assert place.comparison["faults"] == []
    assert check_facts(place, Check.PERTURBED)["agreement"] >= 0.9
    assert 0 < check_facts(place, Check.HELD_OUT)["allowed_gap"] < 0.03
    assert services.place_confirm(key=place.key, actor="test", now=site.now).state == State.CONFIRMED


def test_a_tolerance_that_does_not_come_from_the_data_confirms_the_table(site: Scenario, tmp_path: Path) -> None:
    """The control: labels that the site cannot read leave the check's own tolerance of 0.1."""
    contest = Contest(site, tmp_path, WORLDS["mag240m"], are_labels_known=False)
    place = contest.verified(table_by_meaning(0.3))
    facts = check_facts(place, Check.HELD_OUT)
    assert 0.08 < facts["gap"] < facts["allowed_gap"] == 0.1
    assert place.comparison["warnings"], "it is wider than the distance to the next place"
    assert services.place_confirm(key=place.key, actor="test", now=site.now).state == State.CONFIRMED


def harder(program: Program, points: float) -> Program:
    """The program where the held-out part is that much harder for every model."""
    return lambda rows: program(rows) & ~((SKILL[rows.meaning] < points) & (rows.meaning >= ROWS))


def test_a_part_that_is_harder_for_the_baseline_is_so_for_the_winner_and_no_more(
    site: Scenario, tmp_path: Path
) -> None:
    baseline = harder(lambda rows: SKILL[rows.meaning] < 0.4, 0.06)
    place = Contest(site, tmp_path, WORLDS["mag240m"]).verified(harder(honest, 0.06), baseline=baseline)
    facts = check_facts(place, Check.HELD_OUT)
    assert facts["faults"] == []
    assert facts["baseline_gap"] == pytest.approx(0.06, abs=0.02)
    assert facts["allowed_gap"] > facts["gap"] > facts["allowed_gap"] - facts["baseline_gap"]
    page = user_client(site.organizer).get(reverse("web:winners-place", args=[place.key])).content.decode()
    assert "and the 0.0" in page
    assert "No baseline of this board is code" not in page


def test_a_baseline_that_loses_nothing_allows_nothing_more_and_runs_once(site: Scenario, tmp_path: Path) -> None:
    contest = Contest(site, tmp_path, WORLDS["mag240m"])
    place = contest.verified(table_by_meaning(0.3), baseline=lambda rows: SKILL[rows.meaning] < 0.4)
    assert check_facts(place, Check.HELD_OUT)["faults"]
    assert check_facts(place, Check.PERMUTED)["baseline_gap"] == 0.0
    first = Lane.objects.get().baseline_run
    verification_start(key=place.key, by=site.organizer, now=site.now)
    assert Lane.objects.get().baseline_run == first


def test_files_beside_the_predictions_do_not_switch_the_judgement_off(site: Scenario, tmp_path: Path) -> None:
    contest = Contest(site, tmp_path, WORLDS["mag240m"])
    contest.beside = {f"part-{number}.txt": "" for number in range(1001)}
    place = contest.verified(table_by_meaning(0.3))
    assert check_facts(place, Check.HELD_OUT)["faults"] == [
        "The sampling error cannot be computed: a file cannot be read."
    ]
    with pytest.raises(refusals.OutsideTolerance):
        services.place_confirm(key=place.key, actor="test", now=site.now)


def test_organizers_see_the_scores_the_gap_the_tolerance_and_its_origin(site: Scenario, tmp_path: Path) -> None:
    place = Contest(site, tmp_path, WORLDS["mag240m"]).verified(deciding_rows)
    page = user_client(site.organizer).get(reverse("web:winners-place", args=[place.key])).content.decode()
    facts = check_facts(place, Check.HELD_OUT)
    for number in (facts["score"], facts["expected_score"], facts["gap"], facts["allowed_gap"]):
        assert f">{number:.5f}" in page
    assert "3 standard errors of the difference" in page
    assert "4,000 and 6,000 rows" in page
    assert "6,000 pairs of rows" in page
    assert check_facts(place, Check.PERTURBED)["agreement"] == pytest.approx(0.99, abs=0.001)
    assert "is wider than the distance to the next place" in page
    assert "No baseline of this board is code" in page
