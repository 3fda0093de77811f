"""Refusals that a function can end with: those of its own, and of the functions that it calls."""

import inspect
import types
from collections.abc import Iterator
from typing import Any, Final

from core.refusals import Refusal, RefusalKind

OURS: Final = ("competitions.", "accounts.", "core.", "files.")
DEPTH: Final = 5  # calls from a view down to the rule; further down are what any request may meet


def refusal_codes(function: types.FunctionType) -> set[str]:
    """Codes of all that the function can be refused with."""
    codes: set[str] = set()
    seen: set[Any] = set()
    level: list[Any] = [inspect.unwrap(function)]
    for _ in range(DEPTH):
        below = []
        for current in level:
            for thing in _named(current):
                if isinstance(thing, RefusalKind):
                    codes.add(thing.code)
                elif inspect.isclass(thing) and issubclass(thing, Refusal):
                    codes |= {thing.code} if "code" in vars(thing) else set()
                elif isinstance(thing, types.FunctionType) and thing.__module__.startswith(OURS) and thing not in seen:
                    seen.add(thing)
                    below.append(thing)
        level = below
    return codes


def _named(function: types.FunctionType) -> Iterator[Any]:
    """Globals that the function's code names, and attributes of modules among them."""
    names = set(_names(function.__code__))
    for name in names:
        thing = function.__globals__.get(name)
        if isinstance(thing, types.ModuleType) and thing.__name__.startswith(OURS):
            yield from (_plain(vars(thing)[inner]) for inner in names & set(vars(thing)))
        elif thing is not None:
            yield _plain(thing)


def _plain(thing: Any) -> Any:
    return inspect.unwrap(thing) if callable(thing) and not inspect.isclass(thing) else thing


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)
