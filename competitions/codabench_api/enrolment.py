"""Taking part by robot: a registration under the rules in force, and a team of one."""

from datetime import datetime

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.catalog.services import current_rules
from competitions.submissions.quota import allowances
from competitions.submissions.refusals import PHASE_NOT_OPEN, PhaseClosed, QuotaUsed
from competitions.teams.models import Registration
from competitions.teams.services import find_registration, personal_team, register, require_registration
from core.refusals import Refusal


def enrol(*, user: User, competition: Competition, now: datetime) -> Registration:
    """Register under the current rules, and make a personal team if allowed. Raises why not."""
    rules = current_rules(competition)
    registration = register(user=user, competition=competition, rules_version=rules.number if rules else 0, now=now)
    if registration.state == Registration.State.APPROVED:
        personal_team(user=user, competition=competition, now=now)
    return registration


def may_submit(*, user: User, phase: Phase, now: datetime) -> str | None:
    """The reason why this person cannot submit to the phase now, or None; enrols a service account."""
    competition = phase.competition
    try:
        if user.is_robot and competition.admits_at_once(user) and find_registration(user, competition) is None:
            enrol(user=user, competition=competition, now=now)
        require_registration(user=user, competition=competition)
        team = personal_team(user=user, competition=competition, now=now)
        _require_time(phase, now)
        for allowance in allowances(team_id=team.pk, phase=phase, now=now):
            if not allowance.left:
                raise QuotaUsed(limit=allowance.limit, period=allowance.period, resets_at=allowance.resets_at)
    except Refusal as refusal:
        return refusal.detail
    return None


def _require_time(phase: Phase, now: datetime) -> None:
    if now < phase.opens_at:
        raise PHASE_NOT_OPEN(phase=phase, opens_at=phase.opens_at)
    if not phase.is_open(now):
        raise PhaseClosed(phase, began_at=now, now=now)
