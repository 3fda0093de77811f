"""Least squares under the condition that no proportion is negative, by projected gradients."""

from typing import Any

import numpy as np
from common import run  # type: ignore[import-not-found]  # it is copied beside this file

ROUNDS = 500


def estimate(mixtures: Any, profiles: Any) -> Any:
    """Descend on the squared error; after each step negative values become zero."""
    step = 1 / np.linalg.norm(profiles, 2) ** 2
    proportions = np.full((profiles.shape[1], mixtures.shape[1]), 1 / profiles.shape[1])
    for _ in range(ROUNDS):
        proportions = np.clip(proportions - step * profiles.T @ (profiles @ proportions - mixtures), 0, None)
    return proportions


if __name__ == "__main__":
    run(estimate)
