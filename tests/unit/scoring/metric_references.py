"""References for each metric of tables, and generated rows with ties, weights and gaps."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pytest
from lifelines.utils import concordance_index
from numpy.typing import NDArray
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from scipy import special, stats
from sklearn import metrics as sk

from scoring.metrics import METRICS
from scoring.metrics.metric import Metric, Rows

COUNT: Final = 120
CLASSES: Final = 5
Random = np.random.Generator
Reference = Callable[..., float]


def rows_for(metric: Metric, *, seed: int, weighted: bool = False, perfect: bool = False) -> Rows:
    """Generated rows as the metric takes them; with `perfect` the predictions are right."""
    rng = np.random.default_rng(seed)
    truth = _truth(metric, rng)
    prediction = _right(metric, truth) if perfect else _prediction(metric, truth, rng)
    weight = rng.integers(0, 4, COUNT).astype(float) if weighted else None
    return Rows(truth, prediction, weight, rng.integers(0, 9, COUNT) * 2, CLASSES)


def _truth(metric: Metric, rng: Random) -> NDArray[Any]:
    special_truths: dict[str, Callable[[Random], Any]] = {
        "ranking and retrieval": _relevance if metric.needs_group else partial(_words, 0, 6),
        "segmentation": _masks,
        "detection": lambda rng: _boxes(rng, with_confidence=False),
        "text": _sentences,
        "survival": lambda rng: np.column_stack([rng.integers(1, 15, COUNT), rng.integers(0, 2, COUNT)]).astype(float),
        "spatial": lambda rng: np.column_stack([rng.uniform(-90, 90, COUNT), rng.uniform(-180, 180, COUNT)]),
        "time series": lambda rng: np.round(
            rng.gamma(2, 3, (COUNT, 2) if len(metric.target.roles) == 2 else COUNT) + 0.5, 1
        ),
        "counts": lambda rng: rng.poisson(3, COUNT) + (1.0 if metric.name == "gamma_deviance" else 0.0),
    }
    if metric.group in special_truths:
        return np.asarray(special_truths[metric.group](rng))
    if metric.target.kind == "binary":
        return rng.integers(0, 2, (COUNT, 4) if metric.target.several else COUNT)
    if metric.target.kind == "class":
        return rng.integers(0, CLASSES - 1, COUNT)  # one class is absent
    return np.round(rng.gamma(2, 3, (COUNT, 3) if metric.target.several else COUNT) + 0.5, 1)


def _relevance(rng: Random) -> NDArray[Any]:
    return rng.integers(0, 3, COUNT).astype(float)


def _prediction(metric: Metric, truth: NDArray[Any], rng: Random) -> NDArray[Any]:
    kind, layout = metric.prediction.kind, metric.prediction.layout
    if kind == "probability":
        shape = (COUNT, CLASSES) if layout == "per class" else truth.shape
        values = np.round(rng.random(shape), 2) * 0.98 + 0.01
        return np.asarray(values / values.sum(axis=1, keepdims=True) if layout == "per class" else values)
    if kind == "text":
        texts: dict[str, Callable[[], Any]] = {
            "segmentation": lambda: _masks(rng),
            "detection": lambda: _boxes(rng, with_confidence=True),
            "text": lambda: _sentences(rng),
            "clustering": lambda: _array([str(value) for value in rng.integers(0, 6, COUNT)]),
        }
        write: Callable[[], Any] = texts.get(metric.group, lambda: _words(0, 12, rng))
        return np.asarray(write())
    if kind in ("binary", "class"):
        wrong = rng.integers(0, 2 if kind == "binary" else CLASSES - 2, truth.shape)
        return np.where(rng.random(truth.shape) < 0.6, truth, wrong)
    return _numbers(metric, truth, rng)


def _numbers(metric: Metric, truth: NDArray[Any], rng: Random) -> NDArray[Any]:
    first = truth if metric.target.several or metric.group == "spatial" else truth[:, 0] if truth.ndim == 2 else truth
    near = np.round(np.abs(first + rng.normal(0, 2, first.shape)) + 0.1, 1)  # rounded, so that there are ties
    if metric.group == "spatial":
        return np.asarray(near % 80)
    layouts: dict[str, Callable[[], Any]] = {
        "per level": lambda: np.column_stack([near - 1, near, near + 1]),
        "per member": lambda: np.round(near[:, np.newaxis] + rng.normal(0, 1, (COUNT, 10)), 1),
    }
    roles: dict[tuple[str, ...], Callable[[], Any]] = {
        ("lower", "upper"): lambda: np.column_stack([near - 1, near + 2]),
        ("mean", "sd"): lambda: np.column_stack([near, near + 0.5]),
    }
    return np.asarray(roles.get(metric.prediction.roles, layouts.get(metric.prediction.layout, lambda: near))())


def _right(metric: Metric, truth: NDArray[Any]) -> NDArray[Any]:
    if metric.prediction.layout == "per class":
        return np.asarray(np.eye(CLASSES)[truth])
    if metric.group == "detection":
        return _array([_with_confidence(cell) for cell in truth])
    first = truth[:, 0] if metric.name in ("mase", "rmsse") else truth
    width = {"per level": 3, "per member": 10}.get(
        metric.prediction.layout, 2 if metric.prediction.roles == ("lower", "upper") else 1
    )
    if metric.group == "clustering":
        return _array([f"cluster {value}" for value in first])
    if metric.prediction.kind == "positive":
        return np.asarray(np.maximum(first, 1e-30))  # means are above 0
    first = first if first.dtype == object or metric.prediction.kind in ("class", "binary") else first.astype(float)
    return first if width == 1 else np.repeat(first[:, np.newaxis], width, axis=1)


def _with_confidence(cell: str) -> str:
    words = cell.split()
    return " ".join(" ".join([words[place], "0.9", *words[place + 1 : place + 5]]) for place in range(0, len(words), 5))


def _array(values: list[str]) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _words(low: int, high: int, rng: Random) -> NDArray[Any]:
    return _array([" ".join(rng.choice(list("abcdefghij"), rng.integers(low, high))) or "z" for _ in range(COUNT)])


def _sentences(rng: Random) -> NDArray[Any]:
    words = np.array(["the", "A", "cat", "sat,", "on", "mat.", "dog", "ran"])
    return _array([" ".join(rng.choice(words, rng.integers(0, 12))) or "cat" for _ in range(COUNT)])


def _masks(rng: Random) -> NDArray[Any]:
    codes = []
    for _ in range(COUNT):
        edges = np.sort(rng.choice(400, 2 * rng.integers(0, 4), replace=False)) + 1
        codes.append(" ".join(f"{start} {end - start}" for start, end in edges.reshape(-1, 2)))
    return _array(codes)


def _boxes(rng: Random, *, with_confidence: bool) -> NDArray[Any]:
    places = np.array([[10, 10, 20, 20], [50, 40, 30, 10], [12, 60, 9, 9]])
    cells = []
    for _ in range(COUNT):
        boxes = [
            (rng.choice(["cat", "dog"]), places[rng.integers(3)] + rng.integers(0, 4, 4))
            for _ in range(rng.integers(0, 4))
        ]
        certain = [[f"{rng.random():.9f}"] if with_confidence else [] for _ in boxes]
        pairs = zip(certain, boxes, strict=True)
        cells.append(" ".join(" ".join([name, *confidence, *map(str, box)]) for confidence, (name, box) in pairs))
    return _array(cells)


def _mask_pixels(code: str) -> NDArray[np.bool_]:
    pixels = np.zeros(500, dtype=bool)
    numbers = list(map(int, code.split()))
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        pixels[start - 1 : start - 1 + length] = True
    return pixels


def _mean_of_pixels(rows: Rows, measure: Any) -> float:
    scores = [
        measure(_mask_pixels(t), _mask_pixels(p), zero_division=1.0)
        for t, p in zip(rows.truth, rows.prediction, strict=True)
    ]
    return float(np.average(scores, weights=rows.weight))


def _pooled_pixels(rows: Rows) -> float:
    truth, prediction = (
        np.concatenate([_mask_pixels(code) for code in codes]) for codes in (rows.truth, rows.prediction)
    )
    weight = None if rows.weight is None else np.repeat(rows.weight, 500)
    return float(sk.f1_score(truth, prediction, sample_weight=weight))


def _coco(rows: Rows, place: int) -> float:
    """pycocotools' own evaluation, on the documents that it reads."""
    names = {"cat": 1, "dog": 2}
    true: dict[str, Any] = {
        "info": {},
        "images": [{"id": index} for index in range(len(rows.truth))],
        "annotations": [],
        "categories": [{"id": value, "name": name} for name, value in names.items()],
    }
    detections = []
    for image, (truth, prediction) in enumerate(zip(rows.truth, rows.prediction, strict=True)):
        for name, *box in _cells(truth, 5):
            size = {"area": float(box[2]) * float(box[3]), "iscrowd": 0, "id": len(true["annotations"]) + 1}
            true["annotations"].append(
                {
                    "image_id": image,
                    "category_id": names[name],
                    "bbox": [float(coordinate) for coordinate in box],
                    **size,
                }
            )
        for name, score, *box in _cells(prediction, 6):
            detections.append(
                {
                    "image_id": image,
                    "category_id": names[name],
                    "bbox": [float(coordinate) for coordinate in box],
                    "score": float(score),
                }
            )
    with contextlib.redirect_stdout(io.StringIO()):
        known = COCO()
        known.dataset = true
        known.createIndex()
        evaluation = COCOeval(known, known.loadRes(detections), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return float(evaluation.stats[place])


def _cells(cell: str, width: int) -> list[list[str]]:
    words = cell.split()
    return [words[place : place + width] for place in range(0, len(words), width)]


def _over_lists(measure: Callable[[list[str], set[str], list[str], int], float]) -> Reference:
    """A measure of (distinct predictions up to k, true items, all predictions, k), as a mean over rows."""

    def score(rows: Rows, k: int) -> float:
        scores = []
        for truth, prediction in zip(rows.truth, rows.prediction, strict=True):
            ranked = list(dict.fromkeys(prediction.split()))
            scores.append(measure(ranked[:k], set(truth.split()), ranked, k))
        return float(np.average(scores, weights=rows.weight))

    return score


def _list_ap(top: list[str], true: set[str], ranked: list[str], k: int) -> float:
    return sum(len(set(top[: place + 1]) & true) / (place + 1) for place, item in enumerate(top) if item in true) / min(
        len(true), k
    )


def _list_ndcg(top: list[str], true: set[str], ranked: list[str], k: int) -> float:
    """scikit-learn's, over all items there are, the unlisted ones behind."""
    items = [*ranked, *sorted(true - set(ranked)), "x", "y"]
    relevance = [[1.0 if item in true else 0.0 for item in items]]
    scores = [[float(len(ranked) - place) if place < len(ranked) else -1.0 - place for place in range(len(items))]]
    gain = sk.dcg_score(relevance, scores, k=len(top)) if top else 0.0
    return float(gain / sk.dcg_score(relevance, relevance, k=k))


def _by_group(measure: Callable[[Rows], float | None]) -> Reference:
    def score(rows: Rows, **_: Any) -> float:
        assert rows.group is not None
        scores = [measure(rows.take(rows.group == group)) for group in np.unique(rows.group)]
        return float(np.mean([score for score in scores if score is not None]))

    return score


def _group_ap(part: Rows) -> float | None:
    relevant = part.truth > 0
    return float(sk.average_precision_score(relevant, part.prediction)) if 0 < relevant.sum() < len(relevant) else None


def _group_rr(part: Rows) -> float | None:
    order = sorted(range(len(part.truth)), key=lambda row: (-part.prediction[row], part.truth[row] > 0))
    places = [place for place, row in enumerate(order, start=1) if part.truth[row] > 0]
    return 1 / places[0] if places else None


def _group_ndcg(part: Rows) -> float | None:
    return float(sk.ndcg_score([part.truth], [part.prediction], k=10)) if part.truth.any() else None


def _rmsse(rows: Rows) -> float:
    assert rows.group is not None
    parts = [rows.take(rows.group == group) for group in np.unique(rows.group)]
    roots = [np.sqrt(np.mean((part.truth[:, 0] - part.prediction) ** 2 / part.truth[:, 1])) for part in parts]
    weights = None if rows.weight is None else [part.weight.mean() for part in parts if part.weight is not None]
    return float(np.average(roots, weights=weights))


def _per_column(measure: Any) -> Reference:
    return lambda rows, **_: float(
        np.mean(
            [measure(t, p, sample_weight=rows.weight) for t, p in zip(rows.truth.T, rows.prediction.T, strict=True)]
        )
    )


def _sk(name: str, **options: Any) -> Reference:
    """The function of scikit-learn with the metric's parameters."""
    return lambda rows, **given: float(
        getattr(sk, name)(rows.truth, rows.prediction, sample_weight=rows.weight, **(options | given))
    )


def _mean(formula: Callable[..., Any]) -> Reference:
    return lambda rows, **given: float(np.average(formula(rows.truth, rows.prediction, **given), weights=rows.weight))


def _edits(first: list[str], second: list[str]) -> int:
    table = [[i + j if i * j == 0 else 0 for j in range(len(second) + 1)] for i in range(len(first) + 1)]
    for i, item in enumerate(first, start=1):
        for j, other in enumerate(second, start=1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (item != other))
    return table[-1][-1]


def _rate(split: Callable[[str], list[str]]) -> Reference:
    def score(rows: Rows) -> float:
        pairs = [(split(t), split(p)) for t, p in zip(rows.truth, rows.prediction, strict=True)]
        lengths = np.average([len(t) for t, _ in pairs], weights=rows.weight)
        return float(np.average([_edits(t, p) for t, p in pairs], weights=rows.weight) / lengths)

    return score


def _answers(text: str) -> list[str]:
    letters = "".join(letter for letter in text.lower() if letter.isalnum() or letter == " ")
    return [word for word in letters.split() if word not in ("a", "an", "the")]


def _squad_f1(truth: str, prediction: str) -> float:
    true, predicted = _answers(truth), _answers(prediction)
    if not true or not predicted:
        return float(true == predicted)
    return _harmonic(sum(min(true.count(word), predicted.count(word)) for word in set(true)), len(predicted), len(true))


def _harmonic(both: float, predicted: int, true: int) -> float:
    """F1 from precision and recall."""
    precision, recall = both / predicted, both / true
    return 2 * precision * recall / (precision + recall) if both else 0.0


def _rouge(truth: str, prediction: str) -> float:
    true, predicted = (text.lower().replace(",", "").replace(".", "").split() for text in (truth, prediction))
    table = np.zeros((len(true) + 1, len(predicted) + 1))
    for i, word in enumerate(true, start=1):
        for j, other in enumerate(predicted, start=1):
            table[i, j] = table[i - 1, j - 1] + 1 if word == other else max(table[i - 1, j], table[i, j - 1])
    return _harmonic(float(table[-1, -1]), len(predicted), len(true))


def _pairwise(measure: Callable[[str, str], float]) -> Reference:
    return lambda rows: float(
        np.average([measure(t, p) for t, p in zip(rows.truth, rows.prediction, strict=True)], weights=rows.weight)
    )


def _sacrebleu(name: str) -> Reference:
    import sacrebleu

    return lambda rows: float(getattr(sacrebleu, f"corpus_{name}")(list(rows.prediction), [list(rows.truth)]).score)


def _crps(truth: Any, members: Any) -> float:
    return float(np.mean(np.abs(members - truth)) - np.mean(np.abs(np.subtract.outer(members, members))) / 2)


def _crps_of_normal(truth: float, mean: float, deviation: float) -> float:
    """The integral of the squared distance of the two distribution functions, in closed pieces by scipy."""
    from scipy.integrate import quad
    from scipy.special import ndtr  # what `scipy.stats` makes of its arguments takes twenty times as long

    below = quad(lambda value: ndtr(value) ** 2, -40, (truth - mean) / deviation, epsabs=1e-12, limit=200)[0]
    above = quad(lambda value: ndtr(-value) ** 2, (truth - mean) / deviation, 40, epsabs=1e-12, limit=200)[0]
    return float(deviation * (below + above))


def _haversine(truth: Any, prediction: Any) -> Any:
    pairs = zip(np.radians(truth), np.radians(prediction), strict=True)
    return [sk.pairwise.haversine_distances([point], [other])[0, 0] * 6371.0088 for point, other in pairs]


def _lin(rows: Rows) -> float:
    cov = np.cov(rows.truth, rows.prediction, aweights=rows.weight, ddof=0)
    means = [np.average(values, weights=rows.weight) for values in (rows.truth, rows.prediction)]
    return float(2 * cov[0, 1] / (cov[0, 0] + cov[1, 1] + (means[0] - means[1]) ** 2))


def _coverage(rows: Rows, alpha: float) -> float:
    inside = (rows.truth >= rows.prediction[:, 0]) & (rows.truth <= rows.prediction[:, 1])
    return abs(float(np.average(inside, weights=rows.weight)) - (1 - alpha))


def _winkler(y: float, low: float, high: float, alpha: float) -> float:
    return high - low + (2 / alpha * (low - y) if y < low else 2 / alpha * (y - high) if y > high else 0.0)


def _one_versus_rest(rows: Rows) -> float:
    there = np.unique(rows.truth)
    return float(
        np.mean(
            [
                sk.roc_auc_score(rows.truth == label, rows.prediction[:, label], sample_weight=rows.weight)
                for label in there
            ]
        )
    )


def _kolmogorov(rows: Rows) -> float:
    """scipy's, with rows repeated by their weights."""
    times = np.ones(len(rows.truth), dtype=int) if rows.weight is None else rows.weight.astype(int)
    truth, score = np.repeat(rows.truth, times), np.repeat(rows.prediction, times)
    return float(stats.ks_2samp(score[truth == 1], score[truth == 0]).statistic)


LABELS: Final = np.arange(CLASSES)

REFERENCES: Final[dict[str, Reference]] = {
    "roc_auc": _sk("roc_auc_score"),
    "gini": lambda rows: 2 * _sk("roc_auc_score")(rows) - 1,
    "partial_roc_auc": _sk("roc_auc_score"),
    "average_precision": _sk("average_precision_score"),
    "log_loss": _sk("log_loss"),
    "brier_score": _sk("brier_score_loss"),
    "ks_statistic": _kolmogorov,
    "f_beta": _sk("fbeta_score"),
    "precision": _sk("precision_score"),
    "recall": _sk("recall_score"),
    "specificity": _sk("recall_score", pos_label=0),
    "accuracy": _sk("accuracy_score"),
    "balanced_accuracy": _sk("balanced_accuracy_score"),
    "macro_f1": _sk("f1_score", average="macro"),
    "weighted_f1": _sk("f1_score", average="weighted"),
    "macro_precision": _sk("precision_score", average="macro", zero_division=0.0),
    "cohen_kappa": lambda rows, weights: float(
        sk.cohen_kappa_score(
            rows.truth, rows.prediction, weights=None if weights == "none" else weights, sample_weight=rows.weight
        )
    ),
    "quadratic_weighted_kappa": lambda rows: float(
        sk.cohen_kappa_score(rows.truth, rows.prediction, weights="quadratic", sample_weight=rows.weight)
    ),
    "matthews_correlation": _sk("matthews_corrcoef"),
    "class_log_loss": _sk("log_loss", labels=LABELS),
    "class_brier_score": _sk("brier_score_loss", labels=LABELS, scale_by_half=False),
    "macro_roc_auc": _one_versus_rest,
    "top_k_accuracy": lambda rows, k: float(
        sk.top_k_accuracy_score(rows.truth, rows.prediction, k=k, labels=LABELS, sample_weight=rows.weight)
    ),
    "mean_roc_auc": _sk("roc_auc_score", average="macro"),
    "mean_average_precision": _sk("average_precision_score", average="macro"),
    "mean_log_loss": _per_column(sk.log_loss),
    "hamming_loss": _sk("hamming_loss"),
    "subset_accuracy": _sk("accuracy_score"),
    "sample_f1": _sk("f1_score", average="samples", zero_division=0.0),
    "jaccard": _sk("jaccard_score", average="samples", zero_division=0.0),
    "label_macro_f1": _sk("f1_score", average="macro"),
    "label_micro_f1": _sk("f1_score", average="micro"),
    "ranking_average_precision": _sk("label_ranking_average_precision_score"),
    "rmse": _sk("root_mean_squared_error"),
    "mae": _sk("mean_absolute_error"),
    "mse": _sk("mean_squared_error"),
    "rmsle": _sk("root_mean_squared_log_error"),
    "median_absolute_error": _sk("median_absolute_error"),
    "max_error": lambda rows: float(sk.max_error(rows.truth, rows.prediction)),
    "mape": _sk("mean_absolute_percentage_error"),
    "rmspe": lambda rows: float(np.sqrt(np.average((rows.prediction / rows.truth - 1) ** 2, weights=rows.weight))),
    "smape": _mean(lambda y, p: 2 * abs(y - p) / (abs(y) + abs(p))),
    "wape": lambda rows: float(
        np.average(abs(rows.truth - rows.prediction), weights=rows.weight)
        / np.average(abs(rows.truth), weights=rows.weight)
    ),
    "huber_loss": _mean(lambda y, p, delta: special.huber(delta, y - p)),
    "log_cosh_loss": _mean(lambda y, p: np.log(np.cosh(y - p))),
    "r_squared": _sk("r2_score"),
    "explained_variance": _sk("explained_variance_score"),
    "pearson": lambda rows: float(
        np.corrcoef(
            np.repeat([rows.truth, rows.prediction], 1 if rows.weight is None else rows.weight.astype(int), axis=1)
        )[0, 1]
    ),
    "spearman": lambda rows: float(stats.spearmanr(rows.truth, rows.prediction).statistic),
    "kendall": lambda rows: float(stats.kendalltau(rows.truth, rows.prediction).statistic),
    "concordance_correlation": _lin,
    "mcrmse": _sk("root_mean_squared_error"),
    "mean_column_mae": _sk("mean_absolute_error"),
    "poisson_deviance": _sk("mean_poisson_deviance"),
    "gamma_deviance": _sk("mean_gamma_deviance"),
    "tweedie_deviance": _sk("mean_tweedie_deviance"),
    "haversine_km": _mean(_haversine),
    "pinball_loss": lambda rows, level: float(
        sk.mean_pinball_loss(rows.truth, rows.prediction, alpha=level, sample_weight=rows.weight)
    ),
    "mean_pinball_loss": lambda rows, levels: float(
        np.mean(
            [
                sk.mean_pinball_loss(rows.truth, column, alpha=level, sample_weight=rows.weight)
                for level, column in zip(levels, rows.prediction.T, strict=True)
            ]
        )
    ),
    "d2_pinball": lambda rows, level: float(sk.d2_pinball_score(rows.truth, rows.prediction, alpha=level)),
    "interval_score": (
        _mean(lambda y, p, alpha: [_winkler(value, low, high, alpha) for value, (low, high) in zip(y, p, strict=True)])
    ),
    "coverage_gap": _coverage,
    "crps_ensemble": _mean(lambda y, p, members: [_crps(*row) for row in zip(y, p, strict=True)]),
    "crps_normal": _mean(lambda y, p: [_crps_of_normal(*row) for row in np.column_stack([y, p])]),
    "normal_log_loss": _mean(lambda y, p: -stats.norm.logpdf(y, p[:, 0], p[:, 1])),
    "map_at_k": _over_lists(_list_ap),
    "ndcg_at_k": _over_lists(_list_ndcg),
    "mrr_at_k": (
        _over_lists(
            lambda top, true, _, k: max([1 / (top.index(item) + 1) for item in true if item in top], default=0.0)
        )
    ),
    "recall_at_k": _over_lists(lambda top, true, _, k: len(true & set(top)) / len(true)),
    "precision_at_k": _over_lists(lambda top, true, _, k: len(true & set(top)) / k),
    "hit_rate_at_k": _over_lists(lambda top, true, _, k: float(bool(true & set(top)))),
    "group_ndcg": _by_group(_group_ndcg),
    "group_map": _by_group(_group_ap),
    "group_mrr": _by_group(_group_rr),
    "mase": lambda rows: float(
        np.average(abs(rows.truth[:, 0] - rows.prediction) / rows.truth[:, 1], weights=rows.weight)
    ),
    "rmsse": _rmsse,
    "dice": lambda rows: _mean_of_pixels(rows, sk.f1_score),
    "mask_iou": lambda rows: _mean_of_pixels(rows, sk.jaccard_score),
    "pooled_dice": _pooled_pixels,
    "coco_map": lambda rows: _coco(rows, 0),
    "coco_ap50": lambda rows: _coco(rows, 1),
    "exact_match": _pairwise(lambda t, p: float(_answers(t) == _answers(p))),
    "token_f1": _pairwise(_squad_f1),
    "rouge_l": _pairwise(_rouge),
    "bleu": _sacrebleu("bleu"),
    "chrf": _sacrebleu("chrf"),
    "word_error_rate": _rate(str.split),
    "character_error_rate": _rate(list),
    "concordance_index": lambda rows: float(concordance_index(rows.truth[:, 0], rows.prediction, rows.truth[:, 1])),
    "risk_concordance": lambda rows: float(concordance_index(rows.truth[:, 0], -rows.prediction, rows.truth[:, 1])),
    "adjusted_rand": lambda rows: float(sk.adjusted_rand_score(rows.truth, rows.prediction)),
    "normalized_mutual_information": lambda rows: float(sk.normalized_mutual_info_score(rows.truth, rows.prediction)),
    "adjusted_mutual_information": lambda rows: float(sk.adjusted_mutual_info_score(rows.truth, rows.prediction)),
    "fowlkes_mallows": lambda rows: float(sk.fowlkes_mallows_score(rows.truth, rows.prediction)),
    "homogeneity": lambda rows: float(sk.homogeneity_score(rows.truth, rows.prediction)),
    "completeness": lambda rows: float(sk.completeness_score(rows.truth, rows.prediction)),
}
"""The field's own implementation of each metric, or its formula written a second time."""

EVERY = pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
