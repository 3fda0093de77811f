"""The agent's side: observations come by the shared folder, the agent's actions go there."""

import json
import sys
import time
from pathlib import Path

POLL_S = 0.002


def main(submission: Path, shared: Path) -> None:
    """Answer until the environment says that it is over."""
    sys.path.insert(0, str(submission))
    from agent import Agent  # type: ignore[import-not-found]  # it comes with the submission

    agent, step = Agent(), 0
    while not (shared / "over").exists():
        observation = shared / f"observation-{step}.json"
        if not observation.exists():
            time.sleep(POLL_S)
            continue
        action = agent.act(json.loads(observation.read_text()))
        fresh = shared / f"action-{step}.new"
        fresh.write_text(json.dumps(int(action)))
        fresh.rename(shared / f"action-{step}.json")  # whole or not there
        step += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
