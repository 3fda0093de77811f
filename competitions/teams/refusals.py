"""Refusals of a registration or of a change of a team."""

from typing import Final

from accounts.people.profiles import is_name_of_site
from competitions.catalog.models import Competition
from competitions.catalog.questions import AnswersInvalid
from core.refusals import Conflict, NotAllowed, Refusal, RefusalKind
from files.text import first_address, first_unprintable

NOT_REGISTERED: Final = RefusalKind(
    403,
    "not_registered",
    "You are not registered for “{competition}”. Read and accept its rules on the Rules page first.",
    next_step="/competitions/{competition.slug}/rules/",
)

REGISTRATION_PENDING: Final = RefusalKind(
    403,
    "registration_pending",
    "Your registration for “{competition}” waits for an organizer. You will get a mail once it is decided.",
)


class RegistrationDenied(NotAllowed):
    code = "registration_denied"

    def __init__(self, competition: Competition, reason: str = "") -> None:
        because = f" with the words “{reason}”" if reason else ""
        super().__init__(
            f"An organizer has denied your registration for “{competition}”{because}. Write to them if you think this is a mistake."
        )


RULES_CHANGED: Final = RefusalKind(
    403,
    "rules_changed",
    "The rules of “{competition}” have changed: you accepted version {accepted_version}, version {current_version} is in force. "
    "Read and accept it on the Rules page, then go on.",
    tells=("accepted_version", "current_version"),
    next_step="/competitions/{competition.slug}/rules/",
)

RULES_VERSION_UNKNOWN: Final = RefusalKind(
    409,
    "rules_version_not_current",
    "You accepted version {given} of the rules, but version {current_version} is in force. Read and accept the current version.",
    tells=("current_version",),
)

NO_RULES: Final = RefusalKind(
    409, "no_rules", "“{competition}” has no rules yet, so registration is not open. An organizer must publish them."
)

NO_TEAM: Final = RefusalKind(
    403,
    "no_team",
    "You have no team in “{competition}”. Create one (alone is fine) or accept an invitation on the Team page.",
    next_step="/competitions/{competition.slug}/team/",
)

ALREADY_IN_TEAM: Final = RefusalKind(
    409,
    "already_in_a_team",
    "{who} already belongs to the team “{team}” of this competition; a person can be in one team only.",
)

IN_ANOTHER_TEAM: Final = RefusalKind(
    409, "already_in_a_team", "{who} belongs to a team of this competition already; a person can be in one team only."
)

OWN_TEAM_STAYS: Final = RefusalKind(
    409,
    "own_team_has_submissions",
    "Your team “{team}” has submissions or files, which stay with it. Propose that the two teams merge; then both have them.",
)


class TeamNameTaken(Conflict):
    code = "team_name_taken"

    def __init__(self, name: str) -> None:
        super().__init__(f"Another team in this competition is called “{name}”. Choose another name.")


class TeamNameInvalid(Refusal):
    code, http_status = "team_name_invalid", 422

    def __init__(self, name: str) -> None:
        if hidden := first_unprintable(name):
            fault = f"there is {hidden}"
        elif address := first_address(name):
            fault = f"a link such as {address} is not part of a name"
        elif is_name_of_site(name):
            fault = "this one would be taken for the site's own people"
        else:
            fault = f"this one has {len(name)}"
        super().__init__(f"A team's name has 2 to 60 visible characters; {fault}. Choose another name.")


TEAM_FULL: Final = RefusalKind(
    409,
    "team_full",
    "The team would have more than {limit} members, counting open invitations; the rules allow {limit}.",
    tells=("limit",),
)

NOT_CAPTAIN: Final = RefusalKind(403, "not_captain", "Only the team's captain can do this. Ask your captain.")

UNKNOWN_PERSON: Final = RefusalKind(
    404,
    "unknown_person",
    "Nobody with the user name or e-mail address “{name}” is registered for this competition. Ask them to register first.",
)

INVITATION_OVER: Final = RefusalKind(
    409, "invitation_over", "This invitation was answered, withdrawn or has expired. Ask the captain for a new one."
)

ALREADY_INVITED: Final = RefusalKind(
    409, "already_invited", "{who} has an open invitation to this team already; it is waiting for an answer."
)

TEAM_STAYS: Final = RefusalKind(
    409,
    "team_has_submissions",
    "You are the team's last member, and it has submissions, files or another team on record, so you cannot leave it. They stay.",
)

TEAM_DISQUALIFIED: Final = RefusalKind(
    403,
    "team_disqualified",
    "The organizers have disqualified the team “{team.name}”: {team.disqualified_reason}. Ask them if that is a mistake.",
)

CAPTAIN_MUST_HAND_OVER: Final = RefusalKind(
    409, "captain_must_hand_over", "You are the captain. Make another member captain first, then leave."
)

REGISTRATION_CLOSED: Final = RefusalKind(
    403, "registration_closed", "Registration for “{competition}” closed at {closed_at:%Y-%m-%d %H:%M} UTC."
)


class RegistrationInvalid(AnswersInvalid):
    code, what = "registration_invalid", "The registration"


UNKNOWN_TEAM: Final = RefusalKind(
    404,
    "unknown_team",
    "There is no other team called “{name}” in this competition. Give its name as the leaderboard shows it.",
)

MERGES_CLOSED: Final = RefusalKind(
    409, "merges_closed", "Teams could merge until {closed_at:%Y-%m-%d %H:%M} UTC; that has passed."
)

RESULTS_STAND: Final = RefusalKind(
    409,
    "merges_closed",
    "“{phase.name}” closed on {phase.closes_at:%Y-%m-%d %H:%M} UTC, and its results stand: teams no longer merge.",
)

MEMBERS_STAND: Final = RefusalKind(
    409,
    "members_stand",
    "“{phase.name}” closed on {phase.closes_at:%Y-%m-%d %H:%M} UTC, and the results of “{team.name}” stand with the members that it had: "
    "nobody joins it any more.",
)

CAPTAIN_DENIED: Final = RefusalKind(
    409,
    "captain_denied",
    "An organizer denied the registration of the captain of “{team.name}”, so nobody joins the team. Another captain can invite you.",
)

ALREADY_PROPOSED: Final = RefusalKind(
    409, "merge_already_proposed", "A merge with “{name}” is proposed already and is waiting for an answer."
)

PROPOSAL_OVER: Final = RefusalKind(
    409, "proposal_over", "This proposal was answered or withdrawn. Ask the other captain for a new one."
)

BASELINES_DO_NOT_MERGE: Final = RefusalKind(
    409, "baselines_do_not_merge", "A baseline of the organizers cannot merge with another team."
)

LINK_OVER: Final = RefusalKind(
    410,
    "invitation_link_over",
    "This invitation link has expired, was revoked, or was used as often as it may be. Ask the captain for a new one.",
)

LINK_OUT_OF_BOUNDS: Final = RefusalKind(
    422, "invitation_link_out_of_bounds", "A link is made for 1 to {most_people} people and for 1 to {most_days} days."
)

TOO_MANY_LINKS: Final = RefusalKind(
    409,
    "too_many_invitation_links",
    "Your team has {limit} links that work, the most that it may have. Revoke one first.",
)
