"""Differences of texts by lines: exact for what people write, bounded for what is made to take long."""

from __future__ import annotations

import random
from difflib import unified_diff

import pytest

from files.line_differences import LineMatcher, unified_lines


def test_a_difference_is_the_one_of_the_library() -> None:
    drawn = random.Random(7)
    for _ in range(50):
        old = [drawn.choice("abcdefgh") for _ in range(drawn.randrange(30))]
        new = [line for line in old if drawn.random() < 0.8] + ["z"] * drawn.randrange(3)
        expected = list(unified_diff(old, new, lineterm="", n=1))[2:]
        assert list(unified_lines(old, new, around=1)) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["a"] * 20_000 + ["b"], ["a", "a", "c"] * 6_000),
        ([str(number % 130) for number in range(6_000)], [str(number * 7 % 130) for number in range(6_000)]),
    ],
    ids=["one line repeated", "a hundred lines repeated"],
)
def test_lines_that_are_repeated_take_no_time(old: list[str], new: list[str]) -> None:
    """The library needs hours for the first; here the common ends are kept, and the rest is replaced."""
    old, new = ["head", *old, "tail"], ["head", *new, "tail"]
    codes = LineMatcher(old, new).get_opcodes()
    assert codes[0][0] == codes[-1][0] == "equal"
    rebuilt = [line for kind, _, _, start, stop in codes if kind != "delete" for line in new[start:stop]]
    assert rebuilt == new
