"""Scores as functions of their rows: the same as the scoring program's, for arrays and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from scoring import program, reference
from scoring.errors import ScoringInputError
from scoring.formats import submissions
from scoring.reference import OWN_METRIC
from scoring.row_scores import sampled_score
from scoring.tables.table_reference import ChosenMetric, reference_for, write

SOLUTION = pl.DataFrame(
    {"id": [3, 1, 2, 4], "price": [1.0, 2.0, 4.0, 8.0], "w": [1.0, 1.0, 2.0, 4.0], "g": ["a", "a", "b", "b"]}
)
OWN = b"def score(solution, submission, row_id_column_name):\n    return 0.5\n"


def table(folder: Path, metric: ChosenMetric, **given: Any) -> tuple[Path, Path]:
    """Reference and upload of four rows, each prediction 3."""
    known = reference_for(SOLUTION, [metric], id_column="id", targets=["price"], **given)
    ref, res = folder / "ref", folder / "res"
    write(ref, SOLUTION, known, metric_file=OWN if metric.is_own else None)
    res.mkdir()
    (res / "p.csv").write_text("id,price\n" + "".join(f"{row},3\n" for row in range(1, 5)))
    return ref, res


def test_a_tables_rows_stand_in_the_order_of_their_ids(tmp_path: Path) -> None:
    score = sampled_score(*table(tmp_path, ChosenMetric("mae")), "mae")
    assert score.losses is not None
    assert (score.score, score.rows, score.losses.tolist()) == (2.25, 4, [1.0, 1.0, 2.0, 5.0])
    assert score.of_rows(np.array([0, 0, 3])) == pytest.approx(7 / 3)
    assert score.moved(np.array([3, 2, 1, 0])).of_rows(np.array([0])) == 5.0


@pytest.mark.parametrize(("metric", "given"), [("rmse", {}), ("mae", {"weight": "w"})], ids=["a root", "weighted"])
def test_what_is_no_plain_mean_has_no_losses_and_is_what_the_program_writes(
    tmp_path: Path, metric: str, given: dict[str, Any]
) -> None:
    ref, res = table(tmp_path, ChosenMetric(metric), **given)
    score = sampled_score(ref, res, metric)
    assert not score.is_mean
    assert program.score(ref, res, tmp_path) == {metric: pytest.approx(score.score)}
    assert score.of_rows(np.arange(4)) == pytest.approx(score.score)


@pytest.mark.parametrize(
    ("metric", "given"),
    [
        (ChosenMetric("mae", per_group=True), {"group": "g"}),
        (ChosenMetric(OWN_METRIC), {}),
    ],
    ids=["over groups", "one's own"],
)
def test_a_score_over_groups_or_of_ones_own_metric_is_no_function_of_rows(
    tmp_path: Path, metric: ChosenMetric, given: dict[str, Any]
) -> None:
    with pytest.raises(ScoringInputError, match="a metric over single rows"):
        sampled_score(*table(tmp_path, metric, **given), metric.key)


def test_a_key_that_is_not_written_and_several_splits_are_refused(tmp_path: Path) -> None:
    labels = {"y_true": [1, 2]}
    ref = reference.write(tmp_path / "ref", "lsc-mag240m", {"test-dev": labels}).parent
    (tmp_path / "res").mkdir()
    res = submissions.write(tmp_path / "res", "lsc-mag240m", "test-dev", {"y_pred": [1, 3]}, rows=2).parent
    with pytest.raises(ScoringInputError, match="there is no score 'mae'"):
        sampled_score(ref, res, "mae")
    both = reference.write(tmp_path / "both", "lsc-mag240m", {"test-dev": labels, "test-challenge": labels}).parent
    with pytest.raises(ScoringInputError, match="several splits"):
        sampled_score(both, res, "acc")
