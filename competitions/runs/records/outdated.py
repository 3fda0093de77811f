"""Submissions that ran with a program or data of which there is a newer version."""

from typing import Any, Final

from django.db.models import QuerySet

from competitions.catalog.models import Task
from competitions.runs.models import Run
from competitions.submissions.states import Kind, State

SCORED_WITH: Final = ("scoring_program", "reference_data")
RUN_WITH: Final = (*SCORED_WITH, "ingestion_program", "input_data")


def outdated_submissions(runs: QuerySet[Run]) -> set[int]:
    """Submissions of these runs that ended with other programs or data than their tasks have now.

    Digests in receipts are compared, so going back to an old version counts as no change. Predictions are judged by
    what scored them. Cancelled and disqualified submissions, verifications and runs on one task are left out.
    """
    ended = runs.filter(
        state__in=[State.FINISHED, State.FAILED],
        submission__disqualified_at=None,
        submission__is_verification=False,
        submission__is_task_rerun=False,
    )
    rows = ended.values_list(
        "submission", "task", "receipt__inputs", "submission__kind", "submission__phase__as_on_codabench"
    )
    digests = _digests(Task.objects.filter(pk__in=ended.values("task")))
    outdated = set()
    for submission, task, inputs, kind, as_on_codabench in rows.iterator():
        names = SCORED_WITH if kind == Kind.PREDICTION and not as_on_codabench else RUN_WITH
        if inputs and any(inputs.get(name) != digests[task][name] for name in names):
            outdated.add(submission)
    return outdated


def _digests(tasks: QuerySet[Task]) -> dict[int, dict[str, str | None]]:
    """The digests of each task's programs and data now, named as in a receipt; None where it has none."""
    rows: Any = tasks.values("pk", *(f"{name}__file" for name in RUN_WITH))
    return {
        row["pk"]: {name: f"sha256:{row[f'{name}__file']}" if row[f"{name}__file"] else None for name in RUN_WITH}
        for row in rows
    }
