"""Registration, and everything that changes who is in which team."""

import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Count, F, OuterRef, ProtectedError, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.dispatch import Signal

from accounts.models import User
from accounts.people.lookup import named_by
from accounts.people.profiles import is_name_of_site
from competitions.catalog.models import Competition
from competitions.catalog.questions import Answers, read_answers
from competitions.catalog.services import current_rules
from competitions.notifications.models import Kind
from competitions.notifications.services import notify_person
from competitions.teams import refusals
from competitions.teams.endings import require_takes_members
from competitions.teams.models import Invitation, Membership, Registration, Team
from core.rows import get_or_none
from files.text import first_address

INVITATION_DAYS: Final = 14

# Sent with `team`, inside the transaction that changed its name or its mark as a baseline.
team_changed = Signal()
# Sent with `team`, inside the transaction in which somebody joined it or left it.
members_changed = Signal()
# Sent with `registration`, as it was decided.
registration_decided = Signal()


@transaction.atomic
def register(
    *,
    user: User,
    competition: Competition,
    rules_version: int,
    now: datetime,
    answers: Mapping[str, object] | None = None,
) -> Registration:
    """Register by accepting the current rules, or accept them again after a change.

    `answers` are those to the organizer's questions, by key; what was answered before need not be said again.
    A registration that waited for an organizer is approved when the competition has become open to all since.

    Raises `NO_RULES`, `RULES_VERSION_UNKNOWN` (another version is in force), `REGISTRATION_CLOSED`, `RegistrationInvalid` or
    `RegistrationDenied`.
    """
    rules = current_rules(competition)
    if rules is None:
        raise refusals.NO_RULES(competition=competition)
    if rules.number != rules_version:
        raise refusals.RULES_VERSION_UNKNOWN(given=rules_version, current_version=rules.number)
    before = find_registration(user, competition)
    closed_at = competition.registration_closes_at
    if before is None and closed_at is not None and now >= closed_at:
        raise refusals.REGISTRATION_CLOSED(competition=competition, closed_at=closed_at)
    checked = _checked_answers(competition, before.answers if before else {}, answers or {})
    admitted = competition.admits_at_once(user)
    state = Registration.State.APPROVED if admitted else Registration.State.PENDING
    registration, created = Registration.objects.get_or_create(
        competition=competition,
        user=user,
        defaults={"state": state, "rules_version": rules, "accepted_at": now, "answers": checked},
    )
    if admitted and registration.state == Registration.State.PENDING:  # nobody has to decide any more
        Registration.objects.filter(pk=registration.pk, state=Registration.State.PENDING).update(state=state)
        registration.refresh_from_db(fields=["state", "decided_reason"])  # an organizer may have decided meanwhile
    if registration.state == Registration.State.DENIED:
        raise refusals.RegistrationDenied(competition, registration.decided_reason)
    if registration.answers != checked:
        registration.answers = checked
        registration.save(update_fields=["answers"])
    if not created and registration.rules_version_id != rules.pk:
        registration.rules_version, registration.accepted_at = rules, now
        registration.save(update_fields=["rules_version", "accepted_at"])
    return registration


def _checked_answers(competition: Competition, before: Mapping[str, object], answers: Mapping[str, object]) -> Answers:
    """The checked answers: those given now, and earlier ones to questions that still stand."""
    questions = list(competition.registration_questions.all())
    earlier_answers = {key: answer for key, answer in before.items() if key in {question.key for question in questions}}
    return read_answers(questions, earlier_answers | dict(answers), refusal=refusals.RegistrationInvalid)


