"""Geometry of the score-over-time plot."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from competitions.catalog.models import Column
from competitions.web.plots import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Point,
    number_labels,
    round_ticks,
    score_plot,
    time_ticks,
)

START = datetime(2030, 5, 1, 12, tzinfo=UTC)
MAE = Column(key="mae", title="MAE", precision=4)


def points(*values: float, hours: float = 6) -> list[Point]:
    return [(START + timedelta(hours=hours * number), value) for number, value in enumerate(values)]


def test_nothing_is_drawn_of_nothing() -> None:
    assert score_plot([], [], MAE, until=START) is None


def test_the_first_and_last_point_lie_at_the_ends_of_the_time_axis() -> None:
    plot = score_plot(points(0.9, 0.5, 0.3), [], MAE, until=START)
    assert plot is not None
    assert [mark.x for mark in plot.best] == [LEFT, (LEFT + WIDTH - RIGHT) / 2, WIDTH - RIGHT]


def test_higher_values_lie_higher() -> None:
    plot = score_plot(points(0.9, 0.5, 0.3), [], MAE, until=START)
    assert plot is not None
    heights = [mark.y for mark in plot.best]
    assert heights == sorted(heights)


def test_a_best_score_holds_until_the_next_one_and_to_the_right_edge() -> None:
    plot = score_plot(points(1.0, 0.0), [], MAE, until=START)
    assert plot is not None
    assert plot.best_path == f"M{LEFT:.1f} {TOP:.1f}H{WIDTH - RIGHT:.1f}V{HEIGHT - BOTTOM:.1f}H{WIDTH - RIGHT}"


def test_a_single_point_lies_in_the_middle_of_the_time_axis() -> None:
    plot = score_plot(points(0.5), [], MAE, until=START)
    assert plot is not None
    assert plot.best[0].x == (LEFT + WIDTH - RIGHT) / 2
    assert TOP <= plot.best[0].y <= HEIGHT - BOTTOM


def test_a_team_without_a_best_of_the_board_is_drawn_alone() -> None:
    plot = score_plot([], points(0.5, 0.4), MAE, until=START)
    assert plot is not None
    assert (plot.best_path, len(plot.own)) == ("", 2)


def test_marks_say_value_and_moment() -> None:
    plot = score_plot(points(0.5), [], MAE, until=START)
    assert plot is not None
    assert plot.best[0].label == "0.5000 on 2030-05-01 12:00 UTC"


@pytest.mark.parametrize(
    ("hours", "labels"),
    [
        (1 / 3600, ["May 01, 12:00:00", "May 01, 12:00:01"]),
        (0.04, ["May 01, 12:00:00", "May 01, 12:00:30", "May 01, 12:01:00", "May 01, 12:01:30", "May 01, 12:02:00"]),
        (1, ["May 01, 12:00", "May 01, 12:15", "May 01, 12:30", "May 01, 12:45", "May 01, 13:00"]),
        (24 * 5, ["2030-05-02", "2030-05-03", "2030-05-04", "2030-05-05", "2030-05-06"]),
        (24 * 30, ["2030-05-02", "2030-05-09", "2030-05-16", "2030-05-23", "2030-05-30"]),
    ],
)
def test_time_is_labelled_at_round_instants_as_exactly_as_it_needs(hours: float, labels: list[str]) -> None:
    plot = score_plot(points(0.5, 0.4, hours=hours), [], MAE, until=START)
    assert plot is not None
    assert [tick.label for tick in plot.x_ticks] == labels


@given(st.floats(0, 4e9), st.floats(1, 3e9))
def test_no_two_instants_of_an_axis_have_one_label(low: float, span: float) -> None:
    ticks = time_ticks(low, low + span)
    assert 1 <= len(ticks) <= 5
    assert len({label for _, label in ticks}) == len(ticks)
    assert all(low <= at <= low + span for at, _ in ticks)


def test_the_axis_goes_on_to_where_the_best_score_is_known_to_hold() -> None:
    plot = score_plot(points(0.9, 0.5), [], MAE, until=START + timedelta(hours=12))
    assert plot is not None
    assert [mark.x for mark in plot.best] == [LEFT, (LEFT + WIDTH - RIGHT) / 2]
    assert plot.best_path.endswith(f"H{WIDTH - RIGHT}")


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.31, 0.9, [0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.0, 100.0, [0, 25, 50, 75, 100]),
        (-3.0, 3.0, [-4, -2, 0, 2, 4]),
        (0.3416, 0.3421, [0.3416, 0.3418, 0.342, 0.3422]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, ticks: list[float]) -> None:
    assert round_ticks(low, high)[: len(ticks)] == pytest.approx(ticks)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_enclose_the_values_evenly_and_are_few(low: float, span: float) -> None:
    ticks = round_ticks(low, low + span)
    slack = 1e-6 * (abs(low) + span)
    assert ticks[0] <= low + slack
    assert ticks[-1] >= low + span - slack
    assert 2 <= len(ticks) <= 7
    assert all(second - first == pytest.approx(ticks[1] - ticks[0], rel=1e-3) for first, second in pairwise(ticks))


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.34160001, 0.34160009, ["0.34160000", "0.34160002", "0.34160004", "0.34160006", "0.34160008", "0.34160010"]),
        (1_000_001, 1_000_004, ["1000001", "1000002", "1000003", "1000004"]),
        (0, 1, ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        (-0.1, 0.1, ["-0.10", "-0.05", "0.00", "0.05", "0.10"]),
        (0, 4e-12, ["0", "1e-12", "2e-12", "3e-12", "4e-12"]),
    ],
)
def test_a_value_is_labelled_with_the_digits_that_tell_it_apart(low: float, high: float, labels: list[str]) -> None:
    assert number_labels(round_ticks(low, high)) == labels


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_no_two_values_of_an_axis_have_one_label(low: float, span: float) -> None:
    labels = number_labels(round_ticks(low, low + span))
    assert len(set(labels)) == len(labels)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e9, 1e9)), min_size=1, max_size=20))
def test_every_mark_lies_inside_the_frame(raw: list[tuple[float, float]]) -> None:
    given_points = [(START + timedelta(seconds=seconds), value) for seconds, value in sorted(raw)]
    plot = score_plot(given_points[:5], given_points[5:], MAE, until=START)
    assert plot is not None
    for mark in [*plot.best, *plot.own]:
        assert LEFT <= mark.x <= WIDTH - RIGHT
        assert TOP - 0.1 <= mark.y <= HEIGHT - BOTTOM + 0.1
