"""A progress bar writes one line thousands of times: the log keeps its end, and shows it live."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from competitions.runs.records.logs import readable
from workers.engines.docker.client import DockerEngine
from workers.sandbox.logs import Overwrites, StageLog

WORDS = st.sampled_from(["\r", "\r", "\r", "a", "bc", "\n", "\r\n", "x" * 5000])
LOGS = st.lists(WORDS, max_size=300).map("".join)


def filtered(text: str, cuts: int) -> str:
    overwrites, raw = Overwrites(), text.encode()
    pieces = [raw[start : start + cuts] for start in range(0, len(raw), cuts)]
    return (b"".join(map(overwrites.pass_on, pieces)) + overwrites.rest()).decode()


@given(LOGS, st.integers(1, 50))
def test_what_a_terminal_would_show_stays_the_same(text: str, cuts: int) -> None:
    assert readable(filtered(text, cuts)) == readable(text)


@given(LOGS, st.integers(1, 50))
def test_it_does_not_matter_where_the_engine_cuts_its_pieces(text: str, cuts: int) -> None:
    assert filtered(text, cuts) == filtered(text, 1 << 20)


def test_a_long_progress_bar_takes_little_room_and_still_moves() -> None:
    text = "".join(f"\r{number:6d} of 100000" for number in range(100_000))
    log = filtered(text, 1000)
    assert len(log) < len(text) // 200
    assert log.endswith(" 99999 of 100000")
    shown = [int(part.split()[0]) for part in log.split("\r") if part]
    assert all(later <= earlier * 1.06 + 2 for earlier, later in pairwise(shown))


class FloodingEngine:
    """An engine whose container has written a flood of rewrites and then its last line."""

    def __init__(self, rewrites: int) -> None:
        self._pieces = [b"start\n", *[b"\r" + b"=" * 1000] * rewrites, b"\nthe last line\n"]

    def collect(self, container: str, *, follow: bool, tail: int | None = None) -> Iterator[bytes]:
        yield from self._pieces[-tail:] if tail else self._pieces


def overwritten_log(rewrites: int) -> StageLog:
    log = StageLog(cast("DockerEngine", FloodingEngine(rewrites)), "c" * 12, limit_bytes=512 << 10)
    log.start()
    log.finish()
    return log


def test_a_flood_of_carriage_returns_does_not_cut_off_the_live_logs_end() -> None:
    log = overwritten_log(rewrites=20_000)
    live = log.take_live(1 << 20)
    assert live.startswith("start\n")
    assert live.endswith("\nthe last line\n")


def test_a_flood_without_end_is_not_followed_for_ever() -> None:
    log = overwritten_log(rewrites=80_000)
    assert b"longer than its limit" in log.content()
    assert log.content().endswith(b"\nthe last line\n")
