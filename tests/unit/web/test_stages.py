"""The time of a run, as parts of one bar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from competitions.runs.models import Run, RunEvent
from competitions.submissions.states import State
from competitions.web.presentation.runs import run_stages

START = datetime(2030, 5, 1, 12, tzinfo=UTC)


def event(source: State, seconds: float) -> tuple[RunEvent, float]:
    return RunEvent(source=source, target=State.SCORING, at=START), seconds


def test_the_parts_are_as_long_as_the_states_lasted_and_fill_the_bar() -> None:
    history = [event(State.QUEUED, 10), event(State.INGESTING, 30)]
    stages = run_stages(Run(state=State.FINISHED), history, now=START)
    assert [(stage.state, stage.seconds, stage.x, stage.width) for stage in stages] == [
        (State.QUEUED, 10, 0.0, 25.0),
        (State.INGESTING, 30, 25.0, 75.0),
    ]


def test_a_run_that_goes_on_has_spent_the_time_since_in_its_state() -> None:
    stages = run_stages(Run(state=State.SCORING), [event(State.QUEUED, 10)], now=START + timedelta(seconds=10))
    assert [(stage.state, stage.width) for stage in stages] == [(State.QUEUED, 50.0), (State.SCORING, 50.0)]


def test_no_part_is_too_thin_to_be_seen_and_nothing_is_no_bar() -> None:
    stages = run_stages(
        Run(state=State.FINISHED),
        [event(State.QUEUED, 0), event(State.LEASED, 1), event(State.INGESTING, 9999)],
        now=START,
    )
    assert (stages[0].state, stages[0].width > 0.9) == (State.LEASED, True)
    assert sum(stage.width for stage in stages) == 100.0
    assert run_stages(Run(state=State.QUEUED), [], now=START) == []
