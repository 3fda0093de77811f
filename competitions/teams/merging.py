"""Two teams become one, by consent of both captains.

The proposing team takes the other in: members, submissions and used quota add up, the proposing team keeps its name and captain.
The team that was taken in stays on record, without members.
"""

from datetime import datetime

from django.db import transaction
from django.dispatch import Signal

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.notifications.models import Kind
from competitions.notifications.services import notify_person
from competitions.teams import refusals
from competitions.teams.endings import teams_settled_by
from competitions.teams.models import Invitation, InvitationLink, Membership, MergeProposal, OfferState, Team
from competitions.teams.services import (
    count_teams,
    require_captain,
    require_captain_admitted,
    require_in_contest,
    require_registration,
)

# Sent with `team` and `absorbed`, both locked, inside the transaction that merges them. What belongs to the absorbed
# team moves to the other; a receiver that raises a `Refusal` undoes the merge.
teams_merged = Signal()


@transaction.atomic
def merge_propose(*, team: Team, by: User, other_name: str, now: datetime) -> MergeProposal:
    """Propose to another team's captain to take their team in.

    They are told of a captain's proposals once a day, however often these are withdrawn and made again.
    Raises `NOT_CAPTAIN`, `UNKNOWN_TEAM`, `MERGES_CLOSED`, `TEAM_DISQUALIFIED`, `ALREADY_PROPOSED`, `TEAM_FULL` or why the captain is not
    registered.
    """
    other = Team.objects.filter(
        competition=team.competition, name__iexact=" ".join(other_name.split()), merged_into=None
    ).first()
    if other is None or other.pk == team.pk:
        raise refusals.UNKNOWN_TEAM(name=other_name)
    team, other = _locked_pair(team, other)
    require_captain(team, by)
    require_registration(user=by, competition=team.competition)
    _require_possible(team, other, now)
    if MergeProposal.objects.filter(team__in=(team, other), other__in=(team, other), state=MergeProposal.State.OPEN):
        raise refusals.ALREADY_PROPOSED(name=other.name)
    notify_person(
        user=other.captain,
        by=by,
        kind=Kind.MERGE,
        competition=team.competition,
        subject=f"The team {team} proposes to merge with {other}",
        text=f"{by}, captain of “{team}”, proposes that the teams merge in “{team.competition}”. “{team}” would keep its name and "
        f"captain; members, submissions and used quota would be those of both. You decide on the Team page.",
        path=f"/competitions/{team.competition.slug}/team/",
        # by captain, not by team: a captain can leave a new team, which deletes it, and open another
        event=f"merge-{by.pk}-{other.pk}-{now:%Y-%m-%d}",
    )
    return MergeProposal.objects.create(team=team, other=other, proposed_by=by, created_at=now)


@transaction.atomic
def merge_accept(*, proposal: MergeProposal, by: User, now: datetime) -> Team:
    """Merge, as the other team's captain; a refusal changes nothing.

    Raises `PROPOSAL_OVER`, `NOT_CAPTAIN`, `MERGES_CLOSED`, `TEAM_DISQUALIFIED`, `TEAM_FULL`, `CAPTAIN_DENIED`, or what a receiver of
    `teams_merged` refuses, for instance more submissions than one team may make.
    """
    team, absorbed = _locked_pair(proposal.team, proposal.other)
    require_captain(absorbed, by)
    require_registration(user=by, competition=team.competition)
    require_captain_admitted(team)
    _answer(proposal, MergeProposal.State.ACCEPTED, now)
    _require_possible(team, absorbed, now)
    team.is_personal = False
    team.save(update_fields=["is_personal"])
    absorbed.merged_into = team
    absorbed.save(update_fields=["merged_into"])
    Membership.objects.filter(team=absorbed).update(team=team)
    Invitation.objects.filter(team=absorbed, state=Invitation.State.OPEN).update(state=Invitation.State.WITHDRAWN)
    InvitationLink.objects.filter(team=absorbed, revoked_at=None).update(revoked_at=now)
    for field in ("team", "other"):
        MergeProposal.objects.filter(**{field: absorbed}, state=MergeProposal.State.OPEN).update(
            state=MergeProposal.State.WITHDRAWN, answered_at=now
        )
    teams_merged.send(Team, team=team, absorbed=absorbed)
    count_teams(team.competition)
    _tell_proposer(
        team, f"{absorbed} has joined {team}", f"“{absorbed}” has joined your team: the two are one, “{team}”."
    )
    return team


def _tell_proposer(team: Team, subject: str, text: str) -> None:
    """Tell the captain who proposed."""
    notify_person(
        user=team.captain,
        kind=Kind.MERGE,
        competition=team.competition,
        subject=subject,
        text=f"In “{team.competition}”, {text}",
        path=f"/competitions/{team.competition.slug}/team/",
    )


@transaction.atomic
def merge_decline(*, proposal: MergeProposal, by: User, now: datetime) -> None:
    """Say no, as the other team's captain. Raises `NOT_CAPTAIN` or `PROPOSAL_OVER`."""
    require_captain(proposal.other, by)
    _answer(proposal, MergeProposal.State.DECLINED, now)
    _tell_proposer(
        proposal.team,
        f"{proposal.other} does not join {proposal.team}",
        f"“{proposal.other}” declined to merge with your team.",
    )


def merge_withdraw(*, proposal: MergeProposal, by: User, now: datetime) -> None:
    """Take a proposal back, as the captain who made it. Raises `NOT_CAPTAIN` or `PROPOSAL_OVER`."""
    require_captain(proposal.team, by)
    _answer(proposal, MergeProposal.State.WITHDRAWN, now)


def _answer(proposal: MergeProposal, state: OfferState, now: datetime) -> None:
    """Compare-and-swap from open: of two answers one counts."""
    waiting = MergeProposal.objects.filter(pk=proposal.pk, state=MergeProposal.State.OPEN)
    if not waiting.update(state=state, answered_at=now):
        raise refusals.PROPOSAL_OVER()


def _locked_pair(team: Team, other: Team) -> tuple[Team, Team]:
    """Both teams under their locks, taken by primary key so that two merges cannot wait for each other."""
    rows = Team.objects.select_for_update(of=("self",), no_key=True).select_related("competition", "captain")
    teams = {row.pk: row for row in rows.filter(pk__in=(team.pk, other.pk)).order_by("pk")}
    return teams[team.pk], teams[other.pk]


def merges_are_open(competition: Competition, now: datetime) -> bool:
    """True while teams may merge: neither the deadline nor the close of a phase has ended that."""
    deadline = competition.merges_close_at
    return (deadline is None or now < deadline) and teams_settled_by(competition, now) is None


def _require_possible(team: Team, other: Team, now: datetime) -> None:
    competition: Competition = team.competition
    if competition.merges_close_at is not None and now >= competition.merges_close_at:
        raise refusals.MERGES_CLOSED(closed_at=competition.merges_close_at)
    if (closed := teams_settled_by(competition, now)) is not None:
        raise refusals.RESULTS_STAND(phase=closed)
    for side in (team, other):
        if side.merged_into_id is not None:
            raise refusals.UNKNOWN_TEAM(name=side.name)
        require_in_contest(side)
    if team.is_baseline or other.is_baseline:
        raise refusals.BASELINES_DO_NOT_MERGE()
    taken = Membership.objects.filter(team__in=(team, other)).count()
    invited = team.invitations.filter(state=Invitation.State.OPEN, expires_at__gt=now).count()
    if taken + invited > competition.max_team_size:
        raise refusals.TEAM_FULL(limit=competition.max_team_size)
