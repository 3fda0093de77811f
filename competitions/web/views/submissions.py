"""The Submissions page with its upload panel, and a submission's own page, which follow a run while it goes."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final
from uuid import UUID

from csp.decorators import csp_exempt
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch, QuerySet, prefetch_related_objects
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import User
from competitions.catalog.models import Phase
from competitions.catalog.rights import organizes
from competitions.factsheets.answers import questions_of
from competitions.factsheets.models import Question
from competitions.leaderboards.facts import comparisons
from competitions.leaderboards.loading import attach_boards, attach_standings, several_boards, with_main_score
from competitions.leaderboards.models import Leaderboard, Pick
from competitions.leaderboards.picks import may_choose, pick_add, pick_remove
from competitions.leaderboards.rules import Rule
from competitions.leaderboards.standing import standing_of
from competitions.leaderboards.visibility import can_see_scores
from competitions.numbers import is_number
from competitions.questions import answers_of_form, shown_answer
from competitions.refusals import Refusal
from competitions.resources.models import Upload
from competitions.resources.storage import open_stored
from competitions.resources.uploads import upload_whole
from competitions.submissions.access import log_streams, may_download, submissions_of
from competitions.submissions.fact_sheets import fact_sheet_edit, fact_sheet_is_open
from competitions.submissions.logs import log_text
from competitions.submissions.models import Run, RunLog, RunOutput, Submission
from competitions.submissions.quota import allowances
from competitions.submissions.receipts import receipt_for
from competitions.submissions.services import submission_cancel, submission_create
from competitions.submissions.states import LIVE, Kind, State
from competitions.teams.models import Membership
from competitions.teams.services import require_registration
from competitions.web.details import DETAILED, details_response
from competitions.web.progress import progress_of, runs_with_places, with_outlook
from competitions.web.views.competitions import render_tab
from competitions.web.views.teams import person
from competitions.web.visit import Visit, visit

PAGE_SIZE = 20
LOG_TAIL_CHARS = 100_000


# Filters of the list: name -> statuses; none means all.
FILTERS: Final[dict[str, tuple[State, ...]]] = {
    "all": (),
    "finished": (State.FINISHED,),
    "failed": (State.FAILED, State.CANCELLED),
    "running": LIVE,
}


@require_GET
@login_required
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """The team's submissions, newest first, with the panel to make one."""
    visited = visit(request, slug)
    team_id = visited.team_id
    phase = visited.phase(request.GET.get("phase"))
    show = request.GET.get("show", "")
    show = show if show in FILTERS else "all"
    rows = Submission.objects.filter(team=team_id) if team_id is not None else Submission.objects.none()
    if FILTERS[show]:
        rows = rows.filter(status__in=FILTERS[show])
    before = request.GET.get("before", "")
    if is_number(before):
        rows = rows.filter(pk__lt=int(before))
    found = _listed(rows.order_by("-pk")[: PAGE_SIZE + 1], visited)
    context = {
        "phase": phase,
        "show": show,
        "filters": FILTERS,
        "rows": [row_context(one, sees=visited.can_see_scores) for one in found[:PAGE_SIZE]],
        "before": found[PAGE_SIZE - 1].pk if len(found) > PAGE_SIZE else None,
        **(_panel(visited, phase, team_id) if team_id is not None and phase is not None else {}),
    }
    return render_tab(request, visited, "submissions", context)


def _listed(submissions: QuerySet[Submission], visited: Visit) -> list[Submission]:
    """With everything that a row shows, of the one competition that is visited: its phases are at hand already,
    and places in the queue are counted only when something waits."""
    phases = {phase.pk: phase for phase in visited.phases}
    is_joined = not several_boards(phases.values())
    found = list(with_main_score(submissions, phases.values()) if is_joined else submissions)
    ended = all(submission.is_final for submission in found)
    runs = Run.objects.defer("receipt", "scores") if ended else runs_with_places()
    prefetch_related_objects(found, Prefetch("runs", queryset=runs))
    attach_standings(found, phases, is_joined=is_joined)
    return found


def _panel(visited: Visit, phase: Phase, team_id: int) -> dict[str, Any]:
    """What stands beside the upload: quota, reset, closing time, budget."""
    limits = allowances(team_id=team_id, phase=phase, now=visited.now)
    return {
        "allowances": limits,
        "is_open": phase.is_open(visited.now) or phase.takes_late(visited.now),
        "is_late": phase.takes_late(visited.now),
        "selections": selections(visited, phase, team_id),
        "exhausted": next((limit for limit in limits if not limit.left), None),
        "file_name": _expected_file_name(phase),
        "questions": [(one, None) for one in questions_of(phase)] if visited.has_questions else [],
    }


def selections(visited: Visit, phase: Phase, team_id: int) -> list[tuple[Leaderboard, int]]:
    """Boards of the phase where the team selects its final submissions, with how many it has selected."""
    boards = [
        board for board in phase.leaderboards.all() if board.rule == Rule.SELECTED and may_choose(board, visited.now)
    ]
    return [(board, Pick.objects.filter(leaderboard=board, team=team_id).count()) for board in boards]


