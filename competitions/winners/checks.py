"""A winner's code on other input: do its predictions follow the rows, and hold for unseen ones?

A task's checks are tasks that name it (`Task.checks`). Permuted and perturbed input must give the predictions of the
plain input, row by row, and on every input the score must be as good, up to its sampling error. Code that copies or looks
up what was submitted fails both.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from competitions.catalog.models import Check, Phase, Task
from competitions.resources.models import StoredFile
from competitions.resources.storage import local_copy
from competitions.runs.models import Run
from competitions.submissions.states import Reason
from competitions.submissions.states import State as RunState
from competitions.winners import comparison
from competitions.winners.gaps import Gap
from competitions.winners.measuring import ROWS_FILE
from competitions.winners.models import Place

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


def finding(place: Place, check: Run, plain: Run, gap: Gap | None, baseline: Gap | None) -> Finding:
    """Judge the run of a check beside the run of the same code on the plain input.

    `gap` is that of the scores of both, `baseline` that of the competition's baseline, if it was run.
    """
    kind = Check(check.task.check_kind)
    facts = {"title": check.task.name, "kind": kind.label} | budget_meters(check)
    if check.state != RunState.FINISHED:
        return Finding(facts, [f"the run failed, {Reason(check.reason).label}: {check.detail}".rstrip(": ")])
    rows = Finding({}, []) if kind == Check.HELD_OUT else _row_by_row(place, check, plain)
    score = _score(check.task, gap, baseline)
    return Finding({**facts, **rows.facts, **score.facts}, [*rows.faults, *score.faults])


def budget_meters(run: Run) -> dict[str, object]:
    """The part of the phase's budget that the run used."""
    phase = run.submission.phase
    return {
        "wall_s": float(run.meters.get("wall_s") or 0.0),
        "limit_s": phase.time_limit_s,
        "memory_bytes": run.meters.get("memory_peak_bytes"),
        "memory_limit_bytes": phase.memory_bytes,
    }


def _score(task: Task, gap: Gap | None, baseline: Gap | None) -> Finding:
    """Judge if the score is worse than on the phase's input by more than chance explains.

    Where the baseline's is, too, as much is allowed in addition.
    """
    if gap is None:
        return Finding({}, ["there is no score in the primary column to compare"] if task.is_held_out else [])
    allowed, origin = gap.tolerance, gap.origin
    if allowed is None and task.is_held_out and task.check_tolerance is not None:
        allowed, origin = task.check_tolerance, f"{origin} The tolerance of the check counts."
    if allowed is not None and baseline is not None and baseline.is_worse_than_chance:
        allowed, origin = allowed + baseline.loss, f"{origin}; and the {baseline.loss:.4g} that the baseline loses"
    facts: dict[str, object] = {
        "score": gap.score,
        "expected_score": gap.expected,
        "gap": gap.loss,
        "allowed_gap": allowed,
        "gap_origin": origin,
        "baseline_gap": None if baseline is None else baseline.loss,
    }
    if gap.is_unreadable:
        return Finding(facts, [gap.origin])
    is_worse = allowed is not None and gap.loss > allowed
    return Finding(facts, [f"the score is worse by {gap.loss:.4g}; {allowed:.4g} is allowed"] if is_worse else [])


def _row_by_row(place: Place, check: Run, plain: Run) -> Finding:
    """Predictions on changed input beside those on the plain input, each with that of the same row."""
    try:
        predictions, base = comparison.made_by(check, place), comparison.made_by(plain, place)
        rows = _rows(check.task)
        expected = base if rows is None else {name: _moved(array, rows) for name, array in base.items()}
        difference = comparison.compare(predictions, expected)
        in_place = None if rows is None else comparison.compare(predictions, base)
        sent = comparison.submitted(place, plain.task_id)
        won = sent if rows is None else {name: _moved(array, rows) for name, array in sent.items()}
        agreeing = comparison.agreement(predictions, won, within=place.lane.tolerance)
    except comparison.CannotCompare as error:
        return Finding({}, [str(error)])
    facts = asdict(difference) | {"pairs": comparison.sampled_pairs(predictions, expected), "agreement": agreeing}
    if in_place is not None:
        facts["unmoved_share"] = in_place.equal_share
    return Finding(facts, _faults(place, check.task, difference, in_place))


def _faults(
    place: Place, task: Task, difference: comparison.Difference, in_place: comparison.Difference | None
) -> list[str]:
    if in_place is not None and in_place.equal_share == 1:
        return ["the predictions stayed where they were while the rows moved: the code does not read its input"]
    allowed = place.lane.tolerance if task.check_tolerance is None else task.check_tolerance
    if difference.mae is not None:
        off = difference.mae > allowed
        return [f"the predictions differ by {difference.mae:.6g} on average; {allowed:g} is allowed"] if off else []
    share = 1 - task.check_tolerance if task.check_tolerance is not None else place.lane.equal_share_asked
    off = difference.equal_share < share
    return [f"{difference.equal_share:.2%} of the rows are equal; {share:.2%} are asked for"] if off else []


def _moved(array: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    if not np.array_equal(np.sort(rows), np.arange(len(array))):
        raise comparison.CannotCompare(f"{ROWS_FILE} must name each of the {len(array)} rows once, counted from 0.")
    return array[rows]


def _rows(task: Task) -> NDArray[np.int64] | None:
    """The number in the plain input of each row of the check's input; None if the order is the same."""
    stored = task.reference_data.file if task.reference_data is not None else None
    text = _member(stored, ROWS_FILE) if stored is not None else None
    if text is None:
        if task.check_kind == Check.PERMUTED:
            raise comparison.CannotCompare(
                f"The reference data of {task} hold no {ROWS_FILE}, which says which row each row is."
            )
        return None
    try:
        return np.array(text.split(), dtype=np.int64)
    except ValueError as error:
        raise comparison.CannotCompare(f"{ROWS_FILE} of {task} holds something else than whole numbers.") from error


def _member(stored: StoredFile, name: str) -> bytes | None:
    """A file of a stored zip, at its top level; None where there is no such file."""
    with local_copy(stored) as path:
        try:
            with zipfile.ZipFile(path) as archive:
                if name not in archive.namelist():
                    return None
                with archive.open(name) as file:
                    return file.read(MAX_ROWS_BYTES)
        except comparison.UNREADABLE as error:
            raise comparison.CannotCompare(f"The reference data cannot be read: {error}") from error
