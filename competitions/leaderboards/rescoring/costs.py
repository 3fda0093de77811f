"""The cost of scoring everything again, by that of before."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Exists, OuterRef

from competitions.catalog.models import Proposal
from competitions.runs.models import RunOutput
from competitions.runs.queue.matching import able_workers
from competitions.runs.rescoring import PREDICTIONS, counting_runs
from competitions.submissions.states import Kind
from workers.protocol.stages import StageName

MEASURED: Final = 200  # the newest runs


@dataclass(frozen=True)
class Costs:
    """The cost of a proposal's runs. `whole`: runs of programs whose predictions are gone.

    `compute_s` is None where no run was measured; `wall_s` where no worker of the queue is there, too.
    """

    submissions: int
    runs: int
    whole: int
    slots: int
    compute_s: float | None
    wall_s: float | None


def rescoring_costs(proposal: Proposal, *, now: datetime) -> Costs:
    """The runs of a proposal and their time, estimated from the newest ones."""
    runs = counting_runs(proposal)
    predictions = RunOutput.objects.filter(run=OuterRef("pk"), name=PREDICTIONS)
    programs = runs.filter(submission__kind=Kind.CODE)
    whole = programs.exclude(Exists(predictions))
    queue = proposal.queue or proposal.competition.queue
    slots = sum(worker.slots for worker in able_workers(queue.pk, now=now))
    count, whole_count = runs.count(), whole.count()
    receipts = [run.receipt for run in runs.order_by("-finished_at").only("receipt")[:MEASURED]]
    scoring = _mean([_seconds(receipt, StageName.SCORING) for receipt in receipts])
    of_whole = [run.receipt for run in whole.order_by("-finished_at").only("receipt")[:MEASURED]]
    program = _mean([_seconds(receipt, None) for receipt in of_whole]) if whole_count else 0.0
    compute_s = None if scoring is None or program is None else (count - whole_count) * scoring + whole_count * program
    return Costs(
        submissions=runs.values("submission").distinct().count(),
        runs=count,
        whole=whole_count,
        slots=slots,
        compute_s=compute_s,
        wall_s=compute_s / slots if compute_s is not None and slots else None,
    )


def _seconds(receipt: dict[str, object], name: StageName | None) -> float | None:
    """The wall time of one stage, or of all of them."""
    stages = receipt.get("stages")
    times = [
        stage["wall_s"]
        for stage in (stages if isinstance(stages, list) else [])
        if (name is None or stage.get("name") == name) and isinstance(stage.get("wall_s"), int | float)
    ]
    return float(sum(times)) if times else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
