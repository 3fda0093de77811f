"""Gives a test's calls one piece of memory for their frames.

CPython since 3.11 has the frames of a thread's calls in pieces of 16 KiB: a call that goes past the end of its piece maps
another, and gives it back as it returns (`push_chunk` in Python/pystate.c). A loop that calls from the end of a piece pays for that
with every turn: the walks over all pages mapped memory half a million times, a fifth of what they computed. A piece is as large as
the first frame in it asks for.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

WORDS = 64 * 1024  # of 8 bytes: room for some thousands of calls


def with_room(test: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called from a frame that asks for the room of all below it."""

    def call(*args: Any, **named: Any) -> Any:
        return test(*args, **named)

    call.__code__ = call.__code__.replace(co_stacksize=WORDS)
    return wraps(test)(call)
