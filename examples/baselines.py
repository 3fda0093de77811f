"""Baseline submissions with their expected results: examples make them, demo and tests send them."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """One submission and its expected end.

    `score_range` is the closed range of a finished run's `metric`, None for a failed one; `also_by` names the demo's teams
    that send the same, so that a board shows more than baselines; `facts` are the answers of its fact sheet.
    """

    competition: str
    name: str
    title: str
    description: str
    kind: Literal["prediction", "code"] = "prediction"
    phase: str
    filename: str
    outcome: Literal["finished", "failed"] = "finished"
    reason: str | None = None
    metric: str
    score_range: tuple[float, float] | None
    also_by: tuple[str, ...] = ()
    facts: dict[str, str | bool] = field(default_factory=dict)


@dataclass(frozen=True)
class SimulatedFile:
    """A prediction file of a simulated team: its `path` below their folder, and its age."""

    team: str
    phase: str
    path: str
    days_ago: float
