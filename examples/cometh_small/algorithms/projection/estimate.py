"""Least squares under the condition that no proportion is negative, by projected gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import run  # type: ignore[import-not-found]  # it is copied beside this file

ROUNDS = 500


def estimate(mixtures: Any, profiles: Any) -> Any:
    """Descend on the squared error; after each step negative values become zero."""
    step = 1 / np.linalg.norm(profiles, 2) ** 2
    found = np.full((profiles.shape[1], mixtures.shape[1]), 1 / profiles.shape[1])
    for _ in range(ROUNDS):
        found = np.clip(found - step * profiles.T @ (profiles @ found - mixtures), 0, None)
    return found


if __name__ == "__main__":
    run(estimate)
