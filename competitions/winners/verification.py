"""The verification run: the team's code on the sealed input, in the budget, by the machinery of every other run."""

from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction

from accounts.models import User
from competitions.leaderboards.models import Score
from competitions.leaderboards.ranking.values import primary_column
from competitions.runs.models import Run, RunOutput
from competitions.runs.services import verification_create
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL, REASONS, Blame, Kind, Reason
from competitions.submissions.states import State as RunState
from competitions.winners import refusals
from competitions.winners.comparison import Arrays, CannotCompare, Difference, compare, predictions_of
from competitions.winners.models import Lane, Place
from competitions.winners.services import locked_place, place_move
from competitions.winners.states import State

log = structlog.get_logger(__name__)


@transaction.atomic
def verification_start(*, key: UUID, by: User, now: datetime) -> Place:
    """Run the team's bundle on the phase's tasks. Raises `NotReady` or `NoCode`; then nothing is queued."""
    place = locked_place(key)
    if place.state == State.COMPARED:  # once more
        place_move(place=place, source=State.COMPARED, target=State.HARDWARE, actor=_actor(by), now=now, comparison={})
    if place.state != State.HARDWARE:
        raise refusals.NotReady(place, "A verification run")
    if place.code is None:
        raise refusals.NoCode(place)
    made = verification_create(
        phase=place.lane.leaderboard.phase, team=place.team, by=by, file=place.code, file_name=place.code_name, now=now
    )
    place_move(
        place=place, source=State.HARDWARE, target=State.VERIFYING, actor=_actor(by), now=now,
        note=f"submission #{made.pk}", verification=made,
    )  # fmt: skip
    return place


def _actor(by: User) -> str:
    return f"user:{by.username}"


def compare_finished(*, now: datetime) -> int:
    """For the reconciler: compare what the ended verification runs made. Returns how many."""
    waiting = Place.objects.filter(state=State.VERIFYING, verification__status__in=FINAL)
    return sum(verification_compare(key=key, now=now) for key in list(waiting.values_list("key", flat=True)))


@transaction.atomic
def verification_compare(*, key: UUID, now: datetime) -> bool:
    """Write down what an ended run showed; False when it was done already. Our own fault puts the place back, to be run again."""
    place = locked_place(key)
    run = place.verification
    if place.state != State.VERIFYING or run is None or run.status not in FINAL:
        return False
    if _is_not_the_teams(run):
        note = "The run ended by no fault of the team's; start it again."
        return place_move(
            place=place, source=State.VERIFYING, target=State.HARDWARE, actor="verification", now=now, note=note
        )
    found = comparison_of(place, run)
    log.info("winners_compared", place=str(place.key), is_within=found["is_within"])
    return place_move(
        place=place, source=State.VERIFYING, target=State.COMPARED, actor="verification", now=now,
        note="; ".join(found["faults"]) or "within the tolerance", comparison=found,
    )  # fmt: skip


def _is_not_the_teams(submission: Submission) -> bool:
    if submission.status == RunState.CANCELLED:
        return True
    return submission.status == RunState.FAILED and REASONS[Reason(submission.reason)].blame != Blame.PARTICIPANT


def comparison_of(place: Place, verification: Submission) -> dict[str, Any]:
    """Measured time, difference of predictions and of the score, and what lies outside the organizers' tolerance."""
    runs = list(verification.runs.select_related("task"))
    wall_s = sum(float(run.meters.get("wall_s", 0.0)) for run in runs)
    found: dict[str, Any] = {"wall_s": wall_s, "limit_s": verification.phase.time_limit_s}
    if verification.status == RunState.FAILED:
        said = next((run.detail for run in runs if run.detail), "")
        faults = [f"the run failed, {Reason(verification.reason).label}: {said}".rstrip(": ")]
        return found | {"is_within": False, "faults": faults}
    faults = []
    try:
        difference = _difference(place, runs)
    except CannotCompare as error:
        faults.append(str(error))
    else:
        found |= difference.as_dict()
        faults += _outside(place.lane, difference)
    score = _score_difference(place, verification)
    if score is not None:
        found["score_difference"] = score
        if abs(score) > place.lane.score_tolerance:
            faults.append(f"the score differs by {score:+.6g}; {place.lane.score_tolerance:g} is allowed")
    return found | {"is_within": not faults, "faults": faults}


def _outside(lane: Lane, difference: Difference) -> list[str]:
    faults = []
    if difference.mae is not None and difference.mae > lane.tolerance:
        faults.append(f"the predictions differ by {difference.mae:.6g} on average; {lane.tolerance:g} is allowed")
    if difference.equal_share < lane.min_equal_share:
        faults.append(f"{difference.equal_share:.2%} of the rows are equal; {lane.min_equal_share:.2%} are asked for")
    return faults


def _difference(place: Place, runs: list[Run]) -> Difference:
    """Over all tasks: the worst of each."""
    theirs = {run.task_id: run for run in place.submission.runs.all()}
    differences = [compare(_made_by(run, place), _submitted(place, theirs.get(run.task_id))) for run in runs]
    means = [one.mae for one in differences if one.mae is not None]
    largest = [one.largest for one in differences if one.largest is not None]
    return Difference(
        rows=sum(one.rows for one in differences), equal_share=min(one.equal_share for one in differences),
        mae=max(means, default=None), largest=max(largest, default=None),
    )  # fmt: skip


def _made_by(run: Run | None, place: Place) -> Arrays:
    output = (
        RunOutput.objects.filter(run=run, name="predictions.zip").select_related("file").order_by("-attempt").first()
    )
    if output is None:
        raise CannotCompare("The run left no predictions.")
    return predictions_of(output.file, "predictions.zip", place.lane.leaderboard.phase.prediction_format)


def _submitted(place: Place, run: Run | None) -> Arrays:
    sent = place.submission
    if sent.kind == Kind.CODE:
        return _made_by(run, place)
    return predictions_of(sent.file, sent.file_name, place.lane.leaderboard.phase.prediction_format)


def _score_difference(place: Place, verification: Submission) -> float | None:
    """Score of the run here minus the one that counted, in the board's primary column."""
    board = place.lane.leaderboard
    primary = primary_column(list(board.columns.all()))
    scores = {
        score.submission_id: score.values
        for score in Score.objects.filter(leaderboard=board, submission__in=[verification, place.submission])
    }
    ours, theirs = scores.get(verification.pk, {}), scores.get(place.submission_id, {})
    if primary is None or primary.key not in ours or primary.key not in theirs:
        return None
    return float(ours[primary.key] - theirs[primary.key])
