"""The winners' lane: the public list, and each place's page for its team and the organizers."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, TypedDict
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from competitions.catalog.organizers import organizes
from competitions.resources.rooms import takes_uploads
from competitions.resources.uploads import take_upload
from competitions.teams.models import Membership
from competitions.web.forms import CodeForm, DeadlineForm, FailureForm, HardwareForm, ReportForm, cleaned
from competitions.web.presentation.charts import pair_chart
from competitions.web.views.competitions import render_tab
from competitions.web.visit import visit
from competitions.winners import services
from competitions.winners.models import Lane, Place, State
from competitions.winners.verification import verification_start
from core.design.charts import Chart


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def winners(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """Confirmed winners for everybody; organizers see the whole lane and invite."""
    visited = visit(request, slug)
    board = visited.visible_board(phase_slug, board_key)
    lane = Lane.objects.filter(leaderboard=board).first()
    if lane is None:
        raise Http404
    lane.leaderboard = board
    if request.method == "POST":
        if not visited.is_organizer:
            raise Http404
        new_places = services.invite_next(lane=lane, actor=services.actor_name(person(request)), now=visited.now)
        messages.success(request, f"Invited: {', '.join(str(place.team) for place in new_places)}.")
        return redirect("web:winners", slug, phase_slug, board_key)
    places = lane.places.select_related("team", "submission__phase")
    if not visited.is_organizer:
        places = places.filter(state=State.CONFIRMED) | places.filter(team=visited.facts.team_id)
    context = {"phase": board.phase, "board": board, "lane": lane, "places": places}
    return render_tab(request, visited, "web/winners/winners.html", context, tab="leaderboard")


def _find(request: HttpRequest, key: UUID) -> tuple[Place, bool, bool]:
    """The place, and whether the person is of its team and organizes; for anybody else it does not exist."""
    user = person(request)
    rows = Place.objects.select_related(
        "lane__leaderboard__phase__competition", "team", "submission", "verification", "check_run"
    )
    place = get_object_or_404(rows, key=key)
    is_mine = Membership.objects.filter(team=place.team_id, user=user).exists()
    is_organizer = organizes(user, place.lane.leaderboard.phase.competition_id)
    if not is_mine and not is_organizer:
        raise Http404
    return place, is_mine, is_organizer


@require_safe
def place(request: HttpRequest, key: UUID) -> HttpResponse:
    """A winner's place: its state, its history, and the form for the next step."""
    place, is_mine, is_organizer = _find(request, key)
    visited = visit(request, place.lane.leaderboard.phase.competition.slug)
    context = {
        "place": place,
        "lane": place.lane,
        "phase": place.lane.leaderboard.phase,
        "is_mine": is_mine,
        "is_organizer": is_organizer,
        "is_overdue": place.is_overdue(visited.now),
        "events": place.events.all(),
        "charts": _charts(place.comparison),
    }
    return render_tab(request, visited, "web/winners/place.html", context, tab="leaderboard")


class Compared(TypedDict, total=False):
    title: str
    pairs: list[tuple[float, float]]
    checks: list["Compared"]


def _charts(comparison: Compared) -> list[Chart]:
    """The predictions of the run, then those of each check, against what is expected of them."""
    parts = [
        ("Submitted against made here", comparison),
        *((check["title"], check) for check in comparison.get("checks", [])),
    ]
    charts = (pair_chart(f"pairs-{number}", title, part.get("pairs", [])) for number, (title, part) in enumerate(parts))
    return [chart for chart in charts if chart is not None]


# The form that a step takes, if any, and the service that does it.
Step = tuple[type[forms.Form] | None, Callable[..., object]]
TEAM: Final[Mapping[str, Step]] = {
    "code": (CodeForm, services.code_hand_in),
    "report": (ReportForm, services.report_hand_in),
    "hardware": (HardwareForm, services.hardware_hand_in),
    "decline": (None, services.place_decline),
}
ORGANIZER: Final[Mapping[str, Step]] = {
    "verify": (None, verification_start),
    "confirm": (None, services.place_confirm),
    "fail": (FailureForm, services.place_fail),
    "extend": (DeadlineForm, services.place_extend),
}
ON_RECORD: Final = ("confirm", "fail", "extend")  # decisions, which name who made them


@takes_uploads(lambda request, key, action: _find(request, key))
@require_POST
def act(request: HttpRequest, key: UUID, action: str) -> HttpResponse:
    """One step of the team, or of an organizer."""
    _, _, is_organizer = _find(request, key)
    steps = {**TEAM, **ORGANIZER} if is_organizer else TEAM
    if action not in steps:
        raise Http404
    form, step = steps[action]
    user, now = person(request), datetime.now(UTC)
    values = cleaned(form(request.POST, request.FILES)) if form is not None else {}
    if (file := values.pop("bundle", None)) is not None:
        values["upload"] = take_upload(user, file, now)
    values |= {"actor": services.actor_name(user)} if action in ON_RECORD else {"by": user}
    step(key=key, now=now, **values)
    return redirect("web:winners-place", key)
