"""The verification: a normal run of the team's code on the sealed input, in the budget."""

from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q

from accounts.models import User
from competitions.catalog.models import Column
from competitions.environments.choice import submission_environment
from competitions.leaderboards.models import Score
from competitions.leaderboards.ranking.values import primary_column
from competitions.runs.models import Run
from competitions.runs.services import verification_create
from competitions.submissions.models import Submission
from competitions.submissions.states import FINAL, REASONS, Blame, Reason
from competitions.submissions.states import State as RunState
from competitions.winners import refusals
from competitions.winners.checks import Finding, budget_meters, finding, phase_checks
from competitions.winners.code_facts import code_facts
from competitions.winners.comparison import CannotCompare, Difference, compare, made_by, sampled_pairs, submitted
from competitions.winners.gaps import score_gaps
from competitions.winners.lanes import baseline_pairs, distance_to_next, run_baseline
from competitions.winners.models import Lane, Place, State
from competitions.winners.services import actor_name, locked_place, place_move
from core.reconciler import run_guarded

log = structlog.get_logger(__name__)


@transaction.atomic
def verification_start(*, key: UUID, by: User, now: datetime) -> Place:
    """Run the team's bundle on the phase's tasks and checks, with the winning weights and image.

    Raises `NotReady` or `NO_CODE`; then nothing is queued.
    """
    place = locked_place(key)
    earlier = place.comparison.get("earlier", [])
    if place.state == State.COMPARED:  # once more
        earlier = _with_this_run(place.comparison)
        place_move(
            place=place,
            source=State.COMPARED,
            target=State.HARDWARE,
            actor=actor_name(by),
            now=now,
            comparison={"earlier": earlier},
        )
    if place.state != State.HARDWARE:
        raise refusals.NotReady(place, "A verification run")
    if place.code is None:
        raise refusals.NO_CODE(place=place)
    phase = place.lane.leaderboard.phase
    arguments: dict[str, Any] = {
        "phase": phase,
        "team": place.team,
        "by": by,
        "file": place.code,
        "file_name": place.code_name,
        "now": now,
        "seed": len(earlier),
        "environment": submission_environment(place.submission),
    }
    verification, checks = verification_create(**arguments), phase_checks(phase)
    if checks:
        run_baseline(Lane.objects.select_for_update(no_key=True).get(pk=place.lane_id), checks, by=by, now=now)
    place_move(
        place=place,
        source=State.HARDWARE,
        target=State.VERIFYING,
        actor=actor_name(by),
        now=now,
        note=f"submission #{verification.pk}",
        verification=verification,
        check_run=verification_create(**arguments, checks=checks) if checks else None,
    )
    return place


def _with_this_run(comparison: dict[str, Any]) -> list[dict[str, object]]:
    """Results of this run and earlier ones: how far repeats differ helps to set a tolerance."""
    this = {key: comparison.get(key) for key in ("wall_s", "mae", "equal_share", "score_difference")}
    return [*comparison.get("earlier", []), this]


def compare_finished(*, now: datetime) -> int:
    """For the reconciler: compare what the ended verification runs made; returns how many.

    A place that fails holds up no other.
    """
    waiting = Place.objects.filter(
        Q(check_run=None) | Q(check_run__status__in=FINAL),
        Q(lane__baseline_run=None) | Q(lane__baseline_run__status__in=FINAL),
        state=State.VERIFYING,
        verification__status__in=FINAL,
    )
    keys = list(waiting.values_list("key", flat=True))
    return sum(run_guarded("winners_compared", partial(verification_compare, key=key), now=now) for key in keys)


def verification_compare(*, key: UUID, now: datetime) -> bool:
    """Store what an ended run showed; False if done already. If our fault, the place can be run again.

    Comparing takes minutes for large files, so no lock is held meanwhile; the move is refused if the place was run again.
    """
    place = Place.objects.select_related(
        "lane__leaderboard__phase", "team", "submission", "verification", "check_run"
    ).get(key=key)
    run, check_run = place.verification, place.check_run
    submissions = (run, check_run, place.lane.baseline_run)
    if (
        place.state != State.VERIFYING
        or run is None
        or any(submission and submission.status not in FINAL for submission in submissions)
    ):
        return False
    if _is_not_the_teams(run) or (check_run is not None and _is_the_platforms(check_run)):
        note = "The run ended by no fault of the team's; start it again."
        return _move(place, State.HARDWARE, note, now)
    comparison = run_comparison(place, run)
    log.info("winners_compared", place=str(place.key), is_within=comparison["is_within"])
    note = "; ".join(comparison["faults"]) or "within the tolerance"
    return _move(place, State.COMPARED, note, now, comparison=comparison)


@transaction.atomic
def _move(place: Place, target: State, note: str, now: datetime, **changes: Any) -> bool:
    """Move the place out of its verification, if it is still the same one."""
    if locked_place(place.key).verification_id != place.verification_id:
        return False
    return place_move(
        place=place, source=State.VERIFYING, target=target, actor="verification", now=now, note=note, **changes
    )


def _is_not_the_teams(submission: Submission) -> bool:
    if submission.status == RunState.CANCELLED:
        return True
    return submission.status == RunState.FAILED and REASONS[Reason(submission.reason)].blame != Blame.PARTICIPANT


def _is_the_platforms(checks: Submission) -> bool:
    """True for a check that we lost, to run again; one that cannot be scored is the organizers' to fix."""
    lost = [run for run in checks.runs.all() if run.reason and REASONS[Reason(run.reason)].blame == Blame.PLATFORM]
    return checks.status == RunState.CANCELLED or bool(lost)


