"""The baselines: a constant, and the linear model of the starting kit, run as a student would run it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

from examples.baselines import Baseline
from examples.classroom.bundle import SLUG
from examples.classroom.data import TARGET
from scoring.tables.table_reference import read

EXACT = 1e-3  # boards show three digits


def build_baselines(bundle: Path, dest: Path) -> list[Baseline]:
    """Write the baselines' files into `dest`, with their scores on the public part.

    `bundle` was made by `build_bundle`.
    """
    dest.mkdir(parents=True, exist_ok=True)
    public = bundle / "public_data"
    mean = float(np.mean(pl.read_csv(public / "train.csv")[TARGET].to_numpy()))
    pl.read_csv(public / "test.csv").select("id", pl.lit(mean).alias(TARGET)).write_csv(dest / "constant.csv")
    command = [sys.executable, str(bundle / "starting_kit" / "linear.py"), str(public), str(dest / "linear.csv")]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return [
        _baseline(bundle, dest, "constant", "Constant", "The mean of the training hours.", also_by=("team 1",)),
        _baseline(
            bundle, dest, "linear", "Linear model", "Least squares, as in the starting kit.", also_by=("team 2",)
        ),
    ]


def _baseline(
    bundle: Path, dest: Path, name: str, title: str, description: str, *, also_by: tuple[str, ...]
) -> Baseline:
    score = _public_rmse(bundle, dest / f"{name}.csv")
    return Baseline(
        competition=SLUG,
        name=f"classroom-{name}",
        title=title,
        description=description,
        phase="main",
        filename=f"{name}.csv",
        metric="rmse_public",
        score_range=(score - EXACT, score + EXACT),
        also_by=also_by,
    )


def _public_rmse(bundle: Path, predictions: Path) -> float:
    _, solution = read(bundle / "reference_data")
    joined = solution.filter(pl.col("Usage") == "Public").join(pl.read_csv(predictions), on="id", suffix="_predicted")
    error = joined[TARGET].to_numpy() - joined[f"{TARGET}_predicted"].to_numpy()
    return float(np.sqrt(np.mean(error**2)))
