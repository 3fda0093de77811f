"""A graph network in numpy: fixed random matrices along bonds, and a readout by ridge regression."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from molecules import BONDS, FEATURES, Batch, Floats

WIDTH = 96
LAYERS = 4


def random_messages(seed: int) -> dict[str, Floats]:
    """The matrices that messages are made by: one for each kind of bond, and one for the atom itself."""
    random = np.random.default_rng(seed)
    shapes = {"embed": (FEATURES, WIDTH), "bond": (BONDS, WIDTH, WIDTH), "self": (WIDTH, WIDTH)}
    return {
        name: (random.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32) for name, shape in shapes.items()
    }


def fingerprints(batch: Batch, weights: Mapping[str, Floats]) -> Floats:
    """One row for each molecule: mean and sum of its atoms' states after each layer."""
    state = np.tanh(batch.atoms @ weights["embed"])
    columns = []
    for _ in range(LAYERS):
        received = np.zeros_like(state)
        for kind in range(BONDS):
            of_kind = batch.kind == kind
            np.add.at(received, batch.target[of_kind], state[batch.source[of_kind]] @ weights["bond"][kind])
        state = np.tanh(state @ weights["self"] + received)
        sums = np.zeros((batch.count, WIDTH), dtype=np.float32)
        np.add.at(sums, batch.owner, state)
        sizes = np.bincount(batch.owner, minlength=batch.count)[:, None].astype(np.float32)
        columns += [sums / sizes, sums]
    return np.hstack([*columns, np.ones((batch.count, 1), dtype=np.float32)])


def load(path: Path) -> dict[str, Floats]:
    """Weights as `train.py` saved them."""
    with np.load(path) as file:
        return {name: file[name] for name in file.files}
