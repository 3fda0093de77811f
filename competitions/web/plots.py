"""Scores over time, and predictions against each other, as inline SVG: no script, themed by the page's style, read from the
table beside it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from competitions.catalog.models import Column

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 92, 20, 20, 44
TICKS = 5
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)  # of a round scale, times a power of ten
MAX_DECIMALS, MAX_PLAIN = 8, 1e9  # beyond them numbers are written with an exponent
MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
TIME_STEPS = (
    1, 5, 15, 30, *(count * MINUTE_S for count in (1, 5, 15, 30)), *(count * HOUR_S for count in (1, 3, 6, 12)),
    *(count * DAY_S for count in (1, 2, 7, 28, 91, 365, 1826, 3653, 7305, 18_262)),
)  # fmt: skip
MAX_TIME_TICKS = 5
LABEL_HALF = 88  # of the widest label, as it is drawn on a phone

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
    anchor: str = "middle"


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


@dataclass(frozen=True)
class PairPlot:
    """Expected against made predictions on one scale; what is equal lies on the diagonal."""

    title: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    dots: list[Mark]
    x_ticks: list[Tick]
    y_ticks: list[Tick]


def pair_plot(title: str, pairs: Sequence[Sequence[float]]) -> PairPlot | None:
    """Lay out pairs of an expected and a made prediction; None where there is none."""
    if not pairs:
        return None
    values = [value for pair in pairs for value in pair]
    ticks = round_ticks(*_padded(values, pad=abs(values[0]) * 0.05 if abs(values[0]) > 1e-9 else 1.0))
    x, y = (_Scale((ticks[0], ticks[-1]), *ends) for ends in ((LEFT, WIDTH - RIGHT), (HEIGHT - BOTTOM, TOP)))
    labels = number_labels(ticks)
    return PairPlot(
        title=title, width=WIDTH, height=HEIGHT, left=LEFT, right=WIDTH - RIGHT, top=TOP, bottom=HEIGHT - BOTTOM,
        dots=[Mark(x(expected), y(made), f"{expected:.6g}, made {made:.6g}") for expected, made in pairs],
        x_ticks=[Tick(x(value), label) for value, label in zip(ticks, labels, strict=True)],
        y_ticks=[Tick(y(value), label) for value, label in zip(ticks, labels, strict=True)],
    )  # fmt: skip


def score_plot(best: Sequence[Point], own: Sequence[Point], column: Column, *, until: datetime) -> Plot | None:
    """Lay the points out; None when there is nothing to draw.

    Parameters
    ----------
    best, own : (instant, value in the column's unit), each in order of time.
    until : the best score is known to hold up to here, where the time axis ends.
    """
    points = [*best, *own]
    if not points:
        return None
    times = [at.timestamp() for at, _ in points]
    x = _Scale(_padded([*times, max(until.timestamp(), *times)], pad=3600.0), LEFT, WIDTH - RIGHT)
    values = [value for _, value in points]
    heights = round_ticks(*_padded(values, pad=abs(values[0]) * 0.05 if abs(values[0]) > 1e-9 else 1.0))
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
        x_ticks=[_time_tick(x(at), label) for at, label in time_ticks(x.low, x.high)],
        y_ticks=[Tick(y(value), label) for value, label in zip(heights, number_labels(heights), strict=True)],
    )


def _padded(values: list[float], *, pad: float) -> tuple[float, float]:
    """Lowest and highest value; where they are nearly one they get room on both sides, so that it lies in the middle."""
    low, high = min(values), max(values)
    is_wide = high - low > 1e-12 * max(1.0, abs(low), abs(high))  # else the scale would run out of digits
    return (low, high) if is_wide else (low - pad, high + pad)


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers, evenly spaced, the first at or below `low` and the last at or above `high`."""
    rough = (high - low) / (TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in STEPS if one * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def number_labels(ticks: Sequence[float]) -> list[str]:
    """Labels of evenly spaced numbers, with as many digits as tell each from its neighbours."""
    step, largest = ticks[1] - ticks[0], max(map(abs, ticks))
    exponent = math.floor(math.log10(step) + 1e-6)
    digits = step / 10.0**exponent
    decimals = max(0, (0 if math.isclose(digits, round(digits), rel_tol=1e-6) else 1) - exponent)  # 2.5 takes one more
    if decimals > MAX_DECIMALS or largest >= MAX_PLAIN:
        return [f"{value:.{math.ceil(math.log10(largest / step)) + 2}g}" for value in ticks]
    return [f"{round(value, decimals) + 0.0:.{decimals}f}" for value in ticks]  # + 0.0: no "-0"


def time_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round instants between two time stamps, each with its label, which no other has."""
    step = next((one for one in TIME_STEPS if high // one + low // -one < MAX_TIME_TICKS), TIME_STEPS[-1])
    form = "%Y-%m-%d" if step >= DAY_S else "%b %d, %H:%M" if step >= MINUTE_S else "%b %d, %H:%M:%S"
    instants = (number * step for number in range(-int(low // -step), int(high // step) + 1))
    return [(at, datetime.fromtimestamp(at, UTC).strftime(form)) for at in instants]


def _time_tick(position: float, label: str) -> Tick:
    """Near the right edge the label ends at its tick, so that it is not cut."""
    return Tick(position, label, "end" if position > WIDTH - LABEL_HALF else "middle")


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
