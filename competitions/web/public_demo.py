"""A site that everybody may look around in and nobody changes: `PODIUM_DEMO=1`."""

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import MiddlewareNotUsed
from django.db.models import Prefetch, Q, prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.demo import demo_accounts
from accounts.views import open_page
from competitions.catalog.models import CompetitionOrganizer
from competitions.teams.models import Membership
from competitions.web.refusals import refusal_answer
from core.refusals import FOR_PROGRAMS, RefusalKind

READ_ONLY: Final = RefusalKind(
    403,
    "read_only_demo",
    "This is a demo: look at everything, but nothing is saved. On a site of your own this would have worked.",
)
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")
OPEN_VIEWS: Final = ("web:demo-enter", "account_login", "account_logout", "mfa_authenticate", "mfa_login_webauthn")
SIGN_IN_BACKEND: Final = "accounts.sign_in.PeopleBackend"


class ReadOnlyMiddleware:
    """Refuses whatever would change something, except to administrators, and to programs with a token."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not settings.PUBLIC_DEMO:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, object]
    ) -> HttpResponse | None:
        return None if _may_go_on(request) else refusal_answer(request, READ_ONLY())


def _may_go_on(request: HttpRequest) -> bool:
    if request.method in SAFE_METHODS or request.user.is_superuser:
        return True
    if request.resolver_match is not None and request.resolver_match.view_name in OPEN_VIEWS:
        return True
    # Who has no session shows a token there, and in a demo nobody can make one.
    return request.user.is_anonymous and request.path.startswith(FOR_PROGRAMS)


@open_page
@never_cache
def demo(request: HttpRequest) -> HttpResponse:
    """The accounts to look around in."""
    accounts = demo_accounts()
    if not accounts:
        raise Http404
    published = Q(competition__is_published=True)
    prefetch_related_objects(
        accounts,
        Prefetch("memberships", Membership.objects.filter(published).select_related("competition")),
        Prefetch(
            "competitionorganizer_set", CompetitionOrganizer.objects.filter(published).select_related("competition")
        ),
    )
    return render(request, "web/home/demo.html", {"accounts": accounts, "reset_at": settings.DEMO_RESET})


@login_not_required
@require_POST
def demo_enter(request: HttpRequest, username: str) -> HttpResponse:
    """Sign in to one of them."""
    for user in demo_accounts():
        if user.username == username:
            auth.login(request, user, backend=SIGN_IN_BACKEND)
            return redirect("web:me")
    raise Http404