def run_comparison(place: Place, verification: Submission) -> dict[str, Any]:
    """Compare an ended verification: time, predictions, score, checks, zip, and what exceeds tolerance."""
    runs = list(verification.runs.select_related("task__reference_data__file", "submission__phase"))
    wall_s = sum(float(run.meters.get("wall_s", 0.0)) for run in runs)
    comparison: dict[str, Any] = {
        "wall_s": wall_s,
        "limit_s": verification.phase.time_limit_s,
        "runs": [{"title": run.task.name} | budget_meters(run) for run in runs],
        "tolerance_origin": place.lane.tolerance_origin,
        "earlier": place.comparison.get("earlier", []),
    }
    if verification.status == RunState.FAILED:
        detail = next((run.detail for run in runs if run.detail), "")
        faults = [f"the run failed, {Reason(verification.reason).label}: {detail}".rstrip(": ")]
        return comparison | {"is_within": False, "faults": faults}
    faults = []
    try:
        difference, pairs = _difference(place, runs)
        comparison |= asdict(difference) | {"pairs": pairs}
        faults += _outside(place.lane, difference)
        comparison |= _code(place, difference.rows)
    except CannotCompare as error:
        faults.append(str(error))
    score = _score_difference(place, verification)
    if score is not None:
        comparison["score_difference"] = score
        if abs(score) > place.lane.score_tolerance:
            faults.append(f"the score differs by {score:+.6g}; {place.lane.score_tolerance:g} is allowed")
    findings = _findings(place, {run.task_id: run for run in runs})
    comparison["checks"] = [{**outcome.facts, "faults": outcome.faults} for outcome in findings]
    comparison["warnings"] = _warnings(place, comparison)
    faults += [fault for outcome in findings for fault in outcome.named_faults]
    return comparison | {"is_within": not faults, "faults": faults}


def _warnings(place: Place, comparison: dict[str, Any]) -> list[str]:
    """Sentences on tolerances that are wider than the distance to the next place, which they decide about."""
    distance = distance_to_next(place, _column(place))
    if distance is None:
        return []
    named = [(check["title"], check.get("allowed_gap")) for check in comparison["checks"]]
    if "score_difference" in comparison:
        named.append(("The score on the phase's input", place.lane.score_tolerance))
    return [
        f"{title}: the tolerance, {allowed:.4g}, is wider than the distance to the next place, {distance:.4g}. A cheat of that size "
        "would go unnoticed."
        for title, allowed in named
        if allowed is not None and allowed > distance
    ]


def _column(place: Place) -> Column | None:
    return primary_column(list(place.lane.leaderboard.columns.all()))


def _findings(place: Place, plain: dict[int, Run]) -> list[Finding]:
    """The findings of the checks; those of a task that has left the phase meanwhile are left out."""
    if place.check_run is None:
        return []
    checks = place.check_run.runs.select_related("task__checks", "task__reference_data__file", "submission__phase")
    own = [(run, plain[run.task.checks_id]) for run in checks if run.task.checks_id in plain]
    others = baseline_pairs(place.lane)
    gaps = score_gaps([*own, *others], _column(place))
    baseline = {run.task_id: gap for (run, _), gap in zip(others, gaps[len(own) :], strict=True)}
    return [
        finding(place, run, base, gap, baseline.get(run.task_id))
        for (run, base), gap in zip(own, gaps, strict=False)  # those of the baseline stand behind
    ]


def _code(place: Place, predictions: int) -> dict[str, object]:
    """The files of the zip, for the organizers."""
    return {"code": code_facts(place.code, predictions=predictions)} if place.code is not None else {}


def _outside(lane: Lane, difference: Difference) -> list[str]:
    faults = []
    if difference.mae is not None and difference.mae > lane.tolerance:
        faults.append(f"the predictions differ by {difference.mae:.6g} on average; {lane.tolerance:g} is allowed")
    least = lane.equal_share_asked if difference.has_words else lane.min_equal_share
    if difference.equal_share < least:
        faults.append(f"{difference.equal_share:.2%} of the rows are equal; {least:.2%} are asked for")
    return faults


def _difference(place: Place, runs: list[Run]) -> tuple[Difference, list[list[float]]]:
    """Over all tasks: the worst of each; and pairs of predictions of the first for the plot."""
    both = [(made_by(run, place), submitted(place, run.task_id)) for run in runs]
    differences = [compare(output, sent) for output, sent in both]
    means = [difference.mae for difference in differences if difference.mae is not None]
    largest = [difference.largest for difference in differences if difference.largest is not None]
    return Difference(
        rows=sum(difference.rows for difference in differences),
        equal_share=min(difference.equal_share for difference in differences),
        mae=max(means, default=None),
        largest=max(largest, default=None),
        has_words=any(difference.has_words for difference in differences),
    ), sampled_pairs(*both[0])


def _score_difference(place: Place, verification: Submission) -> float | None:
    """Score of the run here minus the one that counted, in the board's primary column."""
    board, primary = place.lane.leaderboard, _column(place)
    scores = {
        score.submission_id: score.values
        for score in Score.objects.filter(leaderboard=board, submission__in=[verification, place.submission])
    }
    ours, theirs = scores.get(verification.pk, {}), scores.get(place.submission_id, {})
    if primary is None or primary.key not in ours or primary.key not in theirs:
        return None
    return float(ours[primary.key] - theirs[primary.key])
