"""Why a change of a run is refused."""

from competitions.catalog.models import Phase, Task
from core.refusals import Conflict, NotAllowed


class AlreadyEnded(Conflict):
    code = "already_ended"

    def __init__(self) -> None:
        super().__init__("This submission has ended, so it cannot be cancelled.")


class StillRunning(Conflict):
    code = "still_running"

    def __init__(self) -> None:
        super().__init__("This submission has not ended yet. Cancel it first, or wait.")


class MayNotRepeat(NotAllowed):
    def __init__(self) -> None:
        super().__init__(
            "The competition's organizers run submissions again. A service account does so with its own, and with those of others "
            "where the competition allows it."
        )


class LeaseLost(Conflict):
    code = "lease_lost"

    def __init__(self) -> None:
        super().__init__("This lease is over: another attempt owns the run. Kill the containers and drop the work.")


class TaskSealed(Conflict):
    code = "task_sealed"

    def __init__(self, task: Task, phase: Phase) -> None:
        super().__init__(
            f"“{phase.name}” keeps the scores of the task “{task.name}” sealed, and this submission's phase would show them. "
            "Run it on this task after the reveal."
        )
