"""The public and the private part of a solution, as it was chosen."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from competitions.organize.tables.writing import divide

SOLUTION = pl.DataFrame(
    {
        "id": range(90),
        "price": [row % 9 for row in range(90)],
        "area": [row // 10 for row in range(90)],
        "split": ["public", "private", "Ignored"] * 30,
    }
)


def parts(**split: Any) -> pl.DataFrame:
    plan: Any = {"percent": 30, "seed": 1, "by": "", "column": "split"} | split
    return divide(SOLUTION, plan, ["price"])


def test_by_the_column_that_is_there() -> None:
    assert parts(how="column")["Usage"].to_list()[:3] == ["Public", "Private", "Ignored"]


def test_without_a_private_part() -> None:
    assert "Usage" not in parts(how="none").columns


@pytest.mark.parametrize("how", ["random", "stratified", "grouped"])
def test_by_a_share_that_the_seed_repeats(how: str) -> None:
    first = parts(how=how, by="area")
    assert first.equals(parts(how=how, by="area"))
    assert 20 <= first["Usage"].to_list().count("Public") <= 34


def test_groups_stay_together_and_strata_are_mixed() -> None:
    grouped = parts(how="grouped", by="area").group_by("area").agg(pl.col("Usage").n_unique())
    assert set(grouped["Usage"]) == {1}
    mixed = parts(how="stratified").group_by("price").agg((pl.col("Usage") == "Public").sum())
    assert set(mixed["Usage"]) == {3}
