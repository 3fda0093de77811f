"""The score-over-time plot as inline SVG: no script, themed by the page's style, read from the table beside it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from competitions.catalog.models import Column

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 92, 20, 20, 44
TICKS = 5
DAY_S = 86_400
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # of a round scale, times a power of ten

Point = tuple[datetime, float]


@dataclass(frozen=True)
class Mark:
    """A submission, or a team, in a plot: pixel position, and the text that a reader's pointer or screen reader finds."""

    x: float
    y: float
    label: str


@dataclass(frozen=True)
class Tick:
    position: float
    label: str


@dataclass(frozen=True)
class Plot:
    """Everything the template draws. `best_path` is a step line: a best score holds until the next one."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    best_path: str
    best: list[Mark]
    own: list[Mark]
    x_ticks: list[Tick]
    y_ticks: list[Tick]


def score_plot(best: Sequence[Point], own: Sequence[Point], column: Column) -> Plot | None:
    """Lay the points out; None when there is nothing to draw.

    Parameters
    ----------
    best, own : (instant, value in the column's unit), each in order of time.
    """
    points = [*best, *own]
    if not points:
        return None
    x = _Scale(_padded([at.timestamp() for at, _ in points], pad=3600.0), LEFT, WIDTH - RIGHT)
    values = [value for _, value in points]
    heights = round_ticks(*_padded(values, pad=abs(values[0]) * 0.05 or 1.0))
    y = _Scale((heights[0], heights[-1]), HEIGHT - BOTTOM, TOP)
    return Plot(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        top=TOP,
        bottom=HEIGHT - BOTTOM,
        best_path=_steps([(x(at.timestamp()), y(value)) for at, value in best]),
        best=_marks(best, x, y, column),
        own=_marks(own, x, y, column),
        x_ticks=[Tick(x(value), _time_label(value, x.span)) for value in x.ticks(4)],
        y_ticks=[Tick(y(value), f"{value:.6g}") for value in heights],
    )


def _padded(values: list[float], *, pad: float) -> tuple[float, float]:
    """Lowest and highest value; a single value gets room on both sides, so that it lies in the middle."""
    low, high = min(values), max(values)
    return (low, high) if low < high else (low - pad, high + pad)


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers, evenly spaced, the first at or below `low` and the last at or above `high`."""
    rough = (high - low) / (TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in STEPS if one * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


class _Scale:
    """A linear map from values to pixels."""

    def __init__(self, ends: tuple[float, float], start: float, end: float) -> None:
        self.low, self.high = ends
        self.start, self.end = start, end

    @property
    def span(self) -> float:
        return self.high - self.low

    def __call__(self, value: float) -> float:
        return round(self.start + (value - self.low) / self.span * (self.end - self.start), 1)

    def ticks(self, count: int) -> list[float]:
        return [self.low + self.span * step / (count - 1) for step in range(count)]


def _marks(points: Sequence[Point], x: _Scale, y: _Scale, column: Column) -> list[Mark]:
    return [
        Mark(x(at.timestamp()), y(value), f"{column.shown(value)} on {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC")
        for at, value in points
    ]


def _steps(pixels: list[tuple[float, float]]) -> str:
    """An SVG path that goes right, then up or down, and on to the right edge."""
    if not pixels:
        return ""
    parts = [f"M{pixels[0][0]} {pixels[0][1]}"]
    parts += [f"H{px}V{py}" for px, py in pixels[1:]]
    return "".join(parts) + f"H{WIDTH - RIGHT}"


def _time_label(timestamp: float, span_s: float) -> str:
    at = datetime.fromtimestamp(timestamp, UTC)
    return f"{at:%Y-%m-%d}" if span_s > 14 * DAY_S else f"{at:%b %d, %H:%M}"
