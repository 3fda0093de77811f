"""Builds the baseline submissions of a bundle folder, and states what each must come to."""

import csv
import gzip
import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import numpy.typing as npt

from examples.baselines import Baseline
from examples.writing import zipped
from scoring import reference
from scoring.formats.submissions import official_filename

from .bundle import DATASET, SLUG, TEST_SPLITS

HERE = Path(__file__).resolve().parent
# The ridge comes to 0.342 eV on the small sizes; other versions of its libraries may differ in the last digits.
RIDGE_MAE_EV = (0.30, 0.38)
EXACT_EV = 1e-4


def build_baselines(bundle: Path, dest: Path) -> list[Baseline]:
    """Write the files of all baselines and `expected.json` into the folder `dest`.

    `bundle` is a folder made by `build_bundle`; the constant's exact score is computed from its reference data. Raises
    `FileNotFoundError` where that has no public data.
    """
    dest.mkdir(parents=True, exist_ok=True)
    train = bundle / "public_data" / "train.csv.gz"
    median = float(np.median(_gaps(train)))
    baselines = [_constant(bundle, dest, split, median) for split in TEST_SPLITS]
    baselines += [_ridge(dest, train), _overrun(dest)]
    (dest / "expected.json").write_text(json.dumps([asdict(baseline) for baseline in baselines], indent=2) + "\n")
    return baselines


def _constant(bundle: Path, dest: Path, split: str, value_ev: float) -> Baseline:
    """The official prediction file with one value for every molecule."""
    truth = _truth(bundle, split)
    filename = official_filename(DATASET, split)
    predictions = np.full(len(truth), value_ev, dtype=np.float32)
    (dest / filename).write_bytes(_npz(predictions))
    mae = float(np.mean(np.abs(truth - predictions)))
    return Baseline(
        competition=SLUG,
        name=f"constant-{split}",
        title="Constant",
        description="The median gap of the training molecules for every molecule.",
        phase=split,
        filename=filename,
        metric="mae",
        score_range=(mae - EXACT_EV, mae + EXACT_EV),
        also_by=("team 1",) if split == "test-dev" else (),
    )


def _ridge(dest: Path, train: Path) -> Baseline:
    program = (HERE / "baselines" / "morgan_ridge" / "predict.py").read_bytes()
    filename = "morgan_ridge.zip"
    (dest / filename).write_bytes(zipped({"predict.py": program, "train.csv.gz": train.read_bytes()}))
    return Baseline(
        competition=SLUG,
        name="morgan-ridge",
        title="Morgan fingerprint, ridge",
        description="Ridge regression on counts of circular substructures, trained in the container.",
        kind="code",
        phase="test-dev",
        filename=filename,
        metric="mae",
        score_range=RIDGE_MAE_EV,
        also_by=("team 2",),
    )


def _overrun(dest: Path) -> Baseline:
    filename = "overrun.zip"
    (dest / filename).write_bytes(zipped({"predict.py": (HERE / "baselines" / "overrun" / "predict.py").read_bytes()}))
    return Baseline(
        competition=SLUG,
        name="overrun",
        title="Gaps from a server",
        description="Asks a server again and again until its time is over: runs have no network.",
        kind="code",
        phase="test-dev",
        filename=filename,
        outcome="failed",
        reason="time_limit",
        metric="mae",
        score_range=None,
    )


def _gaps(path: Path) -> list[float]:
    with gzip.open(path, "rt", newline="") as file:
        return [float(row["homolumogap"]) for row in csv.DictReader(file)]


def _truth(bundle: Path, split: str) -> npt.NDArray[np.float64]:
    truth: npt.NDArray[np.float64] = reference.read(bundle / f"reference_data_{split}").labels(split)["y_true"]
    return truth


def _npz(predictions: npt.NDArray[np.float32]) -> bytes:
    packed = io.BytesIO()
    np.savez_compressed(packed, y_pred=predictions)
    return packed.getvalue()
