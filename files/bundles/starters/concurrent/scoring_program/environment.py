"""The environment: shows the agent whether it guessed too high or too low, and counts."""

import json
import sys
import time
from pathlib import Path

PATIENCE_S = 60
GUESSES = 10


def main(hidden: Path, shared: Path, output: Path) -> None:
    """Play one round for each target; the reward is the share of targets that was found."""
    targets = [int(line) for line in (hidden / "targets.txt").read_text().split()]
    step = hits = 0
    for target in targets:
        hint = "new"
        for _ in range(GUESSES):
            guess = ask(shared, step, hint)
            step += 1
            if guess == target:
                hits += 1
                break
            hint = "higher" if guess < target else "lower"
    (shared / "over").write_text("")
    (output / "scores.json").write_text(json.dumps({"reward": hits / len(targets)}))


def ask(shared: Path, step: int, hint: str) -> int:
    """Show an observation and wait for the action."""
    fresh = shared / f"observation-{step}.new"
    fresh.write_text(hint)
    fresh.rename(shared / f"observation-{step}")  # whole or not there
    answer, deadline = shared / f"action-{step}", time.monotonic() + PATIENCE_S
    while not answer.exists():
        if time.monotonic() > deadline:
            sys.exit(f"the agent gave no action in step {step} within {PATIENCE_S} s")
        time.sleep(0.02)
    return int(answer.read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
