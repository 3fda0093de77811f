"""A run on its page: the time by state, as parts of one bar, and the end of its log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypedDict

from django.db.models import Q

from competitions.disclosure.outputs import LogStream
from competitions.leaderboards.growing.missing_runs import counting_submissions
from competitions.leaderboards.models import Joining
from competitions.runs.models import Run, RunEvent
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import FINAL, Kind, State

LEAST_PERCENT: Final = 1.0  # of a part, so that none is too thin to be seen
LEAST_S: Final = 0.05  # what is shorter reads as 0.0 s and is left out


@dataclass(frozen=True)
class Stage:
    """A time in one state; `x` and `width` are percent of the bar."""

    state: State
    seconds: float
    x: float
    width: float


def run_history(run: Run, submission: Submission) -> list[tuple[RunEvent, float]]:
    """The moves of a run, each with the seconds that it had been in the state it left."""
    events = list(run.events.all())
    since = [_began_at(run, submission, events), *(event.at for event in events)]
    return [
        (event, max((event.at - before).total_seconds(), 0.0)) for event, before in zip(events, since, strict=False)
    ]


def _began_at(run: Run, submission: Submission, events: Sequence[RunEvent]) -> datetime:
    """The moment a run was made: with its submission, to be checked, or later, as after a smoke run."""
    if not events or events[0].source == State.CHECKING:
        return submission.created_at
    smoke_ended = [each.finished_at for each in submission.runs.all() if each.is_smoke and each.finished_at is not None]
    # Organizers who start it, or run it again, have it queued anew.
    return run.queued_at if run.fills_board else min([run.queued_at, *smoke_ended])


def run_stages(run: Run, history: Sequence[tuple[RunEvent, float]], *, now: datetime) -> list[Stage]:
    """A run's stages in order, the last until now if the run goes on; empty if nothing took any time."""
    spent = [(State(event.source), seconds) for event, seconds in history]
    if history and not run.is_final:
        spent.append((State(run.state), max((now - history[-1][0].at).total_seconds(), 0.0)))
    spent = [(state, seconds) for state, seconds in spent if seconds >= LEAST_S]
    total = sum(seconds for _, seconds in spent)
    widths = [max(LEAST_PERCENT, 100 * seconds / total) for _, seconds in spent]
    scale, stages, x = 100 / (sum(widths) or 1.0), [], 0.0
    for (state, seconds), width in zip(spent, widths, strict=True):
        stages.append(Stage(state, seconds, round(x, 2), round(width * scale, 2)))
        x += width * scale
    return stages


LIVE_CHARS: Final = 100_000  # while a run goes, the page asks for it every few seconds
WHOLE_CHARS: Final = 1_000_000


@dataclass(frozen=True)
class ShownLog:
    """`first_line` is the number of the first line that is shown, from 1."""

    stream: LogStream
    text: str
    first_line: int

    @property
    def label(self) -> str:
        return str(self.stream.label)

    @property
    def is_cut(self) -> bool:
        return self.first_line > 1


def shown_log(stream: LogStream, text: str, *, is_final: bool) -> ShownLog:
    """The end of the log, in whole lines unless the last one alone is too long.

    >>> shown_log(LogStream.INGESTION, "one\\ntwo\\n", is_final=True).first_line
    1
    """
    most = WHOLE_CHARS if is_final else LIVE_CHARS
    if len(text) <= most:
        return ShownLog(stream, text, 1)
    begin = text.find("\n", len(text) - most - 1, len(text) - 1) + 1 or len(text) - most
    return ShownLog(stream, text[begin:], text.count("\n", 0, begin) + 1)


@dataclass(frozen=True)
class DatasetStanding:
    """A submitted dataset, on which `run_on` of `wanted` algorithms have been run.

    `has_failed` where it could not join the board.
    """

    dataset: Dataset | None
    has_failed: bool = False
    run_on: int = 0
    wanted: int = 0


class GrowingContext(TypedDict):
    shown_runs: list[Run]
    cells: list[Run]
    standing_dataset: DatasetStanding | None


def growing_context(submission: Submission, chosen: str) -> GrowingContext:
    """The context of a submission's page: runs shown in full, the others as `cells`, and its dataset.

    `chosen` is the run on a submitted dataset that the page was asked to show in full.
    """
    runs = list(submission.runs.all())
    return {
        "shown_runs": [run for run in runs if not run.fills_board or str(run.pk) == chosen],
        "cells": [run for run in runs if run.fills_board],
        "standing_dataset": _dataset(submission)
        if submission.kind == Kind.DATASET and submission.phase.grows
        else None,
    }


def _dataset(submission: Submission) -> DatasetStanding:
    dataset = Dataset.objects.filter(submission=submission).first()
    if dataset is None:
        return DatasetStanding(None, has_failed=Joining.objects.filter(submission=submission, has_failed=True).exists())
    counting = counting_submissions(submission.phase)
    ended = Q(submission__in=counting.values("pk"), state__in=FINAL)
    run_on = Run.objects.filter(ended, task=dataset.task_id).count()
    return DatasetStanding(dataset, run_on=run_on, wanted=counting.count())
