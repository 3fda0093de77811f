"""Refusals of changes to runs."""

from typing import Final

from core.refusals import Conflict, RefusalKind

ALREADY_ENDED: Final = RefusalKind(409, "already_ended", "This submission has ended, so it cannot be cancelled.")


NOTHING_TO_START: Final = RefusalKind(
    409,
    "nothing_to_start",
    "Submission #{number} does not wait to be started; its state is “{state}”. Only what waits for the organizers is started. "
    "If its file is still checked, try again in a moment; one that has ended is run again.",
)


SOLUTION_OF_OTHER_TASKS: Final = RefusalKind(
    409,
    "solution_of_other_tasks",
    "The solution “{solution.name}” is for none of the tasks of “{phase.name}”. Choose a phase that has one of its tasks.",
)


class StillRunning(Conflict):
    code = "still_running"

    def __init__(self) -> None:
        super().__init__("This submission has not ended yet. Cancel it first, or wait.")


MAY_NOT_REPEAT: Final = RefusalKind(
    403,
    "not_allowed",
    "The competition's organizers run submissions again. A service account does so with its own, and with those of others "
    "where the competition allows it.",
)


SMOKE_NOT_REPEATED: Final = RefusalKind(
    409,
    "smoke_not_repeated",
    "Submission #{number} is a smoke run, which is free and on a public split alone, so it is not run again in full. "
    "Submit its file without the smoke run.",
)

FREE_NOT_REPEATED: Final = RefusalKind(
    409,
    "free_not_repeated",
    "Submission #{number} was cancelled or cost no quota, and running it again would be free, too. "
    "Submit its file again, or ask the organizers to run it.",
)


class LeaseLost(Conflict):
    code = "lease_lost"

    def __init__(
        self, detail: str = "This lease is over: another attempt owns the run. Kill the containers and drop the work."
    ) -> None:
        super().__init__(detail)


class AttemptAnswered(LeaseLost):
    """The attempt has ended by its own result, and what comes now was sent before its worker knew."""

    code = "attempt_answered"

    def __init__(self) -> None:
        super().__init__("The result of this attempt was taken. Nothing more is to be reported of it.")


TASK_SEALED: Final = RefusalKind(
    409,
    "task_sealed",
    "“{phase.name}” keeps the scores of the task “{task.name}” sealed, and this submission's phase would show them. "
    "Run it on this task after the reveal.",
)
