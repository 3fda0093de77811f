"""The Team page: people, invitations, links, merging; and the weights and images of a team."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.people.blocks import blocked_by
from accounts.sign_in import AFTER_SIGN_IN
from accounts.views import person
from competitions.environments.models import EnvironmentFile
from competitions.environments.services import (
    environment_file_add,
    environment_room,
    kinds_accepted,
    own_environment_file_remove,
    own_environment_files,
)
from competitions.resources.rooms import takes_uploads
from competitions.resources.uploads import take_upload
from competitions.submissions.quota import team_storage
from competitions.teams import links, merging, refusals, services
from competitions.teams.endings import takes_members
from competitions.teams.models import Invitation, InvitationLink, MergeProposal, Team
from competitions.web.forms import (
    EnvironmentFileForm,
    HandOverForm,
    InvitationForm,
    LinkForm,
    MergeForm,
    TeamNameForm,
    cleaned,
)
from competitions.web.refusals import back_to_form, entered_values, wants_json
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, team_of_visit, visit
from core.refusals import Refusal


@require_safe
def team(request: HttpRequest, slug: str) -> HttpResponse:
    visited = visit(request, slug, for_team=True)
    own = team_of_visit(visited)
    now = visited.now
    waiting = Invitation.objects.filter(
        user=person(request), team__competition=visited.competition, state=Invitation.State.OPEN, expires_at__gt=now
    ).select_related("team", "invited_by")
    waiting = waiting.exclude(invited_by__in=blocked_by(person(request)))
    context = {
        "team": own,
        "members": own.memberships.select_related("user") if own else [],
        "sent": own.invitations.filter(state=Invitation.State.OPEN, expires_at__gt=now).select_related("user")
        if own
        else [],
        "waiting": waiting,
        "brings_environment": any(phase.own_environment for phase in visited.phases),
        "links": [
            (link, request.build_absolute_uri(reverse("web:link", args=[links.signed_token(link)])))
            for link in links.live_links(own, now)
        ]
        if own and own.captain_id == request.user.pk
        else [],
        "most_days": links.MOST_DAYS,
        "storage": team_storage(own.pk) if own else None,
        "is_captain": bool(own and own.captain_id == request.user.pk),
        **(_merges(own, visited, person(request)) if own else {}),
    }
    return render_tab(request, visited, "web/teams/team.html", context, tab="team")


def _merges(team: Team, visited: Visit, user: User) -> dict[str, object]:
    """Open merge proposals in both directions, and the deadline for them; none of whom the person blocks."""
    waiting = MergeProposal.objects.filter(state=MergeProposal.State.OPEN).select_related(
        "team", "other", "proposed_by"
    )
    return {
        "merges_received": waiting.filter(other=team).exclude(proposed_by__in=blocked_by(user)),
        "merges_proposed": waiting.filter(team=team),
        "takes_members": takes_members(team, visited.now),
        "can_merge": merging.merges_are_open(visited.competition, visited.now),
    }


def _own_team(request: HttpRequest, slug: str) -> tuple[Visit, Team]:
    visited = visit(request, slug)
    return visited, services.require_team(user=person(request), competition=visited.competition)


@require_POST
def create(request: HttpRequest, slug: str) -> HttpResponse:
    visited = visit(request, slug)
    name = cleaned(TeamNameForm(request.POST))["name"]
    team = services.team_create(user=person(request), competition=visited.competition, name=name, now=visited.now)
    messages.success(request, f"The team “{team}” is yours. Invite others below, or submit right away.")
    return redirect("web:team", slug)


@require_POST
def rename(request: HttpRequest, slug: str) -> HttpResponse:
    _, own = _own_team(request, slug)
    name = cleaned(TeamNameForm(request.POST))["name"]
    services.team_rename(team=own, by=person(request), name=name)
    messages.success(request, f"Your team is called “{own.name}”.")
    return redirect("web:team", slug)


@require_POST
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    visited, own = _own_team(request, slug)
    values = cleaned(InvitationForm(request.POST))
    invitation = services.invite(team=own, by=person(request), now=visited.now, **values)
    messages.success(
        request, f"{invitation.person} was invited and can accept until {invitation.expires_at:%Y-%m-%d %H:%M} UTC."
    )
    return redirect("web:team", slug)


@require_POST
def hand_over(request: HttpRequest, slug: str) -> HttpResponse:
    _, own = _own_team(request, slug)
    to = get_object_or_404(User, username=cleaned(HandOverForm(request.POST))["to"], memberships__team=own)
    services.captain_hand_over(team=own, by=person(request), to=to)
    messages.success(request, f"{to} is the captain now.")
    return redirect("web:team", slug)


@require_POST
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    _, own = _own_team(request, slug)
    services.team_leave(team=own, by=person(request))
    messages.success(request, f"You left the team “{own}”.")
    return redirect("web:team", slug)


@require_POST
def answer(request: HttpRequest, key: UUID, answer: str) -> HttpResponse:
    """Accept, decline (the invited person) or withdraw (the captain) an invitation."""
    invitation = get_object_or_404(Invitation.objects.select_related("team__competition"), key=key)
    slug = invitation.team.competition.slug
    user = person(request)
    if answer == "withdraw":
        services.invitation_withdraw(invitation=invitation, by=user)
        return redirect("web:team", slug)
    invitation = get_object_or_404(Invitation, pk=invitation.pk, user=user)
    if answer == "accept":
        joined = services.invitation_accept(invitation=invitation, by=user, now=timezone.now())
        messages.success(request, f"You are now in the team “{joined}”.")
    else:
        services.invitation_decline(invitation=invitation, by=user)
        messages.info(request, f"You declined the invitation to “{invitation.team}”.")
    return redirect("web:team", slug)


@require_POST
def merge_propose(request: HttpRequest, slug: str) -> HttpResponse:
    """Propose to another team that it joins this one."""
    visited, own = _own_team(request, slug)
    other = cleaned(MergeForm(request.POST))["other"]
    proposal = merging.merge_propose(team=own, by=person(request), other_name=other, now=visited.now)
    messages.success(request, f"The captain of “{proposal.other}” was asked. The teams merge when they accept.")
    return redirect("web:team", slug)


@require_POST
def merge_answer(request: HttpRequest, key: UUID, answer: str) -> HttpResponse:
    """Accept, decline (the other captain) or withdraw (the captain who proposed) a merge."""
    proposal = get_object_or_404(MergeProposal.objects.select_related("team__competition", "other"), key=key)
    user, now = person(request), timezone.now()
    if answer == "accept":
        joined = merging.merge_accept(proposal=proposal, by=user, now=now)
        messages.success(request, f"The teams are one: “{joined}”.")
    elif answer == "decline":
        merging.merge_decline(proposal=proposal, by=user, now=now)
        messages.info(request, f"You declined to merge with “{proposal.team}”.")
    else:
        merging.merge_withdraw(proposal=proposal, by=user, now=now)
        messages.info(request, "The proposal was withdrawn.")
    return redirect("web:team", proposal.team.competition.slug)


@require_POST
def link_make(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a link to one's team."""
    visited, own = _own_team(request, slug)
    values = cleaned(LinkForm(request.POST))
    link = links.link_make(
        team=own, by=person(request), max_uses=values["people"], days=values["days"], now=visited.now
    )
    messages.success(request, f"The link works until {link.expires_at:%Y-%m-%d %H:%M} UTC. Copy it below.")
    return redirect("web:team", slug)


