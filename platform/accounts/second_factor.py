"""The second factor of organizers and administrators, who are led to its set-up until they have one."""

from typing import Final

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin

from accounts.demo import is_demo_account
from accounts.models import User
from core.refusals import RefusalKind, refusal_response

ACCOUNT_PAGES: Final = "/accounts/"  # where it is turned on, and signed out
ORGANIZERS_PAGES: Final = "/host/"
ASKING_PAGES: Final = ("/host/", "/host/ask/")  # what hosting is, and how to ask for it: for those who do not host yet
API: Final = "/api/"
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


class SecondFactorMiddleware(MiddlewareMixin):
    """Redirects organizers without a second factor to its set-up; API tokens need no session, and pass."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        if not has_session or request.path.startswith(ACCOUNT_PAGES):
            return None
        organizes = request.path.startswith(ORGANIZERS_PAGES) and request.path not in ASKING_PAGES
        if lacks_second_factor(request.user, organizes=organizes):
            return _led_to_it(request)
        return None


def _led_to_it(request: HttpRequest) -> HttpResponse:
    refusal = SECOND_FACTOR_REQUIRED()
    if request.path.startswith(API):
        return refusal_response(refusal)
    messages.warning(request, refusal.detail)
    return redirect("mfa_index")
