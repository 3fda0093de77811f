"""Predicts with weights that were uploaded apart: `python3 predict.py SMILES_CSV PREDICTIONS_NPZ`."""

import os
import sys
from pathlib import Path

import numpy as np
from molecules import batches, read_smiles
from network import fingerprints, load


def main(smiles_csv: str, predictions: str) -> None:
    weights = load(next(Path(os.environ["PODIUM_WEIGHTS"]).glob("*.npz")))
    smiles, done, gaps = read_smiles(Path(smiles_csv)), 0, []
    for batch in batches(smiles, 512):
        gaps.append(fingerprints(batch, weights) @ weights["readout"])
        done += batch.count
        print(f"progress: {done}/{len(smiles)}", flush=True)
    np.savez_compressed(predictions, y_pred=np.concatenate(gaps).astype(np.float32))


if __name__ == "__main__":
    main(*sys.argv[1:])
