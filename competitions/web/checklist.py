"""The launch checklist: warnings for organizers, by the steps to a working competition."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from django.urls import reverse

from competitions.catalog.models import Competition
from competitions.catalog.readiness import ReadinessWarning


@dataclass(frozen=True)
class Step:
    """A step of the list. `url` is the workspace's page for it; `is_later`: another step comes first."""

    title: str
    url: str
    todo: list[ReadinessWarning] = field(default_factory=list)
    is_later: bool = False

    @property
    def is_done(self) -> bool:
        return not self.todo and not self.is_later


# Title, page, and the warnings that belong there. A warning that stands nowhere is shown under "Further".
STEPS: Final[tuple[tuple[str, str, frozenset[str]], ...]] = (
    ("Rules", "organize:rules", frozenset({"no_rules"})),
    ("Phases", "organize:phases", frozenset({"no_phase", "accepts_nothing", "phases_overlap"})),
    (
        "Tasks and data",
        "organize:data",
        frozenset({"no_task", "no_reference", "no_input", "no_sample", "check_is_a_task"}),
    ),
    (
        "Leaderboards",
        "organize:boards",
        frozenset(
            {"no_board", "no_column", "no_deciding_column", "no_source", "no_average_rank", "sealed_board_grows"}
        ),
    ),
    ("Pages", "organize:pages", frozenset({"no_page_image"})),
    (
        "Compute workers",
        "organize:settings",
        frozenset({"no_worker", "no_gpu_worker", "no_sandbox_worker", "queue_paused", "no_image"}),
    ),
    ("Published", "organize:settings", frozenset({"not_published"})),
)
FURTHER: Final = "Further"
OF_A_PHASE: Final = ("Tasks and data", "Leaderboards")  # without a phase nothing of theirs can be missing yet


def checklist(competition: Competition, warnings: Iterable[ReadinessWarning]) -> list[Step]:
    """Every step in order, done or with what is left to do."""
    left = list(warnings)
    no_phase = any(warning.code == "no_phase" for warning in left)
    steps = []
    for title, page, codes in STEPS:
        todo = [warning for warning in left if warning.code in codes]
        page = "organize:phase-new" if any(warning.code == "no_phase" for warning in todo) else page
        url = reverse(page, args=[competition.slug])
        steps.append(Step(title, url, todo, is_later=no_phase and title in OF_A_PHASE))
        left = [warning for warning in left if warning.code not in codes]
    if left:
        steps.append(Step(FURTHER, reverse("organize:settings", args=[competition.slug]), left))
    return steps
