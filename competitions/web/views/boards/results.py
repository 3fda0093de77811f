"""The results of a competition that is over, and certificates for those who took part."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.views import open_page, person
from competitions.catalog.models import Column, Leaderboard, Phase
from competitions.disclosure.uncertainty import RowUncertainty
from competitions.leaderboards.models import Snapshot
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.board import Row, board_page
from competitions.leaderboards.reading.results import final_boards
from competitions.leaderboards.reading.uncertainty import row_uncertainty
from competitions.people.certificates import certify, make_certificate, require_certified
from competitions.people.models import Certificate
from competitions.web.forms import cleaned
from competitions.web.markdown import has_markdown
from competitions.web.presentation.citations import results_bibtex
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, visit
from competitions.winners.models import Place, State

SHOWN: Final = 10  # rows of a board


@dataclass(frozen=True)
class FinalBoard:
    """A final board with its first rows, its confirmed winners, and the newest snapshot to cite."""

    board: Leaderboard
    column: Column | None
    rows: list[tuple[Row, RowUncertainty | None]]
    winners: list[Place]
    snapshot: Snapshot | None

    @property
    def phase(self) -> Phase:
        return self.board.phase

    @property
    def name(self) -> str:
        return self.phase.name + ("" if self.board.title == "Leaderboard" else f", {self.board.title}")


class CertificateForm(forms.ModelForm[Certificate]):
    class Meta:
        model = Certificate
        fields = ("name",)


@open_page
@has_markdown
def results(request: HttpRequest, slug: str) -> HttpResponse:
    """The final boards, winners and citations; before the end, what is awaited."""
    visited = visit(request, slug)
    boards = final_boards(visited.phases_with_boards, visited.now)
    address = settings.SITE_URL + visited.url("results")
    context: dict[str, object] = {"boards": _shown(boards), "address": address}
    if boards:
        ended_at = max(phase.closes_at for phase in visited.phases if phase.closes_at is not None)
        context["bibtex"] = results_bibtex(visited.competition, address, ended_at)
        context |= _certificate_facts(visited)
    return render_tab(request, visited, "web/competition/results.html", context, tab="leaderboard")


def _shown(boards: list[Leaderboard]) -> list[FinalBoard]:
    places = Place.objects.filter(lane__leaderboard__in=boards, state=State.CONFIRMED).select_related("team", "lane")
    winners: dict[int, list[Place]] = {}
    for place in places.order_by("rank", "pk"):
        winners.setdefault(place.lane.leaderboard_id, []).append(place)
    snapshots = Snapshot.objects.filter(leaderboard__in=boards, written_at__isnull=False)
    newest = {
        snapshot.leaderboard_id: snapshot for snapshot in snapshots.defer("file_text", "shown").order_by("number")
    }
    return [_final(board, winners.get(board.pk, []), newest.get(board.pk)) for board in boards]


def _final(board: Leaderboard, winners: list[Place], snapshot: Snapshot | None) -> FinalBoard:
    primary = primary_column(list(board.columns.all()))
    rows = [(row, row_uncertainty(board, row.entry)) for row in board_page(board, size=SHOWN).rows]
    return FinalBoard(board, primary if primary in board.visible_columns else None, rows, winners, snapshot)


def _certificate_facts(visited: Visit) -> dict[str, object]:
    """The form for those whose part can be certified, and their certificate if they have made it."""
    if not visited.competition.gives_certificates or visited.facts.team_id is None:
        return {}
    user = visited.user
    if not isinstance(user, User) or certify(user, visited.competition, visited.now) is None:
        return {}
    issued = Certificate.objects.filter(user=user, competition=visited.competition).first()
    initial = {"name": issued.name if issued else user.get_full_name() or user.get_username()}
    return {"certificate": issued, "certificate_form": CertificateForm(initial=initial)}


@require_POST
def certificate_make(request: HttpRequest, slug: str) -> HttpResponse:
    """Make one's certificate, or print another name on it."""
    visited = visit(request, slug)
    name = cleaned(CertificateForm(request.POST))["name"]
    issued = make_certificate(user=person(request), competition=visited.competition, name=name, now=visited.now)
    return redirect(issued.address)


@open_page
def certificate(request: HttpRequest, key: UUID) -> HttpResponse:
    """A certificate at the address that proves it: team and ranks as the boards say today."""
    rows = Certificate.objects.select_related("user", "competition")
    issued = get_object_or_404(rows, key=key, competition__is_published=True)
    context = {
        "certificate": issued,
        "competition": issued.competition,
        "certified": require_certified(issued, timezone.now()),
        "address": settings.SITE_URL + issued.address,
    }
    response = render(request, "web/people/certificate.html", context)
    response.headers["X-Robots-Tag"] = "noindex"
    return response
