"""Charts as data: drawn by a page's script, with a table of the same numbers behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
TIME_STEPS: Final = (
    1,
    5,
    15,
    30,
    *(count * MINUTE_S for count in (1, 5, 15, 30)),
    *(count * HOUR_S for count in (1, 3, 6, 12)),
    *(count * DAY_S for count in (1, 2, 7, 28, 91, 365, 1826, 3653, 7305, 18_262)),
)
MAX_TIME_TICKS: Final = 5

Form = Literal["steps", "line", "points", "bars"]
Tone = Literal["own", "best", "other", "good", "bad"]
Scale = Literal["number", "count", "time", "rank", "category"]


@dataclass(frozen=True)
class Point:
    """A value of a chart: `x` and `y` place it, the texts are what a reader sees. Times are in seconds."""

    x: float
    y: float
    x_text: str
    y_text: str
    note: str = ""  # whose it is, for instance


@dataclass(frozen=True)
class Series:
    """Values that belong together. "steps": a value holds until the next one."""

    title: str
    points: Sequence[Point]
    form: Form = "line"
    tone: Tone = "own"


@dataclass(frozen=True)
class Level:
    """A value to compare with, such as a baseline's: a dashed line across the chart."""

    title: str
    value: float
    text: str


@dataclass(frozen=True)
class Axis:
    """`ends`: the scale goes at least so far. On a scale of ranks the first is on top, or at the left."""

    title: str
    scale: Scale = "number"
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Chart:
    """A chart. `key` is unique on the page; `summary` is a sentence that says what it shows."""

    key: str
    title: str
    summary: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    levels: Sequence[Level] = field(default=())
    has_diagonal: bool = False  # where both axes have one scale: what lies on the line is equal

    @property
    def script_id(self) -> str:
        return f"{self.key}-data"

    @property
    def rows(self) -> list[tuple[str, Point]]:
        """The rows of the table: each point with its note, or else the title of its series."""
        return [(point.note or series.title, point) for series in self.series for point in series.points]

    @property
    def has_names(self) -> bool:
        return any(name for name, _ in self.rows)

    @property
    def spec(self) -> dict[str, Any]:
        """The chart's data for the script."""
        return {
            "x": self._axis(self.x, [point.x for _, point in self.rows]),
            "y": self._axis(self.y, [point.y for _, point in self.rows]),
            "diagonal": self.has_diagonal,
            "levels": [{"title": f"{level.title} {level.text}", "value": level.value} for level in self.levels],
            "series": [
                {
                    "title": series.title,
                    "form": series.form,
                    "tone": series.tone,
                    "points": [[point.x, point.y, _point_words(series, point)] for point in series.points],
                }
                for series in self.series
            ],
        }

    def _axis(self, axis: Axis, values: list[float]) -> dict[str, object]:
        spec: dict[str, object] = {"title": axis.title, "scale": axis.scale}
        if axis.ends:
            spec |= {"min": axis.ends[0], "max": axis.ends[1]}
        if axis.scale == "time":
            low, high = axis.ends or (min(values), max(values))
            spec["ticks"] = time_ticks(low, high)
        if axis.scale == "category":
            spec["ticks"] = sorted({(point.x, point.x_text) for _, point in self.rows})
        return spec


def _point_words(series: Series, point: Point) -> str:
    """One point in words, for whoever points at it or hears it read."""
    words = [point.note or series.title, f"{point.y_text}, {point.x_text}"]
    return ": ".join(word for word in words if word)


def time_point(at: datetime, value: float, text: str, note: str = "") -> Point:
    """A value at an instant."""
    return Point(at.timestamp(), value, f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC", text, note)


def time_ends(points: Sequence[Point], until: datetime | None = None) -> tuple[float, float]:
    """Ends of a time axis: the first and last point, or `until`; a lone point gets an hour on each side."""
    times = [point.x for point in points]
    low, high = min(times), max([*times, *([until.timestamp()] if until else [])])
    return (low, high) if high - low >= 1 else (low - HOUR_S, high + HOUR_S)


def time_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round instants between two time stamps, each with its label, which no other has.

    >>> time_ticks(0, 3 * 86400)
    [(0, '1970-01-01'), (86400, '1970-01-02'), (172800, '1970-01-03'), (259200, '1970-01-04')]
    """
    step = next(
        (candidate for candidate in TIME_STEPS if high // candidate + low // -candidate < MAX_TIME_TICKS),
        TIME_STEPS[-1],
    )
    form = "%Y-%m-%d" if step >= DAY_S else "%b %d, %H:%M" if step >= MINUTE_S else "%b %d, %H:%M:%S"
    instants = (number * step for number in range(-int(low // -step), int(high // step) + 1))
    return [(at, datetime.fromtimestamp(at, UTC).strftime(form)) for at in instants]
