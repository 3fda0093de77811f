"""Tables at full size: time of reading, checking, joining and scoring over that of reading alone."""

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

from scoring.tables.check import check_table, read_submission
from scoring.tables.reading.files import write_table
from scoring.tables.schema import Column, TableSchema
from scoring.tables.table_reference import ChosenMetric, reference_for, write

ROWS = 10_000_000
TIMES_READING = TIMES_COLUMNS = 3.0
BEST_OF = 3
IN_A_FRESH_INTERPRETER = """
import json, sys, time
from pathlib import Path
import polars as pl
from scoring.tables.scores import score_table
def score(root):
    score_table(root / "ref", root / "res", root / "out")
def read(root):
    readers = {".csv": pl.read_csv, ".parquet": pl.read_parquet}
    return [readers[path.suffix](path) for path in (*root.glob("ref/solution.*"), *root.glob("res/*"))]
started = time.perf_counter()
kept = {"read": read, "score": score}[sys.argv[1]](Path(sys.argv[2]))
spent = time.perf_counter() - started
status = Path("/proc/self/status").read_text()
print(json.dumps([spent, int(status.partition("VmHWM:")[2].split()[0]) * 1024]))
"""


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measured(what: str, root: Path) -> tuple[float, int]:
    """The shortest time in seconds and the smallest peak in bytes of a few runs.

    Each is a new program and asks for the peak of its own memory alone: what getrusage tells of a child begins with its parent's.
    """
    command = [sys.executable, "-c", IN_A_FRESH_INTERPRETER, what, str(root)]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(BEST_OF)
    ]
    return min(spent for spent, _ in runs), min(peak for _, peak in runs)


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
    write_table(sent, tmp_path / "res" / f"predictions.{ending}")
    if ending == "csv":
        (tmp_path / "ref" / "solution.parquet").unlink()
        write_table(solution, tmp_path / "ref" / "solution.csv")
    reading, _ = measured("read", tmp_path)
    total, peak = measured("score", tmp_path)
    columns = sent.estimated_size() + solution.estimated_size()
    times = f"reading {reading:.2f} s, all {total:.2f} s: {total / reading:.1f} times"
    print(f"\n{ending}, {order} order: {times}; peak {peak / columns:.1f} times the columns")
    assert total <= TIMES_READING * reading
    assert peak <= TIMES_COLUMNS * columns


def test_checking_a_million_rows(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(1_000_000)
    ids = pl.Series(range(1_000_000), dtype=pl.Int64)
    schema = TableSchema("id", (Column("price"),))
    for ending in ("csv", "parquet"):
        path = write_table(pl.DataFrame({"id": order, "price": order / 7}), tmp_path / f"p.{ending}")
        print(f"\n{ending}: checked in {seconds(lambda path=path: check_table(path, schema, ids)):.2f} s")  # type: ignore[misc]  # of this turn
        assert read_submission(path, schema, ids).height == len(ids)
