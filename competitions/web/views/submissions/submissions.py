"""The Submissions page: the team's list, the panel that makes one, and the choice of final ones."""

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from competitions.catalog.models import Leaderboard, Phase
from competitions.catalog.questions import answers_of_form
from competitions.disclosure.scores import may_know_board, visible_columns
from competitions.environments.choice import NamedEnvironment
from competitions.environments.models import EnvironmentFile
from competitions.factsheets.services import fact_sheet_questions
from competitions.leaderboards.models import Pick
from competitions.leaderboards.picks import finals_choose, may_choose
from competitions.leaderboards.ranking.rules import Rule
from competitions.leaderboards.ranking.values import deciding_column
from competitions.leaderboards.reading.export import submissions_csv
from competitions.leaderboards.reading.results import ScoredSubmission, submission_columns
from competitions.resources.rooms import takes_uploads
from competitions.resources.uploads import take_upload
from competitions.runs.queue.smoke import smoke_limit_s
from competitions.submissions.access import tagged, team_submissions
from competitions.submissions.annotations import LONGEST_TAG
from competitions.submissions.file_checks.kinds import choose_kind
from competitions.submissions.file_checks.preflight import file_contract, look_before_upload
from competitions.submissions.models import Submission
from competitions.submissions.quota import allowances, smoke_allowance
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import LIVE, Kind, State
from competitions.teams.models import Team
from competitions.teams.services import require_registration
from competitions.web.forms import FileLookForm, SubmissionForm, cleaned
from competitions.web.presentation.charts import own_chart
from competitions.web.refusals import back_to_form, entered_values, wants_json
from competitions.web.submission_rows import LAST, PAGE_SIZE, build_rows, drawn, submission_page
from competitions.web.views.competitions import render_tab
from competitions.web.visit import Visit, team_of_visit, visit
from core.design.charts import Chart
from core.refusals import Refusal, refusal_response
from files.text import is_number

# Filters of the list: name -> statuses.
FILTERS: Final[dict[str, tuple[State, ...]]] = {
    "all": tuple(State),
    "finished": (State.FINISHED,),
    "failed": (State.FAILED, State.CANCELLED),
    "running": LIVE,
}


@require_safe
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """The team's submissions, newest first, with the panel to make one."""
    visited = visit(request, slug, for_team=True)
    team_id = visited.facts.team_id
    phase = visited.phase(request.GET.get("phase"))
    show = request.GET.get("show", "")
    show = show if show in FILTERS else "all"
    before = request.GET.get("before", "")
    tag = request.GET.get("tag", "")[:LONGEST_TAG]
    submissions = (
        []
        if team_id is None
        else submission_page(
            team=team_id,
            statuses=FILTERS[show],
            before=int(before) if is_number(before) else LAST,
            phases=visited.phases_with_boards,
            tag=tag,
        )
    )
    context = {
        "phase": phase,
        "show": show,
        "tag": tag,
        "phase_query": f"{urlencode({'phase': phase.slug})}&" if phase else "",
        "tag_query": f"&{urlencode({'tag': tag})}" if tag else "",
        "filters": FILTERS,
        "rows": drawn(build_rows(submissions[:PAGE_SIZE], reader=visited.reader, now=visited.now)),
        "chart": _trend(visited, phase, submissions[:PAGE_SIZE]),
        "before": submissions[PAGE_SIZE - 1].submission.pk if len(submissions) > PAGE_SIZE else None,
        **(_panel(request, visited, phase, team_id) if team_id is not None and phase is not None else {}),
    }
    return render_tab(request, visited, "web/submissions/submissions.html", context, tab="submissions")


@require_safe
def download(request: HttpRequest, slug: str) -> HttpResponseBase:
    """The team's submissions as CSV, those of the list's filters on all its pages."""
    visited = visit(request, slug, for_team=True)
    if visited.facts.team_id is None:
        raise Http404
    shown = FILTERS.get(request.GET.get("show", ""), FILTERS["all"])
    own = team_submissions(visited.facts.team_id).filter(status__in=shown)
    if tag := request.GET.get("tag", "")[:LONGEST_TAG]:
        own = tagged(own, tag)
    return submissions_csv(own, visited.phases_with_boards, visited.reader, name=f"{slug}-own-submissions")


def _trend(visited: Visit, phase: Phase | None, listed: list[ScoredSubmission]) -> Chart | None:
    """A chart of the listed submissions' scores over time, on the phase's board if this person sees it."""
    board = visited.board(phase)
    primary = deciding_column(list(board.columns.all())) if board is not None else None
    if board is None or primary is None or primary not in visible_columns(visited.reader, board):
        return None
    scores = [
        (scored.submission, scored.scores[board.pk].values.get(primary.key))
        for scored in listed
        if board.pk in scored.scores and primary in submission_columns(visited.reader, scored.submission, board)
    ]
    known = [(submission.received_at, value, f"#{submission.pk}") for submission, value in scores if value is not None]
    return own_chart(sorted(known), primary)


