"""The second factor of organizers and administrators."""

from typing import Final

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings

from accounts.demo import is_demo_account
from accounts.models import User
from core.refusals import RefusalKind

SECOND_FACTORS: Final = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]

SECOND_FACTOR_REQUIRED: Final = RefusalKind(
    403,
    "second_factor_required",
    "Organizers and administrators sign in with a second factor here. Set up an authenticator app or a passkey, then go on.",
)


def lacks_second_factor(user: object, *, organizes: bool = False) -> bool:
    """True while the account has to turn on a second factor first.

    Staff always need one, others where they organize. Service accounts have only tokens, and an account of a public demo can do
    nothing.
    """
    if not settings.REQUIRE_STAFF_MFA or not isinstance(user, User) or user.is_robot or is_demo_account(user):
        return False
    return (user.is_staff or user.is_superuser or organizes) and not is_mfa_enabled(user, types=SECOND_FACTORS)
