"""Warnings to organizers about a board that grows: its cost, and settings that cannot work."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from competitions.catalog.changes.change import impact_check, phase_cost
from competitions.catalog.models import Competition, Leaderboard, Phase
from competitions.catalog.readiness import ReadinessWarning, readiness_check
from competitions.leaderboards.growing.joining import waiting_datasets
from competitions.leaderboards.growing.missing_runs import counting_submissions
from competitions.leaderboards.models import Joining
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import Kind
from core.background.jobs import ON_OUR_SIDE
from files.text import quantity

HOUR_S: Final = 3600
CHANGED: Final = ("dataset_check", "max_datasets", "time_limit_s", "scoring_time_limit_s")


def growth_cost(phase: Phase, changes: Mapping[str, object] | None = None) -> str:
    """The most that filling the board costs with these changes, as a sentence: cells times time limits."""
    settings = {name: getattr(phase, name) for name in CHANGED} | dict(changes or {})
    algorithms, limit_s = (
        counting_submissions(phase).count(),
        settings["time_limit_s"] + settings["scoring_time_limit_s"],
    )
    each = algorithms * limit_s / HOUR_S
    return (
        f"Every dataset is run with every counting algorithm (now {algorithms}): at most {limit_s:,} s a run, {each:,.1f} hours a "
        f"dataset, {each * settings['max_datasets']:,.1f} hours for all {settings['max_datasets']}. Each new algorithm costs at most "
        f"{settings['max_datasets'] * limit_s / HOUR_S:,.1f} hours more."
    )


@phase_cost
def growing_board_costs(phase: Phase) -> Iterator[str]:
    if phase.grows:
        yield growth_cost(phase)


@impact_check(Phase)
def filling_costs(phase: Phase, changes: Mapping[str, object], now: datetime) -> Iterator[str]:
    joined = Dataset.objects.filter(submission__phase=phase).count()
    if "dataset_check" in changes and changes["dataset_check"] is None:
        if joined:
            leave = quantity(joined, "dataset leaves it, and decides", "datasets leave it, and decide")
            yield f"The board would no longer grow: {leave} no ranks."
        return
    if (phase.grows or changes.get("dataset_check")) and set(changes) & set(CHANGED):
        yield growth_cost(phase, {name: changes[name] for name in CHANGED if name in changes})
    before = Submission.objects.filter(phase=phase, kind=Kind.DATASET).count()
    if not phase.grows and changes.get("dataset_check") and before:
        were = quantity(before, "dataset was", "datasets were")
        yield f"{were} submitted before and will not join; only those that pass the check from now on do."


@readiness_check
def growing_boards_can_rank(competition: Competition) -> Iterator[ReadinessWarning]:
    for phase in competition.phases.filter(dataset_check__isnull=False).prefetch_related("leaderboards__columns"):
        if phase.dataset_check in phase.tasks.all():
            yield ReadinessWarning(
                "check_is_a_task",
                phase.name,
                "The dataset check is a task of the phase, too, so code is run on it. Take it out of the tasks.",
            )
        for board in phase.leaderboards.all():
            yield from _board_warnings(phase, board)


@readiness_check
def checked_datasets_have_joined(competition: Competition) -> Iterator[ReadinessWarning]:
    waiting = waiting_datasets().filter(phase__competition=competition)
    given_up = Joining.objects.filter(submission__in=waiting.order_by().values("pk"), has_failed=True)
    for joining in given_up.select_related("submission__phase"):
        yield ReadinessWarning(
            "dataset_not_joined",
            joining.submission.phase.name,
            f"The dataset of submission #{joining.submission_id} passed its check, but could not be put on the board "
            f"{ON_OUR_SIDE} Run the submission again to try once more.",
        )


def _board_warnings(phase: Phase, board: Leaderboard) -> Iterator[ReadinessWarning]:
    where = f"{phase.name}, {board.title}"
    if board.visibility == Leaderboard.Visibility.SEALED:
        yield ReadinessWarning(
            "sealed_board_grows", where, "A sealed board does not grow by datasets. Make it as the phase."
        )
    if not any(column.is_relative for column in board.columns.all()):
        yield ReadinessWarning(
            "no_average_rank",
            where,
            "Submitted datasets are shown, and decide no rank: values of different datasets have no common mean. Add a column of the "
            "kind average rank over the score, and make it the primary one.",
        )
