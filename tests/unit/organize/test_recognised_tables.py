"""Notes about a table that somebody uploaded: always values that a database stores."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from competitions.organize.tables.answers import recognise_table
from core.background.bounded import MAX_ANSWER_BYTES
from scoring.tables.reading.files import write_table

FAR_APART = [-1.7e308, 1.7e308]


@pytest.mark.parametrize(
    "values",
    [
        [float("inf"), float("nan"), *range(20)],
        [float("nan")] * 20,
        [*FAR_APART, *range(20)],
        range(10**17, 10**17 + 20),
    ],
    ids=["infinity", "nothing but NaN", "far apart", "large and close together"],
)
def test_any_numbers_can_be_described(tmp_path: Path, values: list[float]) -> None:
    table = pl.DataFrame({"id": range(len(values)), "x": pl.Series(values, strict=False)})
    preview = recognise_table(str(write_table(table, tmp_path / "x.parquet")), "x.parquet")["preview"]
    assert preview["rows"] == len(values)
    json.dumps(preview, allow_nan=False)


def test_texts_are_written_down_without_what_a_database_refuses(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"id,note\n1,a\0b\n2,c\n")
    preview = recognise_table(str(tmp_path / "x.csv"), "x.csv")["preview"]
    assert "\\u0000" not in json.dumps(preview)
    assert preview["columns"][1]["classes"] == ["a b", "c"]


def test_a_wide_table_of_long_texts_is_described_within_what_a_child_may_answer(tmp_path: Path) -> None:
    texts = {f"text{place}": [f"{row} " + "語" * 1000 for row in range(30)] for place in range(60)}
    numbers = {f"measurement_{place}": [row / 7 for row in range(30)] for place in range(2000)}
    path = write_table(pl.DataFrame({"id": range(30), **texts, **numbers}), tmp_path / "x.parquet")
    preview = recognise_table(str(path), "x.parquet")["preview"]
    assert len(preview["columns"]) == 2061
    assert len(json.dumps(preview)) < MAX_ANSWER_BYTES


def test_a_table_of_five_thousand_numbers_a_row_is_described(tmp_path: Path) -> None:
    columns = {f"measurement_{place}": [row / 7 - place for row in range(30)] for place in range(5000)}
    path = write_table(pl.DataFrame({"id": range(30), **columns}), tmp_path / "x.parquet")
    assert len(json.dumps(recognise_table(str(path), "x.parquet"))) < MAX_ANSWER_BYTES
