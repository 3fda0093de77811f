"""The formulas of the metrics: each has one that can be drawn, and says what is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy
from scipy.stats import norm

from files.markup.formulas import mathml
from scoring.metrics import METRICS
from scoring.metrics.formulas import FORMULAS
from tests.unit.scoring.metric_references import rows_for

# As the formulas read, term by term; what a formula calls by another letter is named so here.
READ: dict[str, Callable[[Any, Any], float]] = {
    "rmse": lambda y, p: np.sqrt(sum((y - p) ** 2) / len(y)),
    "mae": lambda y, p: sum(abs(y - p)) / len(y),
    "rmsle": lambda y, p: np.sqrt(sum((np.log(1 + y) - np.log(1 + p)) ** 2) / len(y)),
    "mape": lambda y, p: sum(abs((y - p) / y)) / len(y),
    "smape": lambda y, p: sum(2 * abs(y - p) / (abs(y) + abs(p))) / len(y),
    "wape": lambda y, p: sum(abs(y - p)) / sum(abs(y)),
    "huber_loss": lambda y, p: sum(e**2 / 2 if e <= 1 else abs(e) - 1 / 2 for e in abs(y - p)) / len(y),
    "log_cosh_loss": lambda y, p: sum(np.log(np.cosh(y - p))) / len(y),
    "r_squared": lambda y, p: 1 - sum((y - p) ** 2) / sum((y - y.mean()) ** 2),
    "concordance_correlation": lambda y, p: (
        2 * np.cov(y, p, ddof=0)[0, 1] / (y.var() + p.var() + (y.mean() - p.mean()) ** 2)
    ),
    "poisson_deviance": lambda y, p: 2 / len(y) * sum(xlogy(y, y / p) - y + p),
    "tweedie_deviance": lambda y, p: 2 / len(y) * sum(y**0.5 / (-0.5 * 0.5) - y * p**-0.5 / -0.5 + p**0.5 / 0.5),
    "interval_score": lambda y, p: (
        sum(p[:, 1] - p[:, 0] + 20 * np.maximum(p[:, 0] - y, 0) + 20 * np.maximum(y - p[:, 1], 0)) / len(y)
    ),
    "coverage_gap": lambda y, p: abs(sum((p[:, 0] <= y) & (y <= p[:, 1])) / len(y) - 0.9),
    "crps_normal": lambda y, p: (
        sum(
            s * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
            for s, z in zip(p[:, 1], (y - p[:, 0]) / p[:, 1], strict=True)
        )
        / len(y)
    ),
    "normal_log_loss": lambda y, p: (
        sum(np.log(2 * np.pi * p[:, 1] ** 2) / 2 + (y - p[:, 0]) ** 2 / (2 * p[:, 1] ** 2)) / len(y)
    ),
    "crps_ensemble": lambda y, p: (
        sum(
            sum(abs(x - t)) / len(x) - sum(abs(a - b) for a in x for b in x) / (2 * len(x) ** 2)
            for t, x in zip(y, p, strict=True)
        )
        / len(y)
    ),
    "class_brier_score": lambda y, p: (
        sum(sum((p[i, c] - (y[i] == c)) ** 2 for c in range(p.shape[1])) for i in range(len(y))) / len(y)
    ),
    "f_beta": lambda y, p: 2 * sum(y * p) / (2 * sum(y * p) + sum(y * (1 - p)) + sum((1 - y) * p)),
    "mcrmse": lambda y, p: sum(np.sqrt(sum((y - p) ** 2) / len(y))) / y.shape[1],
    "pinball_loss": lambda y, p: sum(np.maximum(0.5 * (y - p), -0.5 * (y - p))) / len(y),
}


def test_each_metric_has_a_formula_that_browsers_draw() -> None:
    assert list(FORMULAS) == list(METRICS)
    for name, latex in FORMULAS.items():
        drawn = mathml(latex, is_block=True)
        assert "<math" in drawn, name
        assert "\\" not in drawn, name


@pytest.mark.parametrize("name", sorted(READ))
def test_a_formula_says_what_is_computed(name: str) -> None:
    rows = rows_for(METRICS[name], seed=11)
    truth, prediction = (np.asarray(values, dtype=np.float64) for values in (rows.truth, rows.prediction))
    assert READ[name](truth, prediction) == pytest.approx(METRICS[name].score(rows), rel=1e-6)
