"""Prediction files of simulated teams, for a demo's board in the middle of a competition.

Each team's error shrinks from file to file, as people learn; how good a team is and when it sends is drawn from the seed.
The first team is surely the best, and the two after it are equally good: the board must tell the one and not the others.
"""

from pathlib import Path

import numpy as np

from examples.baselines import SimulatedFile
from scoring import reference
from scoring.formats.submissions import write

from .bundle import DATASET

SPLIT = "test-dev"
WEEKS = 4
WINNER_EV, TIED_EV = 0.09, 0.14
BEST_EV, WORST_EV = (
    0.19,
    0.6,
)  # mean absolute errors that teams begin with; the noise of the labels allows no less than 0.08
LEARNED = 0.93  # of its error is what a team keeps from one file to the next


def simulated_files(bundle: Path, dest: Path, *, teams: int, seed: int = 7) -> list[SimulatedFile]:
    """Write the files of so many teams, oldest first, below `dest`; always the same ones.

    `bundle` is a folder made by `build_bundle`.
    """
    truth = reference.read(bundle / f"reference_data_{SPLIT}").labels(SPLIT)["y_true"]
    chance = np.random.default_rng(seed)
    files = []
    for team in range(1, teams + 1):
        drawn = float(np.exp(chance.uniform(np.log(BEST_EV), np.log(WORST_EV))))
        error_ev = {1: WINNER_EV, 2: TIED_EV, 3: TIED_EV}.get(team, drawn)
        for number, days_ago in enumerate(
            sorted(chance.uniform(0.1, 7 * WEEKS - 1, chance.integers(1, 3)), reverse=True)
        ):
            share = 1.0 if error_ev == TIED_EV else LEARNED**number
            noise = chance.laplace(0, error_ev * share, len(truth))
            folder = dest / f"team-{team:02}-{number}"
            folder.mkdir(parents=True)
            path = write(folder, DATASET, SPLIT, {"y_pred": (truth + noise).astype(np.float32)}, rows=len(truth))
            files.append(
                SimulatedFile(f"Simulated team {team}", SPLIT, str(Path(path).relative_to(dest)), float(days_ago))
            )
    return sorted(files, key=lambda file: -file.days_ago)
