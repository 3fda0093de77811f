"""A token for user name and password, as robots of Codabench ask for it."""

from datetime import datetime, timedelta
from typing import Final

from allauth.account.models import EmailAddress
from allauth.mfa.utils import is_mfa_enabled

from accounts.attempts import attempt_begin
from accounts.models import ApiToken, Scope, User, token_create
from accounts.second_factor import SecondFactorRequired, lacks_second_factor
from core.refusals import NotAllowed, Refusal

TOKEN_NAME: Final = "Signed in with a password"
TOKEN_DAYS: Final = 30
TOKENS_KEPT: Final = 20


class WrongPassword(Refusal):
    """What the two names of the fields say in other APIs: nothing of whether the account exists."""

    code, http_status = "wrong_password", 400

    def __init__(self) -> None:
        super().__init__(
            "User name and password do not belong together. Check both, or make an API token in your profile."
        )


class SecondFactorNeeded(NotAllowed):
    code = "second_factor_needed"

    def __init__(self) -> None:
        super().__init__(
            "This account signs in with a second factor, which a robot cannot give. Make an API token in your profile instead."
        )


def sign_in(*, username: str, password: str, address: str, now: datetime) -> str:
    """A new token of the account. Raises `TooManyAttempts`, `WrongPassword`, `SecondFactorNeeded` or `SecondFactorRequired`.

    An account of a program (`is_robot`) signs in nowhere but here; a person's must have confirmed its address, as on the page.
    """
    if not username or not password:
        raise WrongPassword
    attempt = attempt_begin(login=username, address=address)
    user = User.objects.filter(username=username).first()
    if user is None:
        User().set_password(password)  # takes as long as a wrong password of an account that exists
        raise WrongPassword
    if not user.check_password(password) or not user.is_active or not _is_confirmed(user):
        raise WrongPassword
    attempt.was_right()
    if is_mfa_enabled(user):
        raise SecondFactorNeeded
    if lacks_second_factor(user):
        raise SecondFactorRequired
    _forget_old(user)
    scopes = [scope for scope in Scope.values if scope != Scope.ORGANIZE or user.is_staff]
    return token_create(user=user, name=TOKEN_NAME, scopes=scopes, expires_at=now + timedelta(days=TOKEN_DAYS))[1]


def _is_confirmed(user: User) -> bool:
    return user.is_robot or EmailAddress.objects.filter(user=user, verified=True).exists()


def _forget_old(user: User) -> None:
    """A robot signs in each time it is started; its older tokens end, but for the last ones."""
    mine = ApiToken.objects.filter(user=user, name=TOKEN_NAME).order_by("-created_at", "-pk")
    kept = list(mine.values_list("pk", flat=True)[: TOKENS_KEPT - 1])
    mine.exclude(pk__in=kept).delete()
