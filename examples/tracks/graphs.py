"""Generators of graph data: papers that cite each other, and triples of a knowledge graph.

Nothing is taken from the real datasets but their formats, and their numbers of test items where the true size is asked for.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from examples.tracks.track import Arrays, generator

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Papers:
    """The distribution of papers: a class has a centre in feature space, its papers lie around it."""

    classes: int = 153
    features: int = 32
    spread: float = 0.75  # of a paper around its class, where centres are about 1 apart in each direction

    def draw(self, count: int, seed: int, name: str) -> Arrays:
        """`x` of shape (count, features), float16; `y` of shape (count,), int64, from 0."""
        centres = generator(seed, "centres").normal(size=(self.classes, self.features))
        rng = generator(seed, "papers", name)
        labels = np.minimum(rng.geometric(0.03, size=count) - 1, self.classes - 1)  # few large classes, many small ones
        noise = rng.normal(scale=2 * self.spread, size=(count, self.features))
        return {"x": (centres[labels] + noise).astype(np.float16), "y": labels.astype(np.int64)}

    def cite(self, labels: Ints, seed: int) -> Ints:
        """Citations of shape (2, 5 per paper), from the first row to the second; most stay within the class."""
        rng = generator(seed, "citations")
        count = len(labels)
        source = np.repeat(np.arange(count), 5)
        order = np.argsort(labels, kind="stable")
        first, size = np.searchsorted(labels[order], labels[source]), np.bincount(labels)[labels[source]]
        alike = order[first + (rng.random(len(source)) * size).astype(np.int64)]
        target = np.where(rng.random(len(source)) < 0.7, alike, rng.integers(0, count, len(source)))
        return np.stack([source, target])


@dataclass(frozen=True)
class KnowledgeGraph:
    """The distribution of triples: each relation prefers some heads and tails, a few by far."""

    entities: int
    relations: int
    pool: int = 200  # entities on either side of a relation
    exponent: float = 1.6  # of the power law by which they are preferred

    def draw(self, count: int, seed: int, name: str) -> Ints:
        """Triples (head, relation, tail) of shape (count, 3)."""
        rng = generator(seed, "triples", name)
        relation = rng.integers(0, self.relations, count)
        heads, tails = (self._pools(seed, side)[relation, self._preferred(rng, count)] for side in ("heads", "tails"))
        return np.stack([heads, relation, tails], axis=1)

    def _pools(self, seed: int, side: str) -> Ints:
        return generator(seed, side).integers(0, self.entities, size=(self.relations, self.pool))

    def _preferred(self, rng: np.random.Generator, count: int) -> Ints:
        weights = 1 / np.arange(1, self.pool + 1) ** self.exponent
        return rng.choice(self.pool, size=count, p=weights / weights.sum())
