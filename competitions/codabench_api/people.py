"""Accounts of clients: a token for user name and password, a registration and a team of one."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Final

from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled
from django.db import transaction
from django.utils.crypto import salted_hmac

from accounts.attempts import attempt_begin
from accounts.models import SIGN_IN_TOKEN, TOKEN_PREFIX, ApiToken, Scope, User, token_create, token_digest
from accounts.second_factor import SECOND_FACTOR_REQUIRED, lacks_second_factor
from competitions.catalog.models import Competition, Phase
from competitions.catalog.organizers import may_host
from competitions.catalog.services import current_rules
from competitions.submissions.quota import allowances
from competitions.submissions.refusals import PHASE_NOT_OPEN, PhaseClosed, QuotaUsed
from competitions.teams.models import Registration, Team
from competitions.teams.services import find_registration, find_team, personal_team, register, require_registration
from core.refusals import Refusal, RefusalKind

TOKEN_DAYS: Final = 30
NO_TEAM_YET: Final = 0  # no team's number: who has none has submitted nothing
LEAST_LEFT: Final = timedelta(days=1)  # of a token that is given again: a script may run for a while

# What the two names of the fields say in other APIs: nothing of whether the account exists.
WRONG_PASSWORD: Final = RefusalKind(
    400,
    "wrong_password",
    "User name or password is wrong. Check both, or make an API token in your profile.",
)

SECOND_FACTOR_NEEDED: Final = RefusalKind(
    403,
    "second_factor_needed",
    "This account signs in with a second factor, which a script cannot give. Make an API token in your profile instead.",
)


def sign_in(*, username: str, password: str, address: str, now: datetime) -> str:
    """The account's token, the same one as long as it is valid for a day.

    Raises `TooManyAttempts`, `WRONG_PASSWORD`, `SECOND_FACTOR_NEEDED` or `SECOND_FACTOR_REQUIRED`.

    An account of a program (`is_robot`) signs in nowhere but here; a person's must have confirmed its address, as on the page.
    """
    if not username or not password:
        raise WRONG_PASSWORD()
    attempt = attempt_begin(login=username, address=address)
    user = User.objects.filter(username=username).first()
    if user is None:
        User().set_password(password)  # takes as long as a wrong password of an account that exists
        raise WRONG_PASSWORD()
    if not user.check_password(password) or not user.is_active or not _is_confirmed(user):
        raise WRONG_PASSWORD()
    attempt.was_right()
    if is_mfa_enabled(user):
        raise SECOND_FACTOR_NEEDED()
    if lacks_second_factor(user):
        raise SECOND_FACTOR_REQUIRED()
    return _token(user, now)


@transaction.atomic
def _token(user: User, now: datetime) -> str:
    """The token of former sign-ins, with the scopes that the account may have now; else another one."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # two scripts that start at once get the same one
    organizes = may_host(user) or Competition.objects.managed_by(user).exists()
    organizes = organizes and not lacks_second_factor(user, organizes=True)
    scopes = [scope for scope in Scope.values if scope != Scope.ORGANIZE or organizes]
    tokens = ApiToken.objects.filter(user=user, name=SIGN_IN_TOKEN)
    for token in tokens.filter(revoked_at=None, expires_at__gt=now + LEAST_LEFT):
        secret = _secret(user, token.expires_at)
        if token.digest == token_digest(secret):
            tokens.filter(pk=token.pk).update(scopes=scopes)
            return secret
    tokens.filter(expires_at__lte=now).delete()
    expires_at = now + timedelta(days=TOKEN_DAYS)
    secret = _secret(user, expires_at)
    return token_create(user=user, name=SIGN_IN_TOKEN, scopes=scopes, expires_at=expires_at, secret=secret)[1]


def _secret(user: User, expires_at: datetime) -> str:
    """A token that is derived, never stored: a keyed digest of account, password and expiry.

    So another password, or another secret key of the site, gives another token.
    """
    made_of = f"{user.pk}:{user.password}:{expires_at.astimezone(UTC).isoformat()}"
    digest = salted_hmac("podium.sign-in-token", made_of, algorithm="sha256").digest()
    return TOKEN_PREFIX + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _is_confirmed(user: User) -> bool:
    return user.is_robot or EmailAddress.objects.filter(user=user, verified=True).exists()


def enrol(*, user: User, competition: Competition, now: datetime) -> Registration:
    """Register under the current rules, and make a personal team if allowed. Raises why not."""
    rules = current_rules(competition)
    registration = register(user=user, competition=competition, rules_version=rules.number if rules else 0, now=now)
    if registration.state == Registration.State.APPROVED:
        personal_team(user=user, competition=competition, now=now)
    return registration


def may_submit(*, user: User, phase: Phase, now: datetime) -> str | None:
    """The reason why this person cannot submit to the phase now, or None; enrols a service account."""
    try:
        _require_registration(user, phase.competition, now)
        _require_time(phase, now)
        team = find_team(user, phase.competition)
        for allowance in allowances(team_id=team.pk if team else NO_TEAM_YET, phase=phase, now=now):
            if not allowance.left:
                raise QuotaUsed(limit=allowance.limit, period=allowance.period, resets_at=allowance.resets_at)
    except Refusal as refusal:
        return refusal.detail
    return None


def team_to_submit(*, user: User, competition: Competition, now: datetime) -> Team:
    """The person's team, or a new one of their own; enrols a service account.

    Raises the refusal that says why there can be none.
    """
    _require_registration(user, competition, now)
    return personal_team(user=user, competition=competition, now=now)


def _require_registration(user: User, competition: Competition, now: datetime) -> None:
    if user.is_robot and competition.admits_at_once(user) and find_registration(user, competition) is None:
        enrol(user=user, competition=competition, now=now)
    require_registration(user=user, competition=competition)


def _require_time(phase: Phase, now: datetime) -> None:
    if now < phase.opens_at:
        raise PHASE_NOT_OPEN(phase=phase, opens_at=phase.opens_at)
    if not phase.is_open(now):
        raise PhaseClosed(phase, began_at=now, now=now)