@transaction.atomic
def registration_decide(
    *, registration: Registration, approve: bool, by: User, now: datetime, reason: str = ""
) -> bool:
    """An organizer's decision, told to the person with its reason; returns whether it changed anything.

    Whoever is approved has a team at once, unless the rules have changed since they accepted them.
    """
    state, reason = Registration.State.APPROVED if approve else Registration.State.DENIED, reason.strip()[:500]
    undecided = Registration.objects.filter(pk=registration.pk).exclude(state=state)
    changed = undecided.update(state=state, decided_by=by, decided_reason=reason)
    if changed:
        registration.state, registration.decided_by, registration.decided_reason = state, by, reason
        registration_decided.send(Registration, registration=registration)
    if changed and approve and registration.rules_version.number == registration.competition.rules_number:
        join_alone(user=registration.user, competition=registration.competition, now=now)
    if changed:
        competition, word = registration.competition, "approved" if approve else "denied"
        notify_person(
            user=registration.user,
            kind=Kind.REGISTRATION,
            competition=competition,
            subject=f"Your registration for {competition} was {word}",
            text=f"An organizer has {word} your registration for “{competition}”."
            + (f"\n\n{reason}" if reason else ""),
            path=f"/competitions/{competition.slug}/{'team' if approve else 'rules'}/",
        )
    return bool(changed)


def find_registration(user: User, competition: Competition) -> Registration | None:
    rows = Registration.objects.filter(user=user, competition=competition)
    return get_or_none(rows.select_related("rules_version"))


def require_admitted(*, user: User, competition: Competition) -> Registration:
    """The person's approved registration, under whichever rules. Raises the refusal that says why not.

    Whoever was in a team before an organizer denied them stays in it, and does no more in its name.
    """
    registration = find_registration(user, competition)
    if registration is None:
        raise refusals.NOT_REGISTERED(competition=competition)
    if registration.state == Registration.State.PENDING:
        raise refusals.REGISTRATION_PENDING(competition=competition)
    if registration.state == Registration.State.DENIED:
        raise refusals.RegistrationDenied(competition, registration.decided_reason)
    return registration


def require_captain_admitted(team: Team) -> None:
    """Raise `CAPTAIN_DENIED` where an organizer denied the captain who offers others a place."""
    registration = find_registration(team.captain, team.competition)
    if registration is not None and registration.state == Registration.State.DENIED:
        raise refusals.CAPTAIN_DENIED(team=team)


def require_registration(*, user: User, competition: Competition) -> Registration:
    """The person's approved registration under the current rules. Raises the refusal that says why not."""
    registration = require_admitted(user=user, competition=competition)
    accepted, current = registration.rules_version.number, competition.rules_number
    if accepted != current:
        raise refusals.RULES_CHANGED(competition=competition, accepted_version=accepted, current_version=current)
    return registration


def find_team(user: User, competition: Competition) -> Team | None:
    rows = Team.objects.filter(memberships__competition=competition, memberships__user=user)
    return get_or_none(rows.select_related("captain"))


def require_team(*, user: User, competition: Competition) -> Team:
    """The person's team, or `NO_TEAM`."""
    team = find_team(user, competition)
    if team is None:
        raise refusals.NO_TEAM(competition=competition)
    return team


def clean_team_name(name: str, *, is_baseline: bool = False) -> str:
    """The name without spare blanks. Raises `TeamNameInvalid`.

    A baseline is the organizers' own, so it may be called after them.
    """
    cleaned = " ".join(name.split())
    if not 2 <= len(cleaned) <= 60 or not cleaned.isprintable() or first_address(cleaned):
        raise refusals.TeamNameInvalid(cleaned)
    if is_name_of_site(cleaned) and not is_baseline:
        raise refusals.TeamNameInvalid(cleaned)
    return cleaned


@transaction.atomic
def team_create(*, user: User, competition: Competition, name: str, now: datetime, is_baseline: bool = False) -> Team:
    """A new team with its captain; who has a personal team gives that one the name.

    Raises `NOT_REGISTERED` and its kin, `ALREADY_IN_TEAM`, `TeamNameTaken`, `TeamNameInvalid`.
    """
    require_registration(user=user, competition=competition)
    cleaned = clean_team_name(name, is_baseline=is_baseline)
    if (existing := find_team(user, competition)) is not None:
        return _name_personal_team(existing, cleaned)
    if Team.objects.filter(competition=competition, name__iexact=cleaned).exists():
        raise refusals.TeamNameTaken(cleaned)
    try:
        with transaction.atomic():
            team = Team.objects.create(competition=competition, name=cleaned, captain=user, is_baseline=is_baseline)
            Membership.objects.create(team=team, user=user, competition=competition, joined_at=now)
    except IntegrityError as error:  # somebody was faster; the constraint decides, this is its text
        if find_team(user, competition):
            raise refusals.ALREADY_IN_TEAM(who="You", team=cleaned) from error
        raise refusals.TeamNameTaken(cleaned) from error
    count_teams(competition)
    return team


