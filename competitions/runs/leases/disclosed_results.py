"""Worker answers as they are written down: as disclosure lets everybody read them, with the scoring program's own words in its log."""

from dataclasses import replace
from typing import Any, Final

from competitions.disclosure.attempt_reports import AttemptReport, disclosed_meters, disclosed_report
from competitions.runs.leases.results import Result
from competitions.runs.models import Run, RunLog
from competitions.submissions.states import State

LAST_PIECE: Final = 2**31 - 1  # behind all that a worker numbers


def disclosed_result(run: Run, result: Result) -> Result:
    """The result as everybody who sees the run may read it."""
    report = AttemptReport(
        reason=result.reason,
        code=result.code,
        detail=result.detail,
        meters=result.meters,
        stages=frozenset(stage.name for stage in result.stages),
        is_smoke=run.is_smoke,
    )
    disclosed = disclosed_report(run.submission.phase, report)
    if disclosed.detail != report.detail:
        _keep_in_scoring_log(run, report.detail)
    return replace(result, code=disclosed.code, detail=disclosed.detail, meters=dict(disclosed.meters))


def _keep_in_scoring_log(run: Run, words: str) -> None:
    RunLog.objects.get_or_create(
        run=run,
        attempt=run.attempt,
        stream=RunLog.Stream.SCORING,
        seq=LAST_PIECE,
        defaults={"text": f"\n{words}\n"},
    )


def disclosed_heartbeat(run: Run, state: State, meters: dict[str, Any]) -> dict[str, Any]:
    """The meters to show of a run whose worker reports this state and these."""
    is_scoring = State.SCORING in (state, run.state) and not run.is_smoke
    return disclosed_meters(run.submission.phase, meters, before=run.meters, is_scoring=is_scoring)
