"""The organizers' solutions as the page lists them: tasks, phases to run them in, the last run."""

from dataclasses import dataclass

from competitions.catalog.models import Competition, Phase, Solution
from competitions.submissions.models import Submission


@dataclass(frozen=True)
class SolutionRow:
    """A solution, the phases that have a task of it, and its newest run."""

    solution: Solution
    phases: list[Phase]
    latest: Submission | None


def solution_rows(competition: Competition) -> list[SolutionRow]:
    """Every solution of the competition, in a few queries for any number of them."""
    solutions = list(competition.solutions.select_related("resource__file").prefetch_related("tasks"))
    phases = list(competition.phases.prefetch_related("tasks").order_by("index", "pk")) if solutions else []
    runs = Submission.objects.filter(solution__in=solutions).order_by("pk") if solutions else []
    latest = {submission.solution_id: submission for submission in runs}
    return [
        SolutionRow(solution, [phase for phase in phases if _shares_a_task(phase, solution)], latest.get(solution.pk))
        for solution in solutions
    ]


def _shares_a_task(phase: Phase, solution: Solution) -> bool:
    return bool(set(phase.tasks.all()) & set(solution.tasks.all()))
