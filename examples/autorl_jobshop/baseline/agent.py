"""Shortest operation first."""

from typing import Any


class Agent:
    """Chooses the waiting job with the shortest operation; among equals, the one that waits longest."""

    def act(self, observation: dict[str, Any]) -> int:
        """The number of the job that is next."""
        chosen = min(observation["waiting"], key=lambda job: (job["operation"], job["arrived"]))
        return int(chosen["job"])
