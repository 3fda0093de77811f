"""Files of a demo's simulated teams: equal by seed, of varied quality, improving."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from examples.pcqm4mv2_small.bundle import build_bundle
from examples.pcqm4mv2_small.generate import Sizes
from examples.pcqm4mv2_small.simulated_teams import SPLIT, WEEKS, simulated_files
from scoring import reference
from scoring.formats.submissions import read
from tests.scenario import NOON


def test_teams_differ_learn_and_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    sizes = Sizes(train=20, valid=5, test_dev=400, test_challenge=10)
    bundle = build_bundle(tmp_path / "bundle", now=NOON, sizes=sizes)
    first, second = (simulated_files(bundle, tmp_path / name, teams=12) for name in ("a", "b"))
    assert first == second
    assert {file.team for file in first} == {f"Simulated team {number}" for number in range(1, 13)}
    assert all(0 < file.days_ago < 7 * WEEKS for file in first)
    truth = reference.read(bundle / f"reference_data_{SPLIT}").labels(SPLIT)["y_true"]
    errors: dict[str, list[float]] = {}
    for file in first:
        predictions = read(tmp_path / "a" / file.path, "lsc-pcqm4mv2", SPLIT, rows=400)["y_pred"]
        errors.setdefault(file.team, []).append(float(np.mean(np.abs(predictions - truth))))
    best = [min(each) for each in errors.values()]
    assert max(best) > 2 * min(best)
    assert np.mean([each[1] / each[0] for each in errors.values() if len(each) == 2]) < 1
