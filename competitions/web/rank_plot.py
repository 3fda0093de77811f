"""The shake-up as inline SVG: each team's rank before the reveal against its rank after it."""

from collections.abc import Sequence
from dataclasses import dataclass

from competitions.leaderboards.models import RankChange
from competitions.web.plots import Mark, Tick

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 22, 48
TICKS = 5


@dataclass(frozen=True)
class RankPlot:
    """Both axes run from rank 1 to `last`; a team on the diagonal kept its rank, one above it rose."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    dots: list[Mark]
    x_ticks: list[Tick]
    y_ticks: list[Tick]


def rank_plot(changes: Sequence[RankChange]) -> RankPlot | None:
    """Lay the teams out that had a rank before; None where none had."""
    shown = [(one.rank_before, one.rank_after, one.team.name) for one in changes if one.rank_before is not None]
    if not shown:
        return None
    last = max(max(before, after) for before, after, _ in shown)
    return RankPlot(
        width=WIDTH, height=HEIGHT, left=LEFT, right=WIDTH - RIGHT, top=TOP, bottom=HEIGHT - BOTTOM,
        dots=[Mark(_x(before, last), _y(after, last), f"{name}: {before} before, {after} after") for before, after, name in shown],
        x_ticks=[Tick(_x(rank, last), str(rank)) for rank in _ticks(last)],
        y_ticks=[Tick(_y(rank, last), str(rank)) for rank in _ticks(last)],
    )  # fmt: skip


def _ticks(last: int) -> list[int]:
    """Up to six ranks, the first and the last among them.

    >>> _ticks(101), _ticks(3)
    ([1, 26, 51, 76, 101], [1, 2, 3])
    """
    if last <= TICKS:
        return list(range(1, last + 1))
    return [round(1 + (last - 1) * step / (TICKS - 1)) for step in range(TICKS)]


def _share(rank: int, last: int) -> float:
    return (rank - 1) / (last - 1) if last > 1 else 0.5


def _x(rank: int, last: int) -> float:
    return round(LEFT + 10 + _share(rank, last) * (WIDTH - RIGHT - LEFT - 20), 1)


def _y(rank: int, last: int) -> float:
    """The best rank is on top."""
    return round(TOP + 10 + _share(rank, last) * (HEIGHT - BOTTOM - TOP - 20), 1)
