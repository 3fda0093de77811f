"""Labels and predictions of a chosen quality for every dataset, at true size or smaller.

Everything is drawn from a seeded generator: the same arguments give the same arrays. Nothing here resembles the real
data but its shapes, types and ranges.
"""

import math
from statistics import NormalDist
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scoring.benchmarks.datasets import DATASETS, RANKED_EDGES
from scoring.benchmarks.topk import CANDIDATES, K
from scoring.errors import ScoringInputError
from scoring.evaluation import describe

Arrays: TypeAlias = dict[str, Any]

_ENTITIES: Final = {"lsc-wikikg90mv2": 91_230_610, "obl2021": 180_992, "lsc-wikikg90m": CANDIDATES}
_NEGATIVES: Final = {"ogbl-ppa": 3_000_000, "ogbl-collab": 100_000, "ogbl-ddi": 95_599, "ogbl-vessel": 534_590}
_RELATIONS_OBL: Final = 28
_UNLABELLED: Final = 0.4  # of the places of a dataset with many tasks, about as in ogbg-molpcba
_POSITIVE: Final = 0.3
_WORDS: Final = [
    "get",
    "set",
    "is",
    "name",
    "value",
    "list",
    "file",
    "path",
    "from",
    "to",
    "run",
    "load",
    "save",
    "index",
]


def make(
    dataset: str, split: str = "test", *, rows: int | None = None, quality: float = 0.7, seed: int = 0
) -> tuple[Arrays, Arrays]:
    """Reference arrays and prediction arrays for `scoring.evaluate`, the second ones of the given quality.

    Parameters
    ----------
    dataset, split : str
        As in `describe`; the split gives the number of rows.
    rows : int, optional
        Another number of rows (test items; for OpenBioLink triples; for pooled edges positives, with negatives in
        proportion).
    quality : float from 0 to 1
        The score to expect: the accuracy, the share of queries that are answered within the ten or within rank 10 or
        above the k-th negative, the ROC-AUC (from 0.5). For errors: noise of mean size ``1 - quality``. 1 is perfect.
    seed : int

    Raises `ScoringInputError` (``unknown_name``, ``unknown_split``, ``bad_parameter``).

    >>> from scoring import evaluate
    >>> truth, prediction = make("lsc-mag240m", "test-dev", quality=0.7)
    >>> round(evaluate("lsc-mag240m", truth | prediction)["acc"], 2)
    0.7
    """
    if not 0 <= quality <= 1:
        raise ScoringInputError("bad_parameter", "quality", f"it is {quality}", "give a number from 0 to 1")
    known = describe(dataset)
    if split not in known["splits"] or dataset not in DATASETS:
        raise ScoringInputError(
            "unknown_split", "split", f"{dataset} has no {split!r}", f"use one of {', '.join(known['splits'])}"
        )
    count = known["splits"][split] if rows is None else rows
    if count is None or count < 1:
        raise ScoringInputError("bad_parameter", "rows", f"it is {rows}", "give a whole number from 1")
    return _Maker(dataset, count, quality, np.random.default_rng(seed)).make()


