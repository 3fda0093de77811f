"""A graph network in PyTorch, trained in the container: `python3 predict.py SMILES_CSV OUTPUT_NPZ`."""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from molecules import BONDS, FEATURES, Batch, batches, make_batch, read_labelled, read_smiles
from torch import Tensor, nn

WIDTH = 64
LAYERS = 3
TRAINING_S = 8.0  # of the budget; the rest is for reading and predicting
BATCH = 128


class Network(nn.Module):
    """Messages along bonds, a matrix for each kind; a molecule is its atoms' mean and sum."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(FEATURES, WIDTH)
        self.bonds = nn.ModuleList([nn.Linear(WIDTH, WIDTH * BONDS, bias=False) for _ in range(LAYERS)])
        self.own = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
        self.readout = nn.Sequential(nn.Linear(2 * WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, 1))

    def forward(self, batch: Batch) -> Tensor:
        source, target = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
        kind, owner = torch.from_numpy(batch.kind), torch.from_numpy(batch.owner)
        state = torch.nn.functional.silu(self.embed(torch.from_numpy(batch.atoms)))
        for bonds, own in zip(self.bonds, self.own, strict=True):
            messages = bonds(state).view(-1, BONDS, WIDTH)[source, kind]
            received = torch.zeros_like(state).index_add_(0, target, messages)
            state = state + torch.nn.functional.silu(own(state) + received)
        sums = torch.zeros(batch.count, WIDTH).index_add_(0, owner, state)
        sizes = torch.bincount(owner, minlength=batch.count).unsqueeze(1)
        gaps: Tensor = self.readout(torch.cat([sums / sizes, sums / 10], dim=1)).squeeze(1)
        return gaps


def trained(smiles: list[str], gaps: Any) -> tuple[Network, float]:
    """A network trained for `TRAINING_S` seconds, and the mean gap to add to its predictions."""
    torch.manual_seed(7)
    torch.set_num_threads(1)  # graphs as small as these gain nothing by more
    mean, random = float(gaps.mean()), np.random.default_rng(7)
    shuffled = random.permutation(len(smiles))
    packed = [shuffled[begin : begin + BATCH] for begin in range(0, len(shuffled), BATCH)]
    ready = [(make_batch([smiles[i] for i in part]), torch.from_numpy(gaps[part] - mean)) for part in packed]
    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    until, steps, last = time.monotonic() + TRAINING_S, 0, mean
    while time.monotonic() < until:
        batch, differences = ready[random.integers(len(ready))]
        loss = (network(batch) - differences).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps, last = steps + 1, loss.item()
    print(f"{steps} steps, last loss {last:.3f} eV", flush=True)
    return network, mean


def main(smiles_csv: str, predictions: str) -> None:
    network, mean = trained(*read_labelled(Path(__file__).with_name("train.csv.gz")))
    with torch.no_grad():
        gaps = [network(batch).numpy() + mean for batch in batches(read_smiles(Path(smiles_csv)), 512)]
    np.savez_compressed(predictions, y_pred=np.concatenate(gaps).astype(np.float32))


if __name__ == "__main__":
    main(*sys.argv[1:])
