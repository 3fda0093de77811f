"""Scoring program of the browser tests; runs in the runtime image with `/app/input` and `/app/output`."""

import json
from pathlib import Path

import numpy as np

truth = np.load(next(Path("/app/input/ref").glob("*.npz")))["y_true"]
given = np.load(next(Path("/app/input/res").rglob("*.npz")))["y_pred"]
error = np.abs(truth - given)
scores = {"mae": float(error.mean()), "rmse": float(np.sqrt((error**2).mean())), "hits": float((error < 0.1).mean())}
Path("/app/output/scores.json").write_text(json.dumps(scores))