def _expected_file_name(phase: Phase) -> str | None:
    from scoring.submissions import official_filename

    wanted = phase.prediction_format
    return official_filename(wanted["dataset"], wanted["split"]) if wanted else None


def row_context(submission: Submission, *, sees: Callable[[Leaderboard], bool]) -> dict[str, Any]:
    """What a row, or the head of the submission's page, shows; `sees`: this person may see the scores of a board."""
    now = timezone.now()
    standing = standing_of(submission, sees)
    return {
        "submission": submission,
        "scores": standing.values,
        "is_sealed": standing.sealed,
        "counting": standing.counting,
        "several_boards": len(submission.phase.leaderboards.all()) > 1,
        "choices": [choice for choice in standing.choices if may_choose(choice.board, now) or choice.is_picked],
        "may_choose": any(may_choose(choice.board, now) for choice in standing.choices),
        "progress": progress_of(submission, now=now),
    }


@require_POST
@login_required
def submit(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a submission from a finished upload (the page's script) or from a file in the form (without script).

    The script asks for JSON; a refusal then carries its code, so that the upload is not lost.
    """
    visited, user = visit(request, slug), person(request)
    phase = visited.phase(request.POST.get("phase"))
    kind = request.POST.get("kind", "")
    if phase is None or kind not in Kind.values:
        raise Http404
    wants_json = request.headers.get("Accept", "") == "application/json"
    try:
        require_registration(user=user, competition=visited.competition)
        made = submission_create(
            user=user, phase=phase, upload=_upload(request, visited), kind=Kind(kind), now=timezone.now(),
            description=request.POST.get("description", ""), fact_sheet=answers_of_form(request.POST),
            idempotency_key=request.POST.get("idempotency_key", "")[:100],
        )  # fmt: skip
    except Refusal as refusal:
        if wants_json:
            answer = {"code": refusal.stable_code, "detail": refusal.detail} | refusal.extra
            return JsonResponse(answer, status=refusal.http_status)
        messages.error(request, refusal.detail)
        return redirect("web:submissions", slug)
    url = f"{visited.url('submissions')}?phase={phase.slug}#submission-{made.pk}"
    if wants_json:
        return JsonResponse({"id": made.pk, "url": url}, status=201)
    messages.success(request, f"Submission #{made.pk} was accepted.")
    return redirect(url)


def _upload(request: HttpRequest, visited: Visit) -> Upload:
    key = request.POST.get("upload", "")
    if key:
        return get_object_or_404(Upload, key=_uuid(key), user=person(request))
    file = request.FILES.get("file")
    if file is None:
        raise NoFile
    return upload_whole(
        user=person(request),
        file_name=file.name or "upload",
        size_bytes=file.size or 0,
        chunks=file.chunks(),
        now=visited.now,
    )


class NoFile(Refusal):
    code, http_status = "no_file", 422

    def __init__(self) -> None:
        super().__init__("No file was chosen. Choose the file that holds your submission.")


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404 from error


def find(request: HttpRequest, pk: int) -> Submission:
    """A submission that the person may see; any other does not exist."""
    rows = submissions_of(person(request)).select_related("phase__competition", "team", "submitted_by", "file")
    found: Submission = get_object_or_404(rows.prefetch_related(Prefetch("runs", queryset=runs_with_places())), pk=pk)
    attach_boards([found.phase])
    attach_standings([found], {found.phase_id: found.phase})
    return found


@require_GET
@login_required
def row(request: HttpRequest, pk: int) -> HttpResponse:
    """One row of the list, served alone: it asks again until the submission has ended."""
    submission = find(request, pk)
    return render(request, "web/_submission_row.html", row_context(submission, sees=_sees(person(request))))


def _sees(user: User) -> Callable[[Leaderboard], bool]:
    return partial(can_see_scores, user)


@require_GET
@login_required
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    submission = find(request, pk)
    visited = visit(request, submission.phase.competition.slug)
    return render_tab(request, visited, "submission", _detail_context(request, submission))


@require_GET
@login_required
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of a submission's page that changes while it runs."""
    return render(request, "web/_submission_live.html", _detail_context(request, find(request, pk)))


def _detail_context(request: HttpRequest, submission: Submission) -> dict[str, Any]:
    user = person(request)
    streams = log_streams(user, submission.phase)
    questions = questions_of(submission.phase)
    runs = [
        {
            "run": run,
            "receipt": receipt_for(run, streams=streams),
            "progress": progress_of(submission, now=timezone.now(), run=run),
            "logs": [
                {
                    "stream": stream,
                    "label": RunLog.Stream(stream).label,
                    "text": log_text(run, stream)[-LOG_TAIL_CHARS:],
                }
                for stream in streams
            ],
            **_files(user, submission, run, streams),
            "events": list(run.events.all()),
        }
        for run in submission.runs.all()
    ]
    row = row_context(submission, sees=_sees(user))
    now = timezone.now()
    return row | {
        "progress": with_outlook(row["progress"], list(submission.runs.all()), now=now),
        "runs": runs,
        "is_organizer": organizes(user, submission.phase),
        "facts": facts_of(submission, questions),
        "comparisons": comparisons(submission, questions, standing_of(submission, _sees(user)).exact),
        "asks_facts": bool(questions) and fact_sheet_is_open(submission, timezone.now()),
        "is_of_my_team": Membership.objects.filter(team=submission.team_id, user=user).exists(),
    }


def facts_of(submission: Submission, questions: list[Question]) -> list[tuple[Question, str]]:
    """What was answered, as people read it."""
    answered = [question for question in questions if question.key in submission.fact_sheet]
    return [(question, shown_answer(submission.fact_sheet[question.key])) for question in answered]


@require_http_methods(["GET", "POST"])
@login_required
def fact_sheet(request: HttpRequest, pk: int) -> HttpResponse:
    """The submission's answers with their history, and the form to change them until the deadline."""
    submission, user = find(request, pk), person(request)
    if request.method == "POST":
        changed = fact_sheet_edit(
            submission=submission, answers=answers_of_form(request.POST), by=user, now=timezone.now()
        )
        messages.success(request, "The fact sheet was changed." if changed else "The fact sheet is as it was.")
        return redirect("web:submission", pk)
    visited = visit(request, submission.phase.competition.slug)
    asked = questions_of(submission.phase)
    context = {
        "submission": submission,
        "questions": [(question, submission.fact_sheet.get(question.key)) for question in asked],
        "is_open": fact_sheet_is_open(submission, visited.now) and submission.team_id == visited.team_id,
        "revisions": submission.fact_sheet_revisions.select_related("changed_by")[:50],
    }
    return render_tab(request, visited, "fact_sheet", context)


def _files(user: User, submission: Submission, run: Run, streams: list[str]) -> dict[str, Any]:
    """What the newest attempt left, as far as this person may have it; the page with details apart from the files."""
    sees = _sees_main_board(user, submission)
    names = [
        output
        for output in run.outputs.filter(attempt__in=run.attempts_shown)
        if may_download(user, submission.phase, output.name, streams=streams, sees_scores=sees)
    ]
    return {
        "outputs": [output for output in names if output.name != DETAILED],
        "has_details": any(output.name == DETAILED for output in names),
        "notes": run.receipt.get("notes") or [] if RunLog.Stream.SCORING in streams else [],
    }


def _sees_main_board(user: User, submission: Submission) -> bool:
    board = submission.phase.leaderboards.first()
    return board is not None and can_see_scores(user, board)


@require_GET
@login_required
def output(request: HttpRequest, pk: int, name: str) -> FileResponse:
    """A file that the newest attempt left."""
    submission = find(request, pk)
    streams = log_streams(person(request), submission.phase)
    for run in submission.runs.all():
        kept = (
            RunOutput.objects.filter(run=run, attempt__in=run.attempts_shown, name=name).select_related("file").last()
        )
        sees = _sees_main_board(person(request), submission)
        if kept is not None and may_download(
            person(request), submission.phase, kept.name, streams=streams, sees_scores=sees
        ):
            return FileResponse(open_stored(kept.file), as_attachment=True, filename=f"submission-{pk}-{name}")
    raise Http404


@require_GET
@login_required
def source(request: HttpRequest, pk: int) -> FileResponse:
    submission = find(request, pk)
    return FileResponse(open_stored(submission.file), as_attachment=True, filename=submission.file_name)


@require_POST
@login_required
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    submission = find(request, pk)
    submission_cancel(submission=submission, actor=f"user:{person(request).username}", now=timezone.now())
    messages.info(request, f"Submission #{pk} is being cancelled.")
    return redirect("web:submission", pk)


@require_POST
@login_required
def pick(request: HttpRequest, pk: int, board_key: str, action: str) -> HttpResponse:
    """Choose the submission for a board of its phase, or take the choice back."""
    submission, user = find(request, pk), person(request)
    board = get_object_or_404(Leaderboard.objects.select_related("phase"), phase=submission.phase_id, key=board_key)
    act = {"add": pick_add, "remove": pick_remove}[action]
    act(board=board, submission=submission, by=user, now=timezone.now())
    return redirect("web:submission", pk)


@csp_exempt()  # type: ignore[arg-type]  # its types know no view with arguments
@require_GET
@login_required
@xframe_options_sameorigin
def details(request: HttpRequest, pk: int, run_id: UUID) -> HttpResponse:
    """The page with details that the scoring program wrote, for a frame: its scripts run in an origin of their own and reach nothing."""
    submission, user = find(request, pk), person(request)
    streams, sees = log_streams(user, submission.phase), _sees_main_board(user, submission)
    if not may_download(user, submission.phase, DETAILED, streams=streams, sees_scores=sees):
        raise Http404
    return details_response(get_object_or_404(submission.runs, pk=run_id))
