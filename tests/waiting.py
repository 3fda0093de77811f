"""Waiting for what other processes come to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def wait_for(
    condition: Callable[[], Any], seconds: float = 120.0, what: str | Callable[[], str] = "", every_s: float = 0.25
) -> Any:
    """Poll until the condition gives something; fails with `what` after `seconds`.

    Most conditions ask a database, an engine or a whole log: asked more often, they take what the site needs itself.
    """
    until = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds:g} s: {(what() if callable(what) else what) or condition}")
        time.sleep(every_s)
    return value
