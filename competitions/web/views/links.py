"""Invitation links: captains make and revoke them; anybody may open one, even without an account."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from accounts.sign_in import AFTER_SIGN_IN
from accounts.views import person
from competitions.teams import links, refusals, services
from competitions.teams.models import InvitationLink
from competitions.web.forms import LinkForm, cleaned
from competitions.web.visit import visit


@require_POST
def make(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a link to one's team."""
    visited = visit(request, slug)
    team = services.require_team(user=person(request), competition=visited.competition)
    values = cleaned(LinkForm(request.POST))
    link = links.link_make(
        team=team, by=person(request), max_uses=values["people"], days=values["days"], now=visited.now
    )
    messages.success(request, f"The link works until {link.expires_at:%Y-%m-%d %H:%M} UTC. Copy it below.")
    return redirect("web:team", slug)


@require_POST
def revoke(request: HttpRequest, key: UUID) -> HttpResponse:
    """End a link of one's team."""
    link = get_object_or_404(InvitationLink.objects.select_related("team__competition"), key=key)
    links.link_revoke(link=link, by=person(request), now=timezone.now())
    messages.success(request, "The link no longer works. Whoever joined by it stays.")
    return redirect("web:team", link.team.competition.slug)


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Show a link's team and how to join; a POST joins. Sign-in and sign-up lead back here.

    Raises `LINK_OVER`; 404 for an invented link, or an unpublished competition.
    """
    link, now = links.link_by_token(token), timezone.now()
    if link is None or not link.team.competition.is_published:
        raise Http404
    if not links.is_live(link, now):
        request.session.pop(AFTER_SIGN_IN, None)
        raise refusals.LINK_OVER()
    request.session[AFTER_SIGN_IN] = request.path
    if not isinstance(request.user, User):
        return render(request, "web/competition/join.html", {"link": link, "step": "account"})
    if request.method == "POST":
        joined = links.link_accept(link=link, by=request.user, now=now)
        request.session.pop(AFTER_SIGN_IN, None)
        messages.success(request, f"You are now in the team “{joined}”.")
        return redirect("web:team", joined.competition.slug)
    registration = services.find_registration(request.user, link.team.competition)
    if registration is None:
        return render(request, "web/competition/join.html", {"link": link, "step": "rules"})
    return render(request, "web/competition/join.html", {"link": link, "step": "join"})
