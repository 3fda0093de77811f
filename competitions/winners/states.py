"""The states of a place in the winners' lane and the moves between them: one table each."""

from typing import Final

from django.db.models import TextChoices


class State(TextChoices):
    """The states of a place; the team's steps are in the order in which they are asked for."""

    INVITED = "invited", "invited"
    CODE = "code", "code handed in"
    REPORT = "report", "report handed in"
    HARDWARE = "hardware", "all handed in"
    VERIFYING = "verifying", "verification run"
    COMPARED = "compared", "compared"
    CONFIRMED = "confirmed", "confirmed"
    FAILED = "failed", "failed"
    DECLINED = "declined", "declined"


_OUT: Final = (State.FAILED, State.DECLINED)
NEXT: Final[dict[State, tuple[State, ...]]] = {  # a state without a row is final
    State.INVITED: (State.CODE, *_OUT),
    State.CODE: (State.REPORT, *_OUT),
    State.REPORT: (State.HARDWARE, *_OUT),
    State.HARDWARE: (State.VERIFYING, *_OUT),
    State.VERIFYING: (
        State.COMPARED,
        State.HARDWARE,
        State.FAILED,
    ),  # HARDWARE: the run failed by no fault of the team's
    State.COMPARED: (State.CONFIRMED, State.HARDWARE, State.FAILED),  # HARDWARE: it is to be run again
    State.CONFIRMED: (State.FAILED,),  # the submission was disqualified
}
TEAMS_TURN: Final = (State.INVITED, State.CODE, State.REPORT)
OPEN: Final = tuple(state for state in NEXT if state != State.CONFIRMED)
HANDED_IN: Final = (State.CODE, State.REPORT, State.HARDWARE)
