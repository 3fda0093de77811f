"""Organizers and administrators without a second factor are led to its set-up."""

from typing import Final

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin

from accounts.models import User
from accounts.second_factor import SECOND_FACTOR_REQUIRED, lacks_second_factor
from competitions.catalog.models import CompetitionOrganizer
from core.refusals import refusal_response

OPEN_PAGES: Final = ("/accounts/", "/docs/")  # where it is turned on, and signed out; the help that these pages link to
HOST_PAGES: Final = "/host/"
ASKING_PAGES: Final = ("/host/", "/host/ask/")  # what hosting is, and how to ask for it: for those who do not host yet
API: Final = "/api/"


class SecondFactorMiddleware(MiddlewareMixin):
    """Redirects organizers without a second factor to its set-up; API tokens need no session, and pass.

    Whatever an organizer sees more than a team does stands on many pages, so all of them ask for it.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
        if not settings.REQUIRE_STAFF_MFA or not has_session or request.path.startswith(OPEN_PAGES):
            return None
        is_hosting = request.path.startswith(HOST_PAGES) and request.path not in ASKING_PAGES
        organizes = is_hosting or _organizes_something(request.user)
        return _led_to_it(request) if lacks_second_factor(request.user, organizes=organizes) else None


def _organizes_something(user: object) -> bool:
    """True for organizers who are not staff, who need it anyway."""
    return isinstance(user, User) and not user.is_staff and CompetitionOrganizer.objects.filter(user=user).exists()


def _led_to_it(request: HttpRequest) -> HttpResponse:
    refusal = SECOND_FACTOR_REQUIRED()
    if request.path.startswith(API):
        return refusal_response(refusal)
    messages.warning(request, refusal.detail)
    return redirect("mfa_index")
