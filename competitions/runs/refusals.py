"""Why a change of a run is refused."""

from core.refusals import Conflict


class AlreadyEnded(Conflict):
    code = "already_ended"

    def __init__(self) -> None:
        super().__init__("This submission has ended, so it cannot be cancelled.")


class StillRunning(Conflict):
    code = "still_running"

    def __init__(self) -> None:
        super().__init__("This submission has not ended yet. Cancel it first, or wait.")


class LeaseLost(Conflict):
    code = "lease_lost"

    def __init__(self) -> None:
        super().__init__("This lease is over: another attempt owns the run. Kill the containers and drop the work.")
