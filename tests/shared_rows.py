"""Rows that many tests begin with, made once for all the tests in a row that ask for them.

They lie in savepoints below the transaction of each test, which is rolled back to them. A test gets a copy of what was
made, so that it may change the objects, too. `tests/functional/conftest.py` has them made before a test's own transaction
begins; in other suites each test makes its own. Stored files are not rolled back: tests that remove them make their own site.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
import time_machine
from django.db import transaction

from tests.scenario import NOON

MAKERS: Final[dict[str, Callable[..., Any]]] = {}  # by the name of the fixture; each after those that it is made from


def shared(make: Callable[..., Any]) -> Any:
    """A fixture at noon whose rows are shared.

    `make` takes other shared fixtures, by name, and may change them.
    """
    name, signature = make.__name__, inspect.signature(make)
    assert name not in MAKERS, f"two shared fixtures are called {name}"
    MAKERS[name] = make

    def fixture(noon: None, **made_from: Any) -> Any:
        return SHARED.copies[name] if name in SHARED.copies else make(**made_from)

    noon = inspect.Parameter("noon", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    fixture.__signature__ = signature.replace(parameters=[noon, *signature.parameters.values()])  # type: ignore[attr-defined]
    fixture.__doc__ = make.__doc__
    return pytest.fixture(fixture, name=name)


def shared_names(fixture_names: Iterable[str]) -> list[str]:
    """Those of these fixtures that are shared, each after those that it is made from."""
    requested = set(fixture_names)
    # Another fixture of the same name in some file is made from others, or from none.
    return [name for name, make in MAKERS.items() if {name, *inspect.signature(make).parameters} <= requested]


@dataclass
class Layer:
    """The rows of a fixture, which its stack takes back, with the values of it and of the layers below."""

    name: str
    rows: ExitStack
    values: dict[str, Any]


class SharedRows:
    """The layers under the next test, the last on top, and the copies of their values that it gets."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        self.copies: dict[str, Any] = {}

    def prepare(self, fixture_names: Iterable[str]) -> None:
        """Have the rows of those of these fixtures that are shared, and no others."""
        names = shared_names(fixture_names)
        while [layer.name for layer in self.layers] != names[: len(self.layers)]:
            self.layers.pop().rows.close()
        for name in names[len(self.layers) :]:
            self._make(name)
        self.copies = copy.deepcopy(self._values())

    def _values(self) -> dict[str, Any]:
        return self.layers[-1].values if self.layers else {}

    def _make(self, name: str) -> None:
        values = copy.deepcopy(self._values())
        # Each test's clock begins at noon: the date of a row made after it would pass between two requests.
        with ExitStack() as rows, time_machine.travel(NOON, tick=False):
            rows.enter_context(_rolled_back())
            values[name] = MAKERS[name](**{of: values[of] for of in inspect.signature(MAKERS[name]).parameters})
            self.layers.append(Layer(name, rows.pop_all(), values))


@contextmanager
def _rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


SHARED: Final = SharedRows()
