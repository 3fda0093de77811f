"""The winners' lane: the public list, and each place's page for its team and the organizers."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypedDict
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.views import person
from competitions.catalog.rights import organizes
from competitions.disclosure.scores import board_refusal
from competitions.resources.rooms import take_upload, takes_uploads
from competitions.teams.models import Membership
from competitions.web.forms import CodeForm, DeadlineForm, FailureForm, HardwareForm, ReportForm, cleaned
from competitions.web.presentation.charts import pair_chart
from competitions.web.views.competitions import render_tab
from competitions.web.visit import visit
from competitions.winners import services
from competitions.winners.models import Lane, Place
from competitions.winners.states import State
from competitions.winners.verification import verification_start
from core.design.charts import Chart


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def winners(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """Confirmed winners for everybody; organizers see the whole lane and invite."""
    visited = visit(request, slug)
    board = visited.board(visited.phase(phase_slug), board_key)
    lane = Lane.objects.filter(leaderboard=board).first() if board is not None else None
    if board is None or lane is None:
        raise Http404
    if not visited.can_see_board(board):
        raise board_refusal(board)
    lane.leaderboard = board
    if request.method == "POST":
        if not visited.is_organizer:
            raise Http404
        new_places = services.invite_next(lane=lane, actor=f"user:{person(request).username}", now=visited.now)
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
    is_organizer = organizes(user, place.lane.leaderboard.phase)
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


@takes_uploads(lambda request, key, action: _find(request, key))
@require_POST
def act(request: HttpRequest, key: UUID, action: str) -> HttpResponse:
    """One step of the team, or of an organizer."""
    _, _, is_organizer = _find(request, key)
    user, now = person(request), datetime.now(UTC)
    if action in TEAM:
        TEAM[action](request, key, user, now)
    elif action in ORGANIZER and is_organizer:
        ORGANIZER[action](request, key, user, now)
    else:
        raise Http404
    return redirect("web:winners-place", key)


Step = Callable[[HttpRequest, UUID, User, datetime], object]


def _code(request: HttpRequest, key: UUID, user: User, now: datetime) -> object:
    values = cleaned(CodeForm(request.POST, request.FILES))
    file = values.pop("bundle")
    upload = take_upload(user, file, now) if file else None
    return services.code_hand_in(key=key, by=user, now=now, upload=upload, **values)


def _report(request: HttpRequest, key: UUID, user: User, now: datetime) -> object:
    return services.report_hand_in(key=key, by=user, now=now, **cleaned(ReportForm(request.POST)))


def _hardware(request: HttpRequest, key: UUID, user: User, now: datetime) -> object:
    return services.hardware_hand_in(key=key, by=user, now=now, **cleaned(HardwareForm(request.POST)))


def _decline(request: HttpRequest, key: UUID, user: User, now: datetime) -> object:
    return services.place_decline(key=key, by=user, now=now)


def _verify(request: HttpRequest, key: UUID, user: User, now: datetime) -> object:
    return verification_start(key=key, by=user, now=now)


def _confirm(request: HttpRequest, key: UUID, user: User, now: datetime) -> object:
    return services.place_confirm(key=key, actor=f"user:{user.username}", now=now)


def _fail(request: HttpRequest, key: UUID, user: User, now: datetime) -> object:
    values = cleaned(FailureForm(request.POST))
    return services.place_fail(key=key, actor=f"user:{user.username}", now=now, **values)


def _extend(request: HttpRequest, key: UUID, user: User, now: datetime) -> object:
    values = cleaned(DeadlineForm(request.POST))
    return services.place_extend(key=key, actor=f"user:{user.username}", now=now, **values)


TEAM: Final[dict[str, Step]] = {"code": _code, "report": _report, "hardware": _hardware, "decline": _decline}
ORGANIZER: Final[dict[str, Step]] = {"verify": _verify, "confirm": _confirm, "fail": _fail, "extend": _extend}
