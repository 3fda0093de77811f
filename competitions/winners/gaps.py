"""The loss in score of a winner's code on the input of a check, and how much of it chance explains.

The tolerance is computed from the rows: a few standard errors of the difference of the two scores. Where a check has the same
rows as the phase's input, the rows are paired, so that even a few answers from a table show.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import structlog
from django.conf import settings

from competitions.catalog.models import Column
from competitions.resources.storage import local_copy
from competitions.runs.models import Run
from competitions.winners.comparison import predictions_file
from competitions.winners.measuring import Fault, Measured, RunPair, Side
from core.background.bounded import Bounds, Call, ChildFailed, OverBounds, run_bounded
from scoring.statistics import ERROR_RESAMPLES

log = structlog.get_logger(__name__)
STANDARD_ERRORS: Final = 3  # an honest score is worse by more once in 740 checks, by the normal law
ROUNDING: Final = 1e-5  # of the score: sums of floats in another order differ by less
SAME_SCORE: Final = 1e-4  # of the score: what is computed again from the labels must be what the scoring program wrote
EVERY_S: Final = 60.0

NO_PREDICTIONS: Final[Fault] = {"fault": "a run left no predictions", "is_organizers": False}
NO_LABELS: Final[Fault] = {"fault": "there are no labels", "is_organizers": True}


@dataclass(frozen=True)
class Gap:
    """The score of a check beside that on the phase's input; `loss` is positive where it is worse.

    `tolerance` is None where no sampling error can be computed; `origin` says where it comes from, or why there is none.
    `is_unreadable`: it could be computed, but not for these predictions.
    """

    score: float
    expected: float
    loss: float
    tolerance: float | None
    origin: str
    is_unreadable: bool = False

    @property
    def is_worse_than_chance(self) -> bool:
        return self.tolerance is not None and self.loss > self.tolerance


def score_gaps(pairs: Sequence[tuple[Run, Run]], column: Column | None) -> list[Gap | None]:
    """The gap between each run of a check and its run on the plain input; None if either has no score."""
    scored = [pair for pair in pairs if column is not None and all(_score(run, column) is not None for run in pair)]
    if column is None or not scored:
        return [None] * len(pairs)
    gaps = {check.pk: _gap(check, plain, column, measured) for (check, plain), measured in _measured(scored, column)}
    return [gaps.get(check.pk) for check, _ in pairs]


def _score(run: Run, column: Column) -> float | None:
    value = run.scores.get(column.key)
    return float(value) if isinstance(value, int | float) else None


def _gap(check: Run, plain: Run, column: Column, measured: Measured | Fault) -> Gap:
    score, expected = float(check.scores[column.key]), float(plain.scores[column.key])
    loss = score - expected if column.sorting == Column.Sorting.ASC else expected - score
    answer = measured if "fault" in measured else _same_score(measured, score, expected)
    if "fault" in answer:
        text = f"The sampling error cannot be computed: {answer['fault']}."
        return Gap(score, expected, loss, None, text, is_unreadable=not answer["is_organizers"])
    tolerance = max(STANDARD_ERRORS * answer["error"], ROUNDING * abs(expected))
    return Gap(score, expected, loss, tolerance, _origin(check, answer))


def _same_score(measured: Measured, score: float, expected: float) -> Measured | Fault:
    """The answer itself, if it is of the scores that the scoring program wrote."""
    both = ((measured["check"], score), (measured["plain"], expected))
    if all(math.isclose(ours, written, rel_tol=SAME_SCORE, abs_tol=1e-9) for ours, written in both):
        return measured
    return {"fault": "the scoring program writes another score than the labels give", "is_organizers": True}


def _origin(check: Run, measured: Measured) -> str:
    here, there = measured["rows"]
    rows = f"{here:,} and {there:,} rows" if check.task.is_held_out else f"{here:,} pairs of rows"
    how = f", resampled {ERROR_RESAMPLES} times" if measured["is_resampled"] else ""
    return f"{STANDARD_ERRORS} standard errors of the difference ({measured['error']:.2g}), from {rows}{how}"


def _measured(pairs: Sequence[tuple[Run, Run]], column: Column) -> list[tuple[tuple[Run, Run], Measured | Fault]]:
    """The answers of `measuring.measure` for each pair, in a process with the bounds of a file's check."""
    with ExitStack() as stack:
        sides = [(_side(check, stack), _side(plain, stack)) for check, plain in pairs]
        readable: list[RunPair] = [
            {"check": check, "plain": plain, "same_rows": not run.task.is_held_out}
            for (check, plain), (run, _) in zip(sides, pairs, strict=True)
            if check and plain
        ]
        answers = iter(_run(column.key, readable))
        return [(pair, next(answers) if all(both) else _absent(pair)) for pair, both in zip(pairs, sides, strict=True)]


def _absent(pair: tuple[Run, Run]) -> Fault:
    return NO_PREDICTIONS if all(run.task.reference_data for run in pair) else NO_LABELS


def _run(key: str, readable: list[RunPair]) -> list[Measured | Fault]:
    if not readable:
        return []
    bounds = Bounds(wall_s=settings.CHECK_WALL_S, cpu_s=settings.CHECK_CPU_S, memory_bytes=settings.CHECK_MEMORY_BYTES)
    call = Call("competitions.winners.measuring:measure", {"key": key, "pairs": readable})
    try:
        answer: list[Measured | Fault] = run_bounded(call, bounds, is_wanted=lambda: True, every_s=EVERY_S)
    except OverBounds as error:
        text = f"it takes more {error.what} than the check of a file may use"
        return [Fault(fault=text, is_organizers=False)] * len(readable)
    except ChildFailed:
        log.exception("score_gaps_not_measured", pairs=len(readable))  # of whose making it is, only the log can tell
        return [Fault(fault="labels or predictions cannot be scored here", is_organizers=False)] * len(readable)
    return answer


def _side(run: Run, stack: ExitStack) -> Side | None:
    """Paths of the labels and the predictions of a run; None where there are none."""
    labels, output = run.task.reference_data, predictions_file(run)
    if labels is None or output is None:
        return None
    reference, predictions = (stack.enter_context(local_copy(file)) for file in (labels.file, output.file))
    return {"reference": str(reference), "predictions": str(predictions)}
