"""Reading what a worker answered. Whatever it sends is checked here before anything is written."""

import math
import sys
from dataclasses import dataclass, field
from typing import Any

from competitions.catalog.meters import METERED
from competitions.submissions.states import Reason, State
from core.refusals import Refusal
from core.text import printable

MAX_STAGES = 4
MAX_SCORE = sys.float_info.max
FROM_WORKERS = [
    reason for reason in Reason.values if reason != Reason.FILE_INVALID
]  # which the site finds out by itself


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
    scores: dict[str, float] = field(default_factory=dict)
    stages: list[dict[str, Any]] = field(default_factory=list)
    meters: dict[str, Any] = field(default_factory=dict)
    receipt: dict[str, Any] = field(default_factory=dict)


def read_result(body: dict[str, Any], *, columns: list[str]) -> Result:
    """Check the body of `complete`. Raises `InvalidResult` naming the field; `columns` are the board's keys."""
    outcome = body.get("outcome")
    if outcome not in ("finished", "ingested", "failed", "cancelled"):
        raise InvalidResult(f"'outcome' is {outcome!r}; it must be finished, ingested, failed or cancelled.")
    stages = _stages(body.get("stages"))
    common: dict[str, Any] = {
        "code": _text(body.get("code"), 60),
        "detail": _sentence(body.get("detail"), 1000),
        "stages": stages,
        "meters": _meters(stages),
        "receipt": _receipt(body, stages),
    }
    if outcome == "ingested":
        return Result(target=State.QUEUED, **common)
    if outcome == "cancelled":
        return Result(target=State.CANCELLED, **common)
    if outcome == "failed":
        reason = body.get("reason")
        if reason not in FROM_WORKERS:
            raise InvalidResult(f"'reason' is {reason!r}; it must be one of {', '.join(FROM_WORKERS)}.")
        return Result(target=State.FAILED, reason=str(reason), **common)
    return Result(target=State.FINISHED, scores=read_scores(body.get("scores"), columns=columns), **common)


def read_scores(value: Any, *, columns: list[str]) -> dict[str, float]:
    """Finite numbers for the board's columns; what is no column is left out, and a column may be missing as long as one is there.

    Raises `InvalidResult` for scores of none of the columns, or for a column that is no finite number.
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


def _text(value: Any, limit: int) -> str:
    return printable(value[:limit]) if isinstance(value, str) else ""


def _sentence(value: Any, limit: int) -> str:
    """A text for people: one that is cut says so."""
    text = _text(value, limit + 1)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _stages(value: Any) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_STAGES or not all(isinstance(stage, dict) for stage in value):
        raise InvalidResult(f"'stages' must be a list of at most {MAX_STAGES} mappings.")
    return [clean_numbers(stage) for stage in value]


def clean_numbers(value: Any, depth: int = 0) -> Any:
    """A JSON value without NaN, infinity, absurd depth or long texts, so that it can be stored and shown."""
    if depth > 6:
        return None
    if isinstance(value, dict):
        return {_text(key, 60): clean_numbers(item, depth + 1) for key, item in list(value.items())[:100]}
    if isinstance(value, list):
        return [clean_numbers(item, depth + 1) for item in value[:100]]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    return _text(value, 500) if isinstance(value, str) else None


def read_meters(value: Any) -> dict[str, float]:
    """The known meters that are finite numbers of at least 0; all else is left out. Raises `InvalidResult`."""
    if not isinstance(value, dict):
        raise InvalidResult("The meters must be a mapping from name to number.")
    found = {name: clean_numbers(value.get(name)) for name in METERED}
    return {name: number for name, number in found.items() if _is_number(number) and number >= 0}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _meters(stages: list[dict[str, Any]]) -> dict[str, Any]:
    """The meters that are shown: those of the ingestion container, which is what the budget is about, else of the submission's
    own; else the last stage's."""
    by_name = {stage.get("name"): stage for stage in reversed(stages)}
    last = stages[-1] if stages else {}
    return read_meters(by_name.get("ingestion") or by_name.get("submission") or last)


def _notes(value: Any) -> list[str]:
    """Remarks of the worker for people: what was left out of the scores, what was not run."""
    return [_text(note, 500) for note in value[:20]] if isinstance(value, list) else []


def mapping(body: dict[str, Any], key: str) -> dict[str, Any]:
    """The mapping under `key`, empty where there is none. Raises `InvalidResult` for anything else."""
    value = body.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidResult(f"{key!r} must be a mapping, not {type(value).__name__}.")
    return value


def read_host(body: dict[str, Any]) -> dict[str, Any]:
    """What a worker says of its host: any mapping, but its `gpus` are a list of mappings. Raises `InvalidResult`."""
    host: dict[str, Any] = clean_numbers(mapping(body, "host"))
    gpus = host.setdefault("gpus", [])
    if not isinstance(gpus, list) or not all(isinstance(gpu, dict) for gpu in gpus):
        raise InvalidResult("'host.gpus' must be a list of mappings.")
    return host


def _receipt(body: dict[str, Any], stages: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "stages": stages,
        "timings": clean_numbers(mapping(body, "timings")),
        "host": read_host(body),
        "worker_version": _text(body.get("worker_version"), 50),
        "notes": _notes(body.get("notes")),
    }
