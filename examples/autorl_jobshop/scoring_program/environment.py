"""The environment: simulates the shop, asks the agent at every decision, and writes the scores."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shop import Shop  # type: ignore[import-not-found]  # it lies beside this file

POLL_S = 0.002
PATIENCE_S = 60.0


class Agent:
    """The agent in the other container, behind the shared folder."""

    def __init__(self, shared: Path) -> None:
        self.shared, self.step = shared, 0

    def __call__(self, observation: dict[str, Any]) -> int:
        """Show an observation, wait for the action. Ends the run with a sentence when none comes."""
        fresh = self.shared / f"observation-{self.step}.new"
        fresh.write_text(json.dumps(observation))
        fresh.rename(self.shared / f"observation-{self.step}.json")  # whole or not there
        answer, deadline = self.shared / f"action-{self.step}.json", time.monotonic() + PATIENCE_S
        while not answer.exists():
            if time.monotonic() > deadline:
                sys.exit(f"the agent gave no action for decision {self.step} within {PATIENCE_S:g} s")
            time.sleep(POLL_S)
        self.step += 1
        return int(json.loads(answer.read_text()))


def evaluate(instances: list[dict[str, Any]], agent: Callable[[dict[str, Any]], int]) -> dict[str, float]:
    """Play all instances; means over them."""
    played = [Shop(instance).play(agent) for instance in instances]
    return {
        "flow_time": sum(outcome["flow_time"] for outcome in played) / len(played),
        "makespan": sum(outcome["makespan"] for outcome in played) / len(played),
    }


def main(hidden: Path, shared: Path, output: Path) -> None:
    """Play with the agent in the other container; write `scores.json`."""
    instances = json.loads((hidden / "instances.json").read_text())
    scores = evaluate(instances, Agent(shared))
    (shared / "over").write_text("")
    (output / "scores.json").write_text(json.dumps(scores))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