def _name_personal_team(team: Team, name: str) -> Team:
    """Give a personal team the name that its person chose. Raises `ALREADY_IN_TEAM` for any other team."""
    locked = locked_team(team)
    if not locked.is_personal:
        raise refusals.ALREADY_IN_TEAM(who="You", team=locked.name)
    locked.name = name
    team_save(team=locked)
    return locked


@transaction.atomic
def join_alone(*, user: User, competition: Competition, now: datetime) -> Team | None:
    """Give a person who has no invitation a team of one. Raises `NOT_REGISTERED` and its kin."""
    invited = Invitation.objects.filter(
        user=user, team__competition=competition, state=Invitation.State.OPEN, expires_at__gt=now
    )
    return None if invited.exists() else personal_team(user=user, competition=competition, now=now)


def personal_team(*, user: User, competition: Competition, now: datetime) -> Team:
    """The person's team, else a new one named after them. Raises refusals such as `NOT_REGISTERED`."""
    if (team := find_team(user, competition)) is not None:
        return team
    for name in (user.username, f"{user.username} {user.pk}"):
        try:
            return _personal_team(user, competition, name[:60], now)
        except (refusals.TeamNameTaken, refusals.TeamNameInvalid):
            continue
    return _personal_team(user, competition, f"{'robot' if user.is_robot else 'person'} {user.pk}", now)


def _personal_team(user: User, competition: Competition, name: str, now: datetime) -> Team:
    with transaction.atomic():
        team = team_create(user=user, competition=competition, name=name, now=now)
        team.is_personal = True
        team.save(update_fields=["is_personal"])
    return team


@transaction.atomic
def team_rename(*, team: Team, by: User, name: str) -> None:
    """Raises `NOT_CAPTAIN`, `TeamNameTaken`, `TeamNameInvalid` or why the captain is not admitted."""
    locked = locked_team(team)  # an administrator may mark it as a baseline meanwhile
    require_captain(locked, by)
    require_admitted(user=by, competition=locked.competition)
    locked.name = name
    team_save(team=locked)
    team.name = locked.name


@transaction.atomic
def team_save(*, team: Team) -> None:
    """Store a team's name and mark, and send `team_changed`. Raises `TeamNameTaken` or `TeamNameInvalid`."""
    team.name = clean_team_name(team.name, is_baseline=team.is_baseline)
    try:
        with transaction.atomic():
            team.is_personal = False  # it has a name of its own
            team.save(update_fields=["name", "is_baseline", "is_personal"])
    except IntegrityError as error:  # the constraint decides, this is its text
        raise refusals.TeamNameTaken(team.name) from error
    count_teams(team.competition)
    team_changed.send(Team, team=team)


def require_captain(team: Team, by: User) -> None:
    """Raises `NOT_CAPTAIN`."""
    if team.captain_id != by.pk:
        raise refusals.NOT_CAPTAIN()


def locked_team(team: Team) -> Team:
    """The team's row, locked, so that changes of one team take turns. Raises `NO_TEAM` if it is gone."""
    rows = Team.objects.select_for_update(of=("self",), no_key=True).select_related("competition")
    locked = get_or_none(rows.filter(pk=team.pk))
    if locked is None:
        raise refusals.NO_TEAM(competition=team.competition)
    return locked


def require_member(team: Team, user: User) -> None:
    """Raise `NO_TEAM` for who is not in the team, also where it has just merged; under its lock."""
    if not team.memberships.filter(user=user).exists():
        raise refusals.NO_TEAM(competition=team.competition)


def require_in_contest(team: Team) -> None:
    """Raises `TEAM_DISQUALIFIED`."""
    if team.disqualified_at is not None:
        raise refusals.TEAM_DISQUALIFIED(team=team)