class _Maker:
    """One dataset, one size, one quality, one stream of random numbers."""

    def __init__(self, dataset: str, rows: int, quality: float, rng: np.random.Generator) -> None:
        self.dataset, self.rows, self.quality, self.rng = dataset, rows, quality, rng
        self.known = DATASETS[dataset]

    def make(self) -> tuple[Arrays, Arrays]:
        """The maker for the dataset's kind of task."""
        kinds = {
            "acc": self.classes,
            "rocauc": self.binary,
            "ap": self.binary,
            "rmse": self.numbers,
            "mae": self.numbers,
            "mrr": self.ranked,
            "h10": self.openbiolink,
            "F1": self.words,
        }
        if self.dataset in _NEGATIVES:
            return {}, self.pooled()
        if self.dataset in ("lsc-wikikg90mv2", "lsc-wikikg90m"):
            return self.top10()
        return kinds[self.known["primary"]]()

    def shape(self) -> tuple[int, ...]:
        """(rows,) or (rows, tasks), as the evaluator wants it."""
        return self.rows, *(size for size in self.known["inputs"][0]["shape"][1:] if isinstance(size, int))

    def classes(self) -> tuple[Arrays, Arrays]:
        classes = self.known["classes"]
        assert classes is not None
        truth = self.rng.integers(0, classes, self.shape())
        wrong = (truth + self.rng.integers(1, classes, self.shape())) % classes
        chosen = np.where(self.rng.random(self.shape()) < self.quality, truth, wrong)
        dtype = np.int16 if self.known["family"] == "lsc" else np.int64
        return {"y_true": truth}, {"y_pred": chosen.astype(dtype)}

    def numbers(self) -> tuple[Arrays, Arrays]:
        truth = self.rng.gamma(20.0, 0.28, self.shape())  # mean 5.6 and spread 1.3: the gaps of PCQM4Mv2 in eV
        noise = self.rng.laplace(0.0, 1 - self.quality, self.shape())  # of mean size 1 - quality
        return {"y_true": truth}, {"y_pred": (truth + noise).astype(np.float32)}

    def binary(self) -> tuple[Arrays, Arrays]:
        labels = (self.rng.random(self.shape()) < _POSITIVE).astype(np.float32)
        if labels.shape[0] > 1:
            labels[0], labels[1] = 1.0, 0.0  # every task can be scored
        score = self.rng.standard_normal(self.shape(), np.float32) + np.float32(self._separation()) * labels
        if labels.shape[1] > 1:
            labels[2:][self.rng.random(labels[2:].shape) < _UNLABELLED] = np.nan
        return {"y_true": labels}, {"y_pred": score}

    def _separation(self) -> float:
        """Distance of two unit normals whose ROC-AUC is `quality`."""
        return math.sqrt(2) * NormalDist().inv_cdf(min(max(self.quality, 0.5), 1 - 1e-9))

    def pooled(self) -> Arrays:
        official = self.known["splits"]["test"]
        assert official is not None
        negatives = self.rng.standard_normal(max(200, _NEGATIVES[self.dataset] * self.rows // official), np.float32)
        if self.known["primary"] == "rocauc":
            positives = self.rng.standard_normal(self.rows, np.float32) + np.float32(self._separation())
        else:
            above = self.rng.random(self.rows, np.float32) < self.quality
            positives = np.where(above, negatives.max() + 1, negatives.min()).astype(np.float32)
        return {"y_pred_pos": positives, "y_pred_neg": negatives}

    def ranked(self) -> tuple[Arrays, Arrays]:
        candidates = RANKED_EDGES[self.dataset][1]
        negatives = self.rng.standard_normal((self.rows, candidates), np.float32)
        is_top = self.rng.random(self.rows, np.float32) < self.quality
        top = NormalDist().inv_cdf(1 - 5 / candidates)  # about rank 6
        positives = np.where(is_top, top + self.rng.random(self.rows) * 2, 0.0).astype(np.float32)
        return {}, {"y_pred_pos": positives, "y_pred_neg": negatives}

    def _ten_ids(self, truth: NDArray[np.int64], entities: int) -> NDArray[np.int64]:
        """Ten different ids per row, with the truth at a random place in a share `quality` of the rows."""
        stride = max(1, entities // (K + 2))
        steps = 1 + np.arange(K) * stride + self.rng.integers(0, stride, (truth.shape[0], 1))
        # The steps stay below `entities`: none is the truth, none twice.
        ids = (truth[:, np.newaxis] + steps) % entities
        hit = self.rng.random(truth.shape[0]) < self.quality
        place = self.rng.integers(0, K, truth.shape)
        ids[hit, place[hit]] = truth[hit]
        return ids

    def top10(self) -> tuple[Arrays, Arrays]:
        entities = _ENTITIES[self.dataset]
        truth = self.rng.integers(0, entities, (self.rows,))
        name = self.known["inputs"][1]["name"]
        dtype = np.int32 if self.dataset == "lsc-wikikg90mv2" else np.int16
        return {name: truth}, {"t_pred_top10": self._ten_ids(truth, entities).astype(dtype)}

    def openbiolink(self) -> tuple[Arrays, Arrays]:
        entities = _ENTITIES[self.dataset]
        heads = self.rng.integers(0, entities, (self.rows,))
        tails = self.rng.integers(0, entities, (self.rows,))
        relations = self.rng.integers(0, _RELATIONS_OBL, (self.rows,))
        predictions = {"h_pred_top10": self._ten_ids(heads, entities), "t_pred_top10": self._ten_ids(tails, entities)}
        return (
            {"triples": np.column_stack([heads, relations, tails])},
            {name: ids.astype(np.int32) for name, ids in predictions.items()},
        )

    def words(self) -> tuple[Arrays, Arrays]:
        lengths = self.rng.integers(1, 5, (self.rows,))
        truth = [self.rng.choice(_WORDS, length, replace=False).tolist() for length in lengths]
        right = self.rng.random(self.rows) < self.quality
        return {"seq_ref": truth}, {"seq_pred": [w if ok else ["other"] for w, ok in zip(truth, right, strict=True)]}
