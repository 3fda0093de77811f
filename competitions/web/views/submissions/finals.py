"""Choosing a team's final submissions at once, from a list with their scores."""

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from accounts.views import person
from competitions.catalog.models import Leaderboard, Phase
from competitions.leaderboards.picks import finals_choose, may_choose
from competitions.leaderboards.ranking.rules import Rule
from competitions.submissions.models import Submission
from competitions.submissions.states import LIVE, State
from competitions.teams.models import Team
from competitions.web.submission_rows import LAST, PAGE_SIZE, build_rows, submission_page
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, team_of_visit, visit
from files.text import is_number

FIELDS: Final = ("shown", "seen", "chosen")
SELECTABLE: Final = (State.FINISHED, *LIVE)


class FinalsForm(forms.Form):
    """The chosen submissions, with those that the page showed and those selected at that time."""

    def __init__(self, *args: Any, team: Team, phase: Phase, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = Submission.objects.filter(team=team, phase=phase)
        for name in FIELDS:
            self.fields[name] = forms.ModelMultipleChoiceField(own, required=False)

    def numbers(self, name: str) -> set[int]:
        """The numbers of the submissions that a field names."""
        return {submission.pk for submission in self.cleaned_data[name]}


@require_http_methods(["GET", "HEAD", "POST"])
def finals(request: HttpRequest, slug: str, phase_slug: str, board_key: str) -> HttpResponse:
    """The list, newest first, and what is ticked on it."""
    visited = visit(request, slug)
    phase = visited.phase(phase_slug)
    board, team = visited.board(phase, board_key), team_of_visit(visited)
    if phase is None or board is None or team is None or board.rule != Rule.SELECTED:
        raise Http404
    if request.method == "POST":
        form = FinalsForm(request.POST, team=team, phase=phase)
        if not form.is_valid():  # a number of somebody else's
            raise Http404
        chosen = {name: form.numbers(name) for name in FIELDS}
        finals_choose(board=board, by=person(request), now=timezone.now(), **chosen)
        messages.success(request, "Your final submissions are selected.")
        return redirect(f"{visited.url('submissions')}?phase={phase.slug}")
    return render_tab(
        request,
        visited,
        "web/submissions/finals.html",
        _context(request, visited, phase, board, team),
        tab="submissions",
    )


def _context(request: HttpRequest, visited: Visit, phase: Phase, board: Leaderboard, team: Team) -> dict[str, object]:
    before = request.GET.get("before", "")
    submissions = submission_page(
        team=team.pk,
        statuses=SELECTABLE,
        before=int(before) if is_number(before) else LAST,
        phases=visited.phases_with_boards,
        only=phase,
    )
    page = submissions[:PAGE_SIZE]
    rows = build_rows(page, reader=visited.reader, now=visited.now)
    return {
        "phase": phase,
        "board": board,
        "rows": [
            (row, board.pk in scored.picked, scored.submission.may_rank) for row, scored in zip(rows, page, strict=True)
        ],
        "may_choose": may_choose(board, visited.now),
        "before": page[-1].submission.pk if len(submissions) > PAGE_SIZE else None,
    }