@transaction.atomic
def invite(*, team: Team, by: User, person: str, now: datetime) -> Invitation:
    """Invite a registered person by user name or e-mail address, without revealing anything about them.

    They are told of a captain's invitations once a day, however often these are withdrawn and sent again.
    Raises `NOT_CAPTAIN`, `UNKNOWN_PERSON`, `IN_ANOTHER_TEAM`, `ALREADY_INVITED`, `TEAM_FULL`, `MEMBERS_STAND` or why the captain is not
    admitted.
    """
    team, person = locked_team(team), person.strip()
    require_captain(team, by)
    require_admitted(user=by, competition=team.competition)
    require_takes_members(team, now)
    user = User.objects.filter(named_by(person), registrations__competition=team.competition, is_active=True).first()
    if user is None:
        raise refusals.UNKNOWN_PERSON(name=person)
    if (existing := find_team(user, team.competition)) is not None and not existing.is_personal:
        raise refusals.IN_ANOTHER_TEAM(who=person)
    still_open = team.invitations.filter(state=Invitation.State.OPEN)
    still_open.filter(expires_at__lte=now).update(state=Invitation.State.WITHDRAWN)
    if still_open.filter(user=user).exists():
        raise refusals.ALREADY_INVITED(who=person)
    taken = team.memberships.count() + still_open.count()
    if taken >= team.competition.max_team_size:
        raise refusals.TEAM_FULL(limit=team.competition.max_team_size)
    notify_person(
        user=user,
        by=by,
        kind=Kind.INVITATION,
        competition=team.competition,
        subject=f"{by} invites you to the team {team}",
        text=f"{by} invites you to the team “{team}” of “{team.competition}”. You join when you accept, within {INVITATION_DAYS} days.",
        path=f"/competitions/{team.competition.slug}/team/",
        # by captain, not by team: a captain can leave a new team, which deletes it, and open another
        event=f"invitation-{team.competition_id}-{by.pk}-{user.pk}-{now:%Y-%m-%d}",
    )
    expires_at = now + timedelta(days=INVITATION_DAYS)
    return Invitation.objects.create(
        team=team, user=user, named_as=person, invited_by=by, created_at=now, expires_at=expires_at
    )


@transaction.atomic
def invitation_accept(*, invitation: Invitation, by: User, now: datetime) -> Team:
    """Join the team, and leave the personal one behind.

    Raises `INVITATION_OVER` or as `team_join`.
    """

    def admit(team: Team) -> None:
        current = Invitation.objects.select_for_update().get(pk=invitation.pk, user=by)
        if not current.is_live(now):
            raise refusals.INVITATION_OVER()
        Invitation.objects.filter(pk=invitation.pk).update(state=Invitation.State.ACCEPTED)

    return team_join(team=invitation.team, by=by, admit=admit, now=now)


@transaction.atomic
def team_join(*, team: Team, by: User, admit: Callable[[Team], None], now: datetime) -> Team:
    """Make a person a member, without their personal team. `admit` may refuse them under the team's lock.

    Raises what `admit` does, `TEAM_DISQUALIFIED` for either team, `ALREADY_IN_TEAM`, `OWN_TEAM_STAYS`, `TEAM_FULL`, `MEMBERS_STAND`,
    `CAPTAIN_DENIED`, or why the person is not registered.
    """
    existing = find_team(by, team.competition)
    both = [team.pk, *([existing.pk] if existing else [])]
    list(Team.objects.select_for_update(no_key=True).filter(pk__in=both).order_by("pk"))
    team = locked_team(team)
    admit(team)
    require_in_contest(team)
    require_captain_admitted(team)
    require_registration(user=by, competition=team.competition)
    require_takes_members(team, now)
    if team.memberships.count() >= team.competition.max_team_size:
        raise refusals.TEAM_FULL(limit=team.competition.max_team_size)
    if (existing := find_team(by, team.competition)) is not None:
        _leave_behind(existing)
    Membership.objects.create(team=team, user=by, competition=team.competition, joined_at=now)
    Team.objects.filter(pk=team.pk).update(is_personal=False)
    members_changed.send(Team, team=team)
    return team


def _leave_behind(team: Team) -> None:
    """Delete the personal team of somebody who joins another. Raises why it must stay."""
    if not team.is_personal:
        raise refusals.ALREADY_IN_TEAM(who="You", team=team.name)
    require_in_contest(team)
    if not _delete_team(team):
        raise refusals.OWN_TEAM_STAYS(team=team.name)


