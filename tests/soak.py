"""Variants of what `make test` proves once: `make soak` runs them all."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

SOAKS = bool(os.environ.get("PODIUM_SOAK"))
in_soak = pytest.mark.skipif(not SOAKS, reason="`make soak` runs this variant")


def examples(many: int) -> int:
    """The examples of a hypothesis test: a quarter of them in `make test`."""
    return many if SOAKS else many // 4


def mostly_in_soak(names: Iterable[str], *, always: Collection[str]) -> list[Any]:
    """Parameters of a test by name; `make test` runs those of `always`."""
    names = list(names)
    assert set(always) <= set(names), "a variant was renamed"
    return [name if name in always else pytest.param(name, marks=in_soak) for name in names]
