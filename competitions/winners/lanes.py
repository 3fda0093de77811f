"""The winners' lane of a board: its settings, the baseline on the checks, the team in the next place."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Column, Task
from competitions.environments.choice import submission_environment
from competitions.leaderboards.models import Entry
from competitions.leaderboards.services import board_touch
from competitions.runs.models import Run
from competitions.runs.services import verification_create
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, State
from competitions.winners.models import Lane, Place


@transaction.atomic
def save_lane(lane: Lane) -> Lane:
    """Write a lane, new or changed; its board's page links to it. Raises `ValidationError` by field."""
    lane.full_clean()
    lane.save()
    board_touch(lane.leaderboard)
    return lane


def impact_of_lane(lane: Lane, changed: list[str]) -> Iterator[str]:
    """Sentences on what writing it does to teams that were invited."""
    invited = lane.places.count() if lane.pk else 0
    if not invited:
        return
    teams = f"{invited} team{' was' if invited == 1 else 's were'} invited"
    if "days" in changed:
        yield f"{teams}; their deadlines stay as they were told."
    if {"tolerance", "min_equal_share", "score_tolerance"} & set(changed):
        yield f"{teams}; their predictions are compared by the new tolerances from now on."


MAX_ROWS = 500  # of a board, from the best on, in which the next team is looked for


def run_baseline(lane: Lane, checks: Sequence[Task], *, by: User, now: datetime) -> None:
    """Run the lane's baseline on the checks, unless it was run on them or there is none that is code.

    The lane must be locked.
    """
    baseline = _baseline(lane)
    if baseline is None or _was_run(lane.baseline_run, baseline, checks):
        return
    lane.baseline_run = verification_create(
        phase=lane.leaderboard.phase,
        team=baseline.team,
        by=by,
        file=baseline.file,
        file_name=baseline.file_name,
        now=now,
        checks=checks,
        environment=submission_environment(baseline),
    )
    lane.save(update_fields=["baseline_run"])


def _baseline(lane: Lane) -> Submission | None:
    rows = Entry.objects.filter(leaderboard=lane.leaderboard_id, is_baseline=True, score__submission__kind=Kind.CODE)
    entry = rows.select_related("score__submission__team").order_by(*Entry.IN_ORDER).first()
    return entry.score.submission if entry is not None else None


def _was_run(run: Submission | None, baseline: Submission, checks: Sequence[Task]) -> bool:
    if run is None or run.file_id != baseline.file_id or run.status in (State.FAILED, State.CANCELLED):
        return False
    return set(run.runs.values_list("task", flat=True)) == {check.pk for check in checks}


def baseline_pairs(lane: Lane) -> list[tuple[Run, Run]]:
    """The baseline's runs of the checks, each with its run on the plain input; none without a baseline."""
    baseline = _baseline(lane) if lane.baseline_run is not None else None
    if baseline is None or lane.baseline_run is None or lane.baseline_run.file_id != baseline.file_id:
        return []
    plain = {run.task_id: run for run in baseline.runs.select_related("task__reference_data__file")}
    checks = lane.baseline_run.runs.select_related("task__reference_data__file")
    return [(check, plain[check.task.checks_id]) for check in checks if check.task.checks_id in plain]


def distance_to_next(place: Place, column: Column | None) -> float | None:
    """The distance of scores to the best row of another team that does not beat the place's.

    None where there is no such row.
    """
    if column is None:
        return None
    rows = Entry.objects.filter(leaderboard=place.lane.leaderboard_id, is_baseline=False).order_by(*Entry.IN_ORDER)
    listed = list(rows.values_list("score__submission", "team", "values")[:MAX_ROWS])
    own = next((values.get(column.key) for number, _, values in listed if number == place.submission_id), None)
    if own is None:
        return None
    sign = 1 if column.sorting == Column.Sorting.ASC else -1
    others = [values[column.key] for _, team, values in listed if team != place.team_id and column.key in values]
    return min((sign * (value - own) for value in others if sign * (value - own) >= 0), default=None)
