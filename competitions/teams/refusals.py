"""Why a registration or a change of a team is refused."""

from datetime import datetime

from competitions.catalog.models import Competition, Phase
from competitions.catalog.questions import AnswersInvalid
from competitions.teams.models import Team
from core.refusals import Conflict, NotAllowed, Refusal


class NotRegistered(NotAllowed):
    code = "not_registered"

    def __init__(self, competition: Competition) -> None:
        super().__init__(
            f"You are not registered for “{competition}”. Read and accept its rules on the Rules page first.",
            next_step=f"/competitions/{competition.slug}/rules/",
        )


class RegistrationPending(NotAllowed):
    code = "registration_pending"

    def __init__(self, competition: Competition) -> None:
        super().__init__(
            f"Your registration for “{competition}” waits for an organizer. You get an e-mail when it is decided."
        )


class RegistrationDenied(NotAllowed):
    code = "registration_denied"

    def __init__(self, competition: Competition, reason: str = "") -> None:
        because = f" with the words “{reason}”" if reason else ""
        super().__init__(
            f"An organizer has denied your registration for “{competition}”{because}. Write to them if you think this is a mistake."
        )


class RulesChanged(NotAllowed):
    code = "rules_changed"

    def __init__(self, competition: Competition, *, accepted: int, current: int) -> None:
        super().__init__(
            f"The rules of “{competition}” have changed: you accepted version {accepted}, version {current} is in force. "
            "Read and accept it on the Rules page, then go on.",
            accepted_version=accepted,
            current_version=current,
            next_step=f"/competitions/{competition.slug}/rules/",
        )


class RulesVersionUnknown(Refusal):
    code, http_status = "rules_version_not_current", 409

    def __init__(self, *, given: int, current: int) -> None:
        super().__init__(
            f"You accepted version {given} of the rules, but version {current} is in force. Read it and accept that one.",
            current_version=current,
        )


class NoRules(Conflict):
    code = "no_rules"

    def __init__(self, competition: Competition) -> None:
        super().__init__(
            f"“{competition}” has no rules yet, so registration is not open. An organizer must publish them."
        )


class NoTeam(NotAllowed):
    code = "no_team"

    def __init__(self, competition: Competition) -> None:
        super().__init__(
            f"You have no team in “{competition}”. Create one (alone is fine) or accept an invitation on the Team page.",
            next_step=f"/competitions/{competition.slug}/team/",
        )


class AlreadyInTeam(Conflict):
    code = "already_in_a_team"

    def __init__(self, who: str, team: str) -> None:
        super().__init__(f"{who} already belongs to the team “{team}” of this competition; one person has one team.")


class InAnotherTeam(Conflict):
    code = "already_in_a_team"

    def __init__(self, who: str) -> None:
        super().__init__(f"{who} belongs to a team of this competition already; one person has one team.")


class OwnTeamStays(Conflict):
    code = "own_team_has_submissions"

    def __init__(self, team: str) -> None:
        super().__init__(
            f"Your team “{team}” has submissions or files, which stay with it. Propose that the two teams merge, then both have them."
        )


class TeamNameTaken(Conflict):
    code = "team_name_taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"Another team of this competition is called “{name}”. Choose another name.")


class TeamNameInvalid(Refusal):
    code, http_status = "team_name_invalid", 422

    def __init__(self) -> None:
        super().__init__("A team's name has 2 to 60 visible characters. Choose another name.")


class TeamFull(Conflict):
    code = "team_full"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The team would have more than {limit} members, counting open invitations; the rules allow {limit}.",
            limit=limit,
        )


class NotCaptain(NotAllowed):
    code = "not_captain"

    def __init__(self) -> None:
        super().__init__("Only the team's captain can do this. Ask your captain.")


class UnknownPerson(Refusal):
    code, http_status = "unknown_person", 404

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Nobody with the user name or e-mail address “{name}” is registered for this competition. Ask them to register first."
        )


class InvitationOver(Conflict):
    code = "invitation_over"

    def __init__(self) -> None:
        super().__init__("This invitation was answered, withdrawn or has expired. Ask the captain for a new one.")


class AlreadyInvited(Conflict):
    code = "already_invited"

    def __init__(self, who: str) -> None:
        super().__init__(f"{who} has an open invitation to this team already; it waits for an answer.")


class TeamStays(Conflict):
    code = "team_has_submissions"

    def __init__(self) -> None:
        super().__init__(
            "You are the team's last member, and it has submissions, files or another team on record, so you cannot leave it. They stay."
        )


class TeamDisqualified(NotAllowed):
    code = "team_disqualified"

    def __init__(self, team: Team) -> None:
        super().__init__(
            f"The organizers have disqualified the team “{team.name}”: {team.disqualified_reason}. Ask them if that is a mistake."
        )


class CaptainMustHandOver(Conflict):
    code = "captain_must_hand_over"

    def __init__(self) -> None:
        super().__init__("You are the captain. Make another member captain first, then leave.")


class RegistrationClosed(NotAllowed):
    code = "registration_closed"

    def __init__(self, competition: Competition, closed_at: datetime) -> None:
        super().__init__(f"Registration for “{competition}” closed at {closed_at:%Y-%m-%d %H:%M} UTC.")


class RegistrationInvalid(AnswersInvalid):
    code, what = "registration_invalid", "The registration"


class UnknownTeam(Refusal):
    code, http_status = "unknown_team", 404

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no other team called “{name}” in this competition. Give its name as the leaderboard shows it."
        )


class MergesClosed(Conflict):
    code = "merges_closed"

    def __init__(self, closed_at: datetime) -> None:
        super().__init__(f"Teams could merge until {closed_at:%Y-%m-%d %H:%M} UTC; that has passed.")


class ResultsStand(Conflict):
    code = "merges_closed"

    def __init__(self, phase: Phase) -> None:
        super().__init__(
            f"“{phase.name}” closed on {phase.closes_at:%Y-%m-%d %H:%M} UTC, and its results stand: teams no longer merge."
        )


class AlreadyProposed(Conflict):
    code = "merge_already_proposed"

    def __init__(self, name: str) -> None:
        super().__init__(f"A merge with “{name}” is proposed already and waits for an answer.")


class ProposalOver(Conflict):
    code = "proposal_over"

    def __init__(self) -> None:
        super().__init__("This proposal was answered or withdrawn. Ask the other captain for a new one.")


class BaselinesDoNotMerge(Conflict):
    code = "baselines_do_not_merge"

    def __init__(self) -> None:
        super().__init__("A baseline of the organizers cannot merge with another team.")


class LinkOver(Refusal):
    code, http_status = "invitation_link_over", 410

    def __init__(self) -> None:
        super().__init__(
            "This invitation link has expired, was revoked, or was used as often as it may be. Ask the captain for a new one."
        )


class LinkOutOfBounds(Refusal):
    code, http_status = "invitation_link_out_of_bounds", 422

    def __init__(self, most_people: int, most_days: int) -> None:
        super().__init__(f"A link is made for 1 to {most_people} people and for 1 to {most_days} days.")


class TooManyLinks(Conflict):
    code = "too_many_invitation_links"

    def __init__(self, limit: int) -> None:
        super().__init__(f"Your team has {limit} links that work, the most that it may have. Revoke one first.")
