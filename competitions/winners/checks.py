"""A winner's code on other input: do its predictions follow the rows, and hold for unseen ones?

A task's checks are tasks that name it (`Task.checks`). Permuted and perturbed input must give the predictions of the
plain input, row by row; on a held-out part the score is compared. Code that copies or looks up what was submitted
fails both.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from competitions.catalog.models import Check, Column, Phase, Task
from competitions.leaderboards.ranking.values import primary_column
from competitions.resources.models import StoredFile
from competitions.resources.storage import local_copy
from competitions.runs.models import Run
from competitions.submissions.states import Reason
from competitions.submissions.states import State as RunState
from competitions.winners.comparison import (
    UNREADABLE,
    CannotCompare,
    Difference,
    compare,
    made_by,
    sampled_pairs,
)
from competitions.winners.models import Place

ROWS_FILE: Final = "rows.csv"
MAX_ROWS_BYTES: Final = 64 * 1024 * 1024


def phase_checks(phase: Phase) -> list[Task]:
    """The checks of the phase's tasks. Those of another competition's organizers are none of them."""
    return list(
        Task.objects.filter(checks__in=phase.tasks.all(), competition=phase.competition_id)
        .select_related("checks", "reference_data__file")
        .order_by("pk")
    )


@dataclass(frozen=True)
class Finding:
    """The result of one check; `faults` are sentences without the name of the check."""

    facts: Mapping[str, object]
    faults: list[str]

    @property
    def named_faults(self) -> list[str]:
        return [f"{self.facts['title']}: {fault}" for fault in self.faults]


def finding(place: Place, check: Run, plain: Run) -> Finding:
    """Judge the run of a check beside the run of the same code on the plain input."""
    kind = Check(check.task.check_kind)
    facts = {"title": check.task.name, "kind": kind.label} | budget_meters(check)
    if check.state != RunState.FINISHED:
        return Finding(facts, [f"the run failed, {Reason(check.reason).label}: {check.detail}".rstrip(": ")])
    judge = _held_out if kind == Check.HELD_OUT else _row_by_row
    judgement = judge(place, check, plain)
    return replace(judgement, facts={**facts, **judgement.facts})


def budget_meters(run: Run) -> dict[str, object]:
    """The part of the phase's budget that the run used."""
    phase = run.submission.phase
    return {
        "wall_s": float(run.meters.get("wall_s") or 0.0),
        "limit_s": phase.time_limit_s,
        "memory_bytes": run.meters.get("memory_peak_bytes"),
        "memory_limit_bytes": phase.memory_bytes,
    }


def _held_out(place: Place, check: Run, plain: Run) -> Finding:
    """The score on rows that no team has seen, beside that on the phase's input."""
    column = primary_column(list(place.lane.leaderboard.columns.all()))
    score, expected = (_score(run, column) for run in (check, plain))
    facts = {"score": score, "expected_score": expected}
    if column is None or score is None or expected is None:
        return Finding(facts, ["there is no score in the primary column to compare"])
    loss = score - expected if column.sorting == Column.Sorting.ASC else expected - score
    allowed = check.task.check_tolerance
    is_worse = allowed is not None and loss > allowed
    return Finding(facts, [f"the score is worse by {loss:.6g}; {allowed:g} is allowed"] if is_worse else [])


def _score(run: Run, column: Column | None) -> float | None:
    value = run.scores.get(column.key) if column is not None else None
    return float(value) if isinstance(value, int | float) else None


def _row_by_row(place: Place, check: Run, plain: Run) -> Finding:
    """Predictions on changed input beside those on the plain input, each with that of the same row."""
    try:
        predictions, base = made_by(check, place), made_by(plain, place)
        rows = _rows(check.task)
        expected = base if rows is None else {name: _moved(array, rows) for name, array in base.items()}
        difference = compare(predictions, expected)
        in_place = None if rows is None else compare(predictions, base)
    except CannotCompare as error:
        return Finding({}, [str(error)])
    facts = difference.as_dict() | {"pairs": sampled_pairs(predictions, expected)}
    if in_place is not None:
        facts["unmoved_share"] = in_place.equal_share
    return Finding(facts, _faults(place, check.task, difference, in_place))


def _faults(place: Place, task: Task, difference: Difference, in_place: Difference | None) -> list[str]:
    if in_place is not None and in_place.equal_share == 1:
        return ["the predictions stayed where they were while the rows moved: the code does not read its input"]
    allowed = place.lane.tolerance if task.check_tolerance is None else task.check_tolerance
    if difference.mae is not None:
        off = difference.mae > allowed
        return [f"the predictions differ by {difference.mae:.6g} on average; {allowed:g} is allowed"] if off else []
    share = 1 - task.check_tolerance if task.check_tolerance is not None else place.lane.min_equal_share or 1.0
    off = difference.equal_share < share
    return [f"{difference.equal_share:.2%} of the rows are equal; {share:.2%} are asked for"] if off else []


def _moved(array: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    if not np.array_equal(np.sort(rows), np.arange(len(array))):
        raise CannotCompare(f"{ROWS_FILE} must name each of the {len(array)} rows once, counted from 0.")
    return array[rows]


def _rows(task: Task) -> NDArray[np.int64] | None:
    """For each row of the check's input its number in the plain input; None where the order is the same."""
    stored = task.reference_data.file if task.reference_data is not None else None
    text = _member(stored, ROWS_FILE) if stored is not None else None
    if text is None:
        if task.check_kind == Check.PERMUTED:
            raise CannotCompare(f"The reference data of {task} hold no {ROWS_FILE}, which says which row each row is.")
        return None
    try:
        return np.array(text.split(), dtype=np.int64)
    except ValueError as error:
        raise CannotCompare(f"{ROWS_FILE} of {task} holds something else than whole numbers.") from error


def _member(stored: StoredFile, name: str) -> bytes | None:
    """A file of a stored zip, at its top level; None where there is no such file."""
    with local_copy(stored) as path:
        try:
            with zipfile.ZipFile(path) as archive:
                if name not in archive.namelist():
                    return None
                with archive.open(name) as file:
                    return file.read(MAX_ROWS_BYTES)
        except UNREADABLE as error:
            raise CannotCompare(f"The reference data cannot be read: {error}") from error
