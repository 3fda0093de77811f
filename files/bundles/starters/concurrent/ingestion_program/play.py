"""The agent's side: gets observations in the shared folder, calls the participant's `act`, answers."""

import sys
import time
from pathlib import Path


def main(submission: Path, shared: Path) -> None:
    """Answer observation after observation, until the environment says that it is over."""
    sys.path.insert(0, str(submission))
    from agent import act  # type: ignore[import-not-found]  # it comes with the submission

    step = 0
    while not (shared / "over").exists():
        observed = shared / f"observation-{step}"
        if not observed.exists():
            time.sleep(0.02)
            continue
        answer = shared / f"action-{step}.new"
        answer.write_text(str(act(observed.read_text())))
        answer.rename(shared / f"action-{step}")  # whole or not there
        step += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
