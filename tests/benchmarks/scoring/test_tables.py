"""Tables at full size: how reading, checking, joining and scoring compare with the table library's reading alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from scoring.tables.check import check, read_submission
from scoring.tables.files import read_table, write_table
from scoring.tables.program import score_table
from scoring.tables.reference import ChosenMetric, reference_for, write
from scoring.tables.schema import Column, TableSchema

ROWS = 10_000_000
MEMORY = """
import json, resource, sys
from pathlib import Path
from scoring.tables.program import score_table
root = Path(sys.argv[1])
scores = score_table(root / "ref", root / "res", root / "out")
print(json.dumps([scores, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("order", ["same", "shuffled"])
def test_scoring_ten_million_rows(tmp_path: Path, ending: str, order: str) -> None:
    rng = np.random.default_rng(1)
    solution = pl.DataFrame({"id": np.arange(ROWS), "price": rng.normal(size=ROWS)})
    known = reference_for(solution, [ChosenMetric("rmse"), ChosenMetric("mae")], id_column="id", targets=["price"])
    write(tmp_path / "ref", solution, known)
    (tmp_path / "res").mkdir()
    sent = solution.with_columns(price=pl.col("price") + 0.1)
    sent = sent if order == "same" else sent.sample(fraction=1.0, shuffle=True, seed=1)
    path = write_table(sent, tmp_path / "res" / f"predictions.{ending}")
    if ending == "csv":
        (tmp_path / "ref" / "solution.parquet").unlink()
        write_table(solution, tmp_path / "ref" / "solution.csv")
    files = [path, next((tmp_path / "ref").glob("solution.*"))]
    reading = seconds(lambda: [read_table(file) for file in files])
    total = seconds(lambda: score_table(tmp_path / "ref", tmp_path / "res", tmp_path / "out"))
    done = subprocess.run([sys.executable, "-c", MEMORY, str(tmp_path)], capture_output=True, text=True, check=True)
    peak = json.loads(done.stdout)[1] / (sent.estimated_size() + solution.estimated_size())
    times = f"reading {reading:.2f} s, all {total:.2f} s: {total / reading:.1f} times"
    print(f"\n{ending}, {order} order: {times}; peak {peak:.1f} times the columns")


def test_checking_a_million_rows(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(1_000_000)
    ids = pl.Series(range(1_000_000), dtype=pl.Int64)
    schema = TableSchema("id", (Column("price"),))
    for ending in ("csv", "parquet"):
        path = write_table(pl.DataFrame({"id": order, "price": order / 7}), tmp_path / f"p.{ending}")
        print(f"\n{ending}: checked in {seconds(lambda path=path: check(path, schema, ids)):.2f} s")  # type: ignore[misc]  # of this turn
        assert read_submission(path, schema, ids).height == len(ids)