@require_POST
def link_revoke(request: HttpRequest, key: UUID) -> HttpResponse:
    """End a link of one's team."""
    link = get_object_or_404(InvitationLink.objects.select_related("team__competition"), key=key)
    links.link_revoke(link=link, by=person(request), now=timezone.now())
    messages.success(request, "The link no longer works. Whoever joined by it stays.")
    return redirect("web:team", link.team.competition.slug)


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def link_join(request: HttpRequest, token: str) -> HttpResponse:
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
    is_registered = services.find_registration(request.user, link.team.competition) is not None
    step = "join" if is_registered else "rules"
    return render(request, "web/competition/join.html", {"link": link, "step": step})


@require_safe
def environment(request: HttpRequest, slug: str) -> HttpResponse:
    """The team's weights and images, newest versions first, and the kinds that it may upload."""
    visited = visit(request, slug)
    team_id = visited.facts.team_id
    files = EnvironmentFile.objects.filter(team=team_id).select_related("uploaded_by") if team_id else []
    context = {
        "files": files,
        "kinds": kinds_accepted(visited.phases),
        "takes_requirements": [phase for phase in visited.phases if phase.own_requirements],
        "queue": visited.competition.queue,
        "entered": entered_values(request),
        "room": environment_room(team_id) if team_id else None,
    }
    return render_tab(request, visited, "web/teams/environment.html", context, tab="team")


@takes_uploads(visit, limit=lambda: settings.ENVIRONMENT_FILE_MAX_BYTES)
@require_POST
def environment_add(request: HttpRequest, slug: str) -> HttpResponse:
    """Take a finished upload, or the file in the form, as the next version of a name."""
    visited, user = visit(request, slug), person(request)
    url = reverse("web:environment", args=[slug])
    try:
        values = cleaned(EnvironmentFileForm(request.POST, request.FILES))
        upload = take_upload(user, values["file"], visited.now, key=values["upload"], is_environment=True)
        environment_file = environment_file_add(
            user=user,
            competition=visited.competition,
            kind=EnvironmentFile.Kind(values["kind"]),
            name=values["name"],
            upload=upload,
            now=timezone.now(),
        )
    except Refusal as refusal:
        return back_to_form(request, refusal, url)
    if wants_json(request):
        return JsonResponse({"url": url}, status=201)
    messages.success(request, f"{environment_file.reference} was received and is being checked.")
    return redirect(url)


@require_POST
def environment_remove(request: HttpRequest, key: UUID) -> HttpResponse:
    """Remove one file; its name and digest stay on record."""
    user = person(request)
    file = get_object_or_404(own_environment_files(user).select_related("team__competition"), key=key)
    own_environment_file_remove(file=file, by=user)
    messages.success(request, f"{file.reference} was removed.")
    return redirect("web:environment", file.team.competition.slug)
