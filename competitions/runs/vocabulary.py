"""What a scoring program may say to a team while scores are sealed: a fixed vocabulary, which carries no label and no score."""

from dataclasses import replace
from typing import Final

from competitions.runs.models import Run, RunLog
from competitions.runs.worker_api.results import Result
from competitions.submissions.states import Reason
from scoring.errors import CODES

FROM_SCORING: Final = (Reason.OUTPUT_INVALID, Reason.SCORING_ERROR)
UNKNOWN: Final = "refused"
LAST_PIECE: Final = 2**31 - 1  # behind all that a worker numbers


def in_fixed_words(run: Run, result: Result) -> Result:
    """The result with the scoring program's own words replaced, where the run's phase holds sealed scores.

    The words themselves go to the scoring log, which organizers with the right to see sealed scores read.
    """
    if result.reason not in FROM_SCORING or not run.submission.phase.holds_sealed_scores:
        return result
    RunLog.objects.get_or_create(
        run=run,
        attempt=run.attempt,
        stream=RunLog.Stream.SCORING,
        seq=LAST_PIECE,
        defaults={"text": f"\n{result.detail}\n"},
    )
    if result.reason == Reason.SCORING_ERROR:
        return replace(result, detail="The scoring program failed.")
    if result.code in CODES:
        return replace(result, detail=f"The output cannot be scored: {CODES[result.code]}.")
    return replace(result, code=UNKNOWN, detail="The scoring program refused the output.")
