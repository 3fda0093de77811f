"""What comes of a scoring program while scores are sealed: a fixed vocabulary, which carries no label and no score, and no meters."""

from dataclasses import replace
from typing import Any, Final

from competitions.runs.models import Run, RunLog
from competitions.runs.worker_api.results import Result
from competitions.submissions.states import Reason, State
from scoring.errors import CODES

FROM_SCORING: Final = (Reason.OUTPUT_INVALID, Reason.SCORING_ERROR)
PROGRAM_STAGES: Final = ("ingestion", "submission")  # of the participant, or around what the participant sent in
UNKNOWN: Final = "refused"
SCORING_STAGE: Final = "scoring"
LAST_PIECE: Final = 2**31 - 1  # behind all that a worker numbers


def in_fixed_words(run: Run, result: Result) -> Result:
    """The result as everybody may read it, where the run's phase holds sealed scores: with the scoring program's own words
    replaced, and without what its container used.

    The words themselves go to the scoring log, the meters stay in the receipt's stages; organizers with the right to see
    sealed scores read both.
    """
    of_scoring = bool(result.meters) and not _ran(result, *PROGRAM_STAGES)
    is_second_failure = result.reason == Reason.PROGRAM_ERROR and _ran(result, SCORING_STAGE)
    speaks = result.reason in FROM_SCORING or is_second_failure
    if not (of_scoring or speaks) or not run.submission.phase.holds_sealed_scores:
        return result
    if of_scoring:
        result = replace(result, meters={})
    return _reworded(run, result, is_second_failure=is_second_failure) if speaks else result


def _reworded(run: Run, result: Result, *, is_second_failure: bool) -> Result:
    """The scoring program's words replaced, and kept in its log. `is_second_failure`: it failed behind a program that had."""
    RunLog.objects.get_or_create(
        run=run,
        attempt=run.attempt,
        stream=RunLog.Stream.SCORING,
        seq=LAST_PIECE,
        defaults={"text": f"\n{result.detail}\n"},
    )
    if is_second_failure:
        return replace(result, detail="The program failed, and what it left could not be scored.")
    if result.reason == Reason.SCORING_ERROR:
        return replace(result, detail="The scoring program failed.")
    if result.code in CODES:
        return replace(result, detail=f"The output cannot be scored: {CODES[result.code]}.")
    return replace(result, code=UNKNOWN, detail="The scoring program refused the output.")


def _ran(result: Result, *names: str) -> bool:
    """One of these stages was run."""
    return any(stage.name in names for stage in result.stages)


def meters_to_show(run: Run, state: State, meters: dict[str, Any]) -> dict[str, Any]:
    """The meters of a heartbeat, or those of before where they are of a scoring program whose scores are sealed."""
    is_scoring = State.SCORING in (state, run.state)
    return run.meters if is_scoring and run.submission.phase.holds_sealed_scores else meters
