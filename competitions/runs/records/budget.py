"""The budget of a run while its program uses it, for pages and clients."""

from dataclasses import dataclass
from datetime import datetime

from competitions.catalog.models import Phase
from competitions.runs.models import Run
from competitions.runs.queue.smoke import time_limit_s
from competitions.submissions.states import State


@dataclass(frozen=True)
class BudgetUse:
    """Seconds that a program has run and may run; `projected_s`: of the whole run, as it reports."""

    elapsed_s: float
    limit_s: int
    projected_s: float | None


def budget_use(run: Run, phase: Phase, *, now: datetime) -> BudgetUse | None:
    """The use of a run whose program runs now; None for all others."""
    if run.state != State.INGESTING or run.started_at is None:
        return None
    limit_s = time_limit_s(run, phase)
    elapsed_s = max((now - run.started_at).total_seconds(), 0.0)
    return BudgetUse(min(elapsed_s, float(limit_s)), limit_s, _projected_s(run, elapsed_s))


def _projected_s(run: Run, elapsed_s: float) -> float | None:
    """Seconds that the whole run takes if it goes on as its `progress.json` says; shown, never acted on."""
    progress = run.meters.get("progress")
    fraction = progress.get("fraction") if isinstance(progress, dict) else None
    return elapsed_s / fraction if isinstance(fraction, float | int) and 0.01 <= fraction <= 1 else None
