"""Why something in the winners' lane is refused."""

from competitions.winners.models import Lane, Place
from core.refusals import Conflict, NotAllowed, Refusal


class NotRevealedYet(Conflict):
    code = "not_revealed_yet"

    def __init__(self, lane: Lane) -> None:
        super().__init__(
            f"The scores of “{lane.leaderboard.phase.name}” are sealed or the phase is open. Close and reveal it first: an "
            "invitation tells a rank."
        )


class NobodyLeft(Conflict):
    code = "nobody_left"

    def __init__(self, lane: Lane) -> None:
        super().__init__(
            f"All {lane.top} places are confirmed or on their way, or no further team has a rank. Wait, or raise the number of places."
        )


class NotYourTurn(Conflict):
    code = "not_your_turn"

    def __init__(self, place: Place, item: str) -> None:
        super().__init__(f"{item} cannot be handed in now: the state is “{place.get_state_display()}”.")


class Overdue(Conflict):
    code = "overdue"

    def __init__(self, place: Place) -> None:
        super().__init__(
            f"This could be handed in until {place.due_at:%Y-%m-%d %H:%M} UTC. Ask the organizers for more time."
        )


class HandInInvalid(Refusal):
    code, http_status = "hand_in_invalid", 422


class NoCode(Conflict):
    code = "no_code_bundle"

    def __init__(self, place: Place) -> None:
        super().__init__(
            f"{place.team} handed in no code bundle, only a repository, so there is nothing to run here. Ask the team for a zip."
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


class ReasonMissing(Refusal):
    code, http_status = "reason_missing", 422

    def __init__(self) -> None:
        super().__init__("Give the reason; it is public.")


class NotInThisLane(NotAllowed):
    code = "not_in_this_lane"

    def __init__(self) -> None:
        super().__init__("Only members of the invited team hand something in here.")
