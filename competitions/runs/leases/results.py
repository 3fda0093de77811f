"""Results that workers send; their scores are checked here against the board."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from competitions.submissions.states import State
from core.refusals import Refusal
from workers.protocol.calls import METERED
from workers.protocol.results import Complete, Outcome, StageRecord
from workers.protocol.stages import StageName
from workers.protocol.usage import StageUsage

MAX_SCORE: Final = sys.float_info.max
TARGETS: Final = {
    Outcome.FINISHED: State.FINISHED,
    Outcome.INGESTED: State.QUEUED,
    Outcome.FAILED: State.FAILED,
    Outcome.CANCELLED: State.CANCELLED,
}


class InvalidResult(Refusal):
    code, http_status = "invalid_result", 422


@dataclass(frozen=True)
class Result:
    """A checked answer. `reason` is empty unless the run failed; `scores` is empty unless it finished.

    `target` is QUEUED when the run was ingested and waits for a worker that scores.
    """

    target: State
    reason: str = ""
    code: str = ""
    detail: str = ""
    refused_by: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    stages: tuple[StageRecord, ...] = ()
    meters: Mapping[str, object] = field(default_factory=dict)
    receipt: dict[str, object] = field(default_factory=dict)
    usage: tuple[StageUsage, ...] = ()


def read_result(answer: Complete, *, columns: list[str]) -> Result:
    """Return the answer as a result with scores by the board's column keys. Raises `InvalidResult`."""
    is_finished = answer.outcome == Outcome.FINISHED
    return Result(
        target=TARGETS[answer.outcome],
        reason=answer.reason or "" if answer.outcome == Outcome.FAILED else "",
        code=answer.code,
        detail=answer.detail,
        refused_by=answer.refused_by,
        scores=read_scores(answer.scores, columns=columns) if is_finished else {},
        stages=answer.stages,
        meters=_meters(answer.stages),
        receipt=_receipt(answer),
        usage=answer.usage,
    )


def read_scores(value: Any, *, columns: list[str]) -> dict[str, float]:
    """Finite numbers for the board's columns; unknown names are left out.

    Raises `InvalidResult` when no column has a score, or a score is not a finite number.
    """
    if not isinstance(value, dict):
        raise InvalidResult("'scores' must be a mapping from column key to number.")
    known = {key: number for key, number in value.items() if key in columns}
    if columns and not known:
        raise InvalidResult(
            f"'scores' has {sorted(value)[:20]}, none of which is a column of the board; it has {sorted(columns)}."
        )
    for key, number in known.items():
        if not _is_number(number) or not -MAX_SCORE <= number <= MAX_SCORE:  # False for NaN too
            raise InvalidResult(f"The score {key!r} is {str(number)[:40]}; it must be a finite number.")
    return {key: float(number) for key, number in known.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _meters(stages: tuple[StageRecord, ...]) -> dict[str, int | float]:
    """Meters to show: those of the ingestion container, which the budget is about.

    Without one, those of the submission's own stage, else of the last stage.
    """
    by_name = {stage.name: stage for stage in reversed(stages)}
    shown = by_name.get(StageName.INGESTION) or by_name.get(StageName.SUBMISSION) or next(reversed(stages), None)
    return shown.model_dump(include=set(METERED), exclude_none=True) if shown else {}


def _receipt(answer: Complete) -> dict[str, object]:
    fields = {"stages", "timings", "host", "worker_version", "notes"}
    return answer.model_dump(mode="json", include=fields, exclude_unset=True)
