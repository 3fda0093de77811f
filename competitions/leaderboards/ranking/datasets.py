"""The datasets of a board that grows."""

from django.db.models import F, Q

from competitions.catalog.models import Phase, Task
from competitions.submissions.models import Dataset


def shown_datasets(phase: Phase) -> list[Dataset]:
    """Those on the phase's boards, oldest first; without a query where boards do not grow."""
    return list(Dataset.objects.on_board(phase)) if phase.grows else []


def shown_tasks(phase: Phase) -> list[tuple[Task, Dataset | None]]:
    """The phase's own tasks, then those of the datasets on its board with these, oldest first; one query."""
    own, submitted = phase.tasks.values("pk"), Dataset.objects.on_board(phase).values("task")
    rows = Task.objects.filter(Q(pk__in=own) | Q(pk__in=submitted)).select_related("dataset__submission__team")
    ordered = rows.order_by(F("dataset__joined_at").asc(nulls_first=True), "pk")
    return [(task, getattr(task, "dataset", None)) for task in ordered]


def dataset_tasks(phase: Phase) -> list[int]:
    """Tasks of all datasets that ever joined: one that comes back is sorted by at once."""
    if not phase.grows:
        return []
    return list(Dataset.objects.filter(submission__phase=phase).values_list("task", flat=True))