def _delete_team(team: Team) -> bool:
    """Delete a team; False if submissions, files or a merged team keep it on record."""
    try:
        with transaction.atomic():
            team.delete()
            count_teams(team.competition)
    except ProtectedError:
        return False
    return True


def invitation_decline(*, invitation: Invitation, by: User) -> None:
    """Say no. Raises `INVITATION_OVER` when there is nothing left to answer."""
    answered = Invitation.objects.filter(pk=invitation.pk, user=by, state=Invitation.State.OPEN)
    if not answered.update(state=Invitation.State.DECLINED):
        raise refusals.INVITATION_OVER()


def invitation_withdraw(*, invitation: Invitation, by: User) -> None:
    """The captain takes an open invitation back."""
    require_captain(invitation.team, by)
    open_ones = Invitation.objects.filter(pk=invitation.pk, state=Invitation.State.OPEN)
    if not open_ones.update(state=Invitation.State.WITHDRAWN):
        raise refusals.INVITATION_OVER()


@transaction.atomic
def captain_hand_over(*, team: Team, by: User, to: User) -> None:
    """Make another member captain. Raises `NOT_CAPTAIN` or `UNKNOWN_PERSON`."""
    team = locked_team(team)
    require_captain(team, by)
    if not team.memberships.filter(user=to).exists():
        raise refusals.UNKNOWN_PERSON(name=to.username)
    Team.objects.filter(pk=team.pk).update(captain=to)


@transaction.atomic
def team_leave(*, team: Team, by: User) -> None:
    """Leave; a team that nothing is on record of goes with its last member.

    Raises `NO_TEAM` (also where the team has just merged), `TEAM_DISQUALIFIED`, `CAPTAIN_MUST_HAND_OVER` or `TEAM_STAYS`.
    """
    team = locked_team(team)
    require_member(team, by)
    require_in_contest(team)
    others = team.memberships.exclude(user=by).exists()
    if others and team.captain_id == by.pk:
        raise refusals.CAPTAIN_MUST_HAND_OVER()
    team.memberships.filter(user=by).delete()
    if others:
        members_changed.send(Team, team=team)
    elif not _delete_team(team):
        raise refusals.TEAM_STAYS()


@transaction.atomic
def member_remove(*, team: Team, user: User) -> None:
    """Take a person whose account ends out of a team. Ranks and receipts of the team stay.

    A team that nothing is on record of goes with its last member; one that was named after them gets another name.
    """
    team = locked_team(team)
    team.memberships.filter(user=user).delete()
    if team.memberships.exists() or _delete_team(team):
        return
    team.invitation_links.all().delete()
    if team.is_personal or team.name.casefold() == user.username.casefold():
        team.name = f"Deleted account {secrets.token_hex(4)}"
        team_save(team=team)


def counted_teams() -> QuerySet[Team]:
    """The teams that the number of teams counts: no baselines, and none merged into another."""
    return Team.objects.filter(merged_into=None, is_baseline=False)


@transaction.atomic
def count_teams(competition: Competition) -> bool:
    """Count the teams again; False where somebody else holds the row.

    Call it in the transaction that changed them, behind its locks. Nobody waits for a push that ranks boards: `teams_recount`
    counts later.
    """
    # Without the lock two at once miss each other's team.
    rows = Competition.objects.select_for_update(no_key=True, skip_locked=True)
    if rows.filter(pk=competition.pk).first() is None:
        return False
    competition.team_count = counted_teams().filter(competition=competition).count()
    competition.save(update_fields=["team_count"])
    return True


def teams_recount(*, now: datetime) -> int:
    """Count where a team came or went while somebody held the competition's row; returns how many."""
    teams = counted_teams().filter(competition=OuterRef("pk"))
    by_competition = teams.order_by().values("competition").annotate(number=Count("pk")).values("number")
    counted = Competition.objects.annotate(number=Coalesce(Subquery(by_competition), 0))
    return sum(count_teams(competition) for competition in counted.exclude(team_count=F("number")))