def _panel(request: HttpRequest, visited: Visit, phase: Phase, team_id: int) -> dict[str, object]:
    """Quota, closing time and budget beside the upload, and the values of a refused form."""
    entered = entered_values(request)
    answers = answers_of_form(entered)
    limits = allowances(team_id=team_id, phase=phase, now=visited.now)
    return {
        "allowances": limits,
        "is_open": phase.is_open(visited.now) or phase.takes_late(visited.now),
        "is_late": phase.takes_late(visited.now),
        "selections": selections(visited, phase, team_id),
        "smoke_runs": smoke_allowance(team_id, now=visited.now) if phase.has_smoke_run else None,
        "smoke_limit_s": smoke_limit_s(phase),
        "exhausted": next((limit for limit in limits if not limit.left), None),
        "file_name": phase.official_file_name,
        "brought": _brought(phase, team_id),
        "questions": [(question, answers.get(question.key)) for question in fact_sheet_questions(phase)]
        if visited.competition.has_questions
        else [],
        "entered": entered,
    }


def _brought(phase: Phase, team_id: int) -> dict[str, list[str]]:
    """References to the team's weights and images that this phase takes, by kind, newest versions first."""
    if not phase.own_weights and not phase.own_images:
        return {}
    ready = EnvironmentFile.objects.filter(team=team_id, state=EnvironmentFile.State.READY)
    references: dict[str, list[str]] = {"weights": [], "image": []}
    for file in ready:
        references[file.kind].append(file.reference)
    return references


def selections(visited: Visit, phase: Phase, team_id: int) -> list[tuple[Leaderboard, int]]:
    """Boards of the phase where the team selects its final submissions, with how many it has selected."""
    boards = [
        board
        for board in phase.leaderboards.all()
        if board.rule == Rule.SELECTED and may_choose(board, visited.now) and may_know_board(visited.reader, board)
    ]
    return [(board, Pick.objects.filter(leaderboard=board, team=team_id).count()) for board in boards]


@require_POST
def look_at_file(request: HttpRequest, slug: str) -> HttpResponse:
    """Say by a file's name, and by those in a zip, what it would be refused for before it is sent."""
    visited, user = visit(request, slug), person(request)
    form = FileLookForm(request.POST)
    phase = visited.phase(form["phase"].value())
    if phase is None:
        raise Http404
    try:
        values = cleaned(form)
        require_registration(user=user, competition=visited.competition)
        kind, file_name, names = Kind(values["kind"]), values["file_name"], values["names"]
        if not values["kind_is_sure"]:
            kind = choose_kind(phase, lambda: names, file_name, chosen=kind)
        look_before_upload(file_contract(phase=phase, kind=kind, file_name=file_name), names)
    except Refusal as refusal:
        return refusal_response(refusal)
    return JsonResponse({"kind": kind})


@takes_uploads(visit)
@require_POST
def submit(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a submission from a finished upload, or from a file in the form.

    The script asks for JSON; a refusal then carries its code, so that the upload is not lost.
    """
    visited, user = visit(request, slug), person(request)
    form = SubmissionForm(request.POST, request.FILES)
    phase = visited.phase(form["phase"].value())
    if phase is None:
        raise Http404
    try:
        values = cleaned(form)
        require_registration(user=user, competition=visited.competition)
        submission = submission_create(
            NewSubmission(
                user=user,
                phase=phase,
                upload=take_upload(user, values["file"], visited.now, key=values["upload"]),
                kind=Kind(values["kind"]),
                kind_is="certain" if values["kind_is_sure"] else "chosen",
                description=values["description"],
                annotations=form.annotations,
                fact_sheet=answers_of_form(request.POST),
                idempotency_key=values["idempotency_key"],
                is_smoke=values["smoke"],
                environment=NamedEnvironment(values["weights"], values["image"]),
            ),
            now=timezone.now(),
        )
    except Refusal as refusal:
        return back_to_form(request, refusal, f"{visited.url('submissions')}?phase={phase.slug}")
    url = f"{visited.url('submissions')}?phase={phase.slug}#submission-{submission.pk}"
    messages.success(request, f"Submission #{submission.pk} was accepted.")  # shown on the page that the script goes to
    return JsonResponse({"id": submission.pk, "url": url}, status=201) if wants_json(request) else redirect(url)


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
        _finals_context(request, visited, phase, board, team),
        tab="submissions",
    )


def _finals_context(
    request: HttpRequest, visited: Visit, phase: Phase, board: Leaderboard, team: Team
) -> dict[str, object]:
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
