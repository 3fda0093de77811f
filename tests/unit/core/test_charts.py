"""Charts as data: the axes, the sentence that tells each point, the table behind."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.design.charts import Axis, Chart, Level, Point, Series, time_ends, time_point, time_ticks

START = datetime(2030, 5, 1, 12, tzinfo=UTC)


def chart(*series: Series, x: Axis | None = None, **more: object) -> Chart:
    return Chart("one", "MAE over time", "It fell.", x or Axis("When", "time"), Axis("MAE"), series, **more)  # type: ignore[arg-type]


def points(*values: float) -> list[Point]:
    return [time_point(START + timedelta(hours=6 * at), value, f"{value:.2f}") for at, value in enumerate(values)]


def test_a_point_is_told_with_its_series_its_value_and_its_moment() -> None:
    spec = chart(Series("Your team", points(0.5))).spec
    assert spec["series"][0]["points"] == [[START.timestamp(), 0.5, "Your team: 0.50, 2030-05-01 12:00 UTC"]]


def test_a_note_says_whose_a_point_is_and_stands_in_the_table() -> None:
    drawn = chart(Series("Best", [time_point(START, 0.5, "0.50", "Cats")]))
    assert drawn.spec["series"][0]["points"][0][2] == "Cats: 0.50, 2030-05-01 12:00 UTC"
    assert (drawn.rows[0][0], drawn.has_names) == ("Cats", True)


def test_the_table_has_the_points_of_all_series_in_their_order() -> None:
    drawn = chart(Series("Best", points(0.9, 0.5)), Series("Your team", points(0.7)))
    assert [(title, point.y_text) for title, point in drawn.rows] == [
        ("Best", "0.90"),
        ("Best", "0.50"),
        ("Your team", "0.70"),
    ]


def test_a_level_is_named_with_its_value() -> None:
    assert chart(Series("", points(1.0)), levels=[Level("Mean", 0.58, "0.58")]).spec["levels"] == [
        {"title": "Mean 0.58", "value": 0.58}
    ]


def test_a_scale_of_categories_is_labelled_by_their_names() -> None:
    spec = chart(
        Series("", [Point(0, 3, "Monday", "3"), Point(1, 2, "Tuesday", "2")], "bars"), x=Axis("", "category")
    ).spec
    assert spec["x"]["ticks"] == [(0, "Monday"), (1, "Tuesday")]


def test_a_time_axis_goes_on_to_where_the_last_value_is_known_to_hold() -> None:
    until = START + timedelta(days=2)
    assert time_ends(points(0.9, 0.5), until) == (START.timestamp(), until.timestamp())


def test_a_lone_instant_gets_an_hour_on_both_sides() -> None:
    assert time_ends(points(0.5)) == (START.timestamp() - 3600, START.timestamp() + 3600)


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
    ticks = time_ticks(START.timestamp(), START.timestamp() + hours * 3600)
    assert [label for _, label in ticks] == labels


@given(st.floats(0, 4e9), st.floats(1, 3e9))
def test_no_two_instants_of_an_axis_have_one_label(low: float, span: float) -> None:
    ticks = time_ticks(low, low + span)
    assert 1 <= len(ticks) <= 5
    assert len({label for _, label in ticks}) == len(ticks)
    assert all(low <= at <= low + span for at, _ in ticks)
