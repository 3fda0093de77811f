"""Refusals in the winners' lane."""

from typing import Final

from competitions.winners.models import Place
from core.refusals import Conflict, RefusalKind

NOT_REVEALED_YET: Final = RefusalKind(
    409,
    "not_revealed_yet",
    "The scores of “{lane.leaderboard.phase.name}” are sealed or the phase is open. Close and reveal it first: an "
    "invitation tells a rank.",
)

NOBODY_LEFT: Final = RefusalKind(
    409,
    "nobody_left",
    "Every place is confirmed or in progress, or no further team has a rank. Wait, or raise the number of places.",
)


class NotYourTurn(Conflict):
    code = "not_your_turn"

    def __init__(self, place: Place, item: str) -> None:
        super().__init__(f"{item} cannot be handed in now: the state is “{place.get_state_display()}”.")


OVERDUE: Final = RefusalKind(
    409, "overdue", "This could be handed in until {place.due_at:%Y-%m-%d %H:%M} UTC. Ask the organizers for more time."
)

HAND_IN_INVALID: Final = RefusalKind(422, "hand_in_invalid", "{detail}")

NO_CODE: Final = RefusalKind(
    409,
    "no_code_bundle",
    "{place.team} handed in no code bundle, only a repository, so there is nothing to run here. Ask the team for a zip.",
)


class NotReady(Conflict):
    code = "not_ready"

    def __init__(self, place: Place, action: str) -> None:
        super().__init__(f"{action} is not possible while the state is “{place.get_state_display()}”.")


class OutsideTolerance(Conflict):
    code = "outside_tolerance"

    def __init__(self, place: Place) -> None:
        faults = "; ".join(place.comparison.get("faults", [])) or "there is no comparison"
        super().__init__(
            f"This cannot be confirmed: {faults}. Run it again, change the tolerance, or end it with a reason."
        )


REASON_MISSING: Final = RefusalKind(422, "reason_missing", "Give the reason; it is public.")

NOT_IN_THIS_LANE: Final = RefusalKind(
    403, "not_in_this_lane", "Only members of the invited team hand something in here."
)
