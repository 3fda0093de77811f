"""A submission's page with its runs, files, choices and fact sheet; and its row in the list."""

from uuid import UUID

from csp.decorators import csp_exempt
from django.conf import settings
from django.contrib import messages
from django.db.models import Prefetch
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.views import person
from audit.middleware import mark_organizing
from competitions.catalog.models import Leaderboard
from competitions.catalog.questions import answers_of_form, shown_answer
from competitions.disclosure.outputs import (
    DETAILED_RESULTS,
    LogStream,
    may_download,
    programs_are_withheld,
    visible_streams,
)
from competitions.disclosure.readers import Reader, reader_for
from competitions.disclosure.receipts import disclosed_receipt
from competitions.disclosure.scores import may_know_board, smoke_scores
from competitions.factsheets.models import Question
from competitions.factsheets.services import fact_sheet_questions
from competitions.leaderboards.picks import may_choose, pick_add, pick_remove
from competitions.leaderboards.ranking.fact_columns import comparisons
from competitions.leaderboards.reading.results import (
    ScoredSubmission,
    known_results,
    load_boards,
    score_position,
    with_scores,
)
from competitions.leaderboards.reading.slices import run_slices
from competitions.resources.downloads import stored_response
from competitions.runs.models import Run, RunEvent, RunOutput
from competitions.runs.queue.positions import queue_positions
from competitions.runs.queue.smoke import projected_whole, time_limit_s
from competitions.runs.records.logs import log_text
from competitions.runs.services import submission_cancel_by
from competitions.submissions.access import visible_submissions
from competitions.submissions.annotations import annotations_edit, fact_sheet_edit, fact_sheet_is_open
from competitions.submissions.datasets import dataset_withdraw
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind, Reason, State, packages_advice
from competitions.teams.models import Membership
from competitions.web.details import details_response
from competitions.web.forms import AnnotationsForm
from competitions.web.presentation.runs import growing_context, run_history, run_stages, shown_log
from competitions.web.presentation.usage import run_usages, usage_charts
from competitions.web.progress import Progress, submission_progress, with_expected_start, without_advice
from competitions.web.refusals import back_to_form, entered_values
from competitions.web.submission_rows import build_rows
from competitions.web.views.competitions import render_tab
from competitions.web.visit import visit
from core.background.allowance import refused_files_left
from core.background.rows import asker_key
from core.refusals import Refusal


def find(request: HttpRequest, pk: int) -> Submission:
    """A submission the person may see, with its runs and its phase's boards; else 404."""
    rows = visible_submissions(person(request)).select_related("phase__competition", "team", "submitted_by", "file")
    runs = Run.objects.select_related("task", "queue", "worker")
    submission: Submission = get_object_or_404(rows.prefetch_related(Prefetch("runs", queryset=runs)), pk=pk)
    load_boards([submission.phase])
    return submission


def _scored(submission: Submission) -> ScoredSubmission:
    return with_scores([submission])[0]


@require_safe
def row(request: HttpRequest, pk: int) -> HttpResponse:
    """One row of the list, served alone: it asks again until the submission has ended."""
    submission = find(request, pk)
    reader = reader_for(person(request))
    rows = build_rows([_scored(submission)], reader=reader, now=reader.now)
    response = render(request, "web/submissions/_row.html", {"row": rows[0]})
    if submission.is_final:  # the list's page asks for the quota that is left, as what failed may have cost none
        response["HX-Trigger"] = "submission-ended"
    return response


@require_safe
def detail(request: HttpRequest, pk: int) -> HttpResponse:
    submission = find(request, pk)
    visited, entered = visit(request, submission.phase.competition.slug), entered_values(request)
    stored = {"tags": " ".join(submission.tags), "commit": submission.commit, "link": submission.link}
    context = _detail_context(request, submission, visited.reader) | {
        "entered": entered,
        "annotations": entered or stored,
    }
    return render_tab(request, visited, "web/submissions/submission.html", context, tab="submissions")


@require_safe
def live(request: HttpRequest, pk: int) -> HttpResponse:
    """The part of a submission's page that changes while it runs."""
    context = _detail_context(request, find(request, pk), reader_for(person(request)))
    return render(request, "web/submissions/_live.html", context)


def _detail_context(request: HttpRequest, submission: Submission, reader: Reader) -> dict[str, object]:
    now = reader.now
    results = known_results(_scored(submission), reader)
    position = score_position(submission, reader) if submission.disqualified_at is None else None
    questions = fact_sheet_questions(submission.phase)
    runs = list(submission.runs.all())
    positions = queue_positions(runs, now=now)
    growing = growing_context(submission, request.GET.get("run", ""))
    usages = run_usages(reader, submission.phase, growing["shown_runs"])
    is_organizer = reader.organizes(submission.phase)
    is_of_my_team = Membership.objects.filter(team=submission.team_id, user=person(request)).exists()

    def progress(run: Run | None = None) -> Progress:
        current = submission_progress(submission, positions, now=now, run=run)
        return without_advice(current) if is_organizer and not is_of_my_team else current

    is_refused = is_of_my_team and submission.reason == Reason.FILE_INVALID
    return {
        **growing,
        "submission": submission,
        "refused_left": refused_files_left(asker_key("team", submission.team_id), now) if is_refused else None,
        "cancelled_by": _cancelled_by(submission) if submission.status == State.CANCELLED else "",
        "refused_limit": settings.REFUSED_FILES_PER_DAY,
        "progress": with_expected_start(progress(), runs, now=now),
        "runs": [
            _run_context(reader, submission, run, progress(run))
            | {"usage": usage_charts(run, submission.phase, usages.get(run.pk, []))}
            for run in growing["shown_runs"]
        ],
        "says_states": sum(not _is_folded(submission, run) for run in growing["shown_runs"]) > 1,
        "position": position,
        "scores": [
            (column, value) for column, value in results.values if position is None or column != position.column
        ],
        "withholds_scores": results.withholds_scores,
        "counting": results.counting,
        "several_boards": len(results.boards) > 1,
        "choices": [choice for choice in results.choices if may_choose(choice.board, now) or choice.is_picked],
        "may_choose": any(may_choose(choice.board, now) for choice in results.choices),
        "is_organizer": is_organizer,
        "facts": shown_answers(submission, questions),
        "comparisons": comparisons(submission, questions, results.exact),
        "asks_facts": bool(questions) and fact_sheet_is_open(submission, now),
        "is_of_my_team": is_of_my_team,
    }


def _is_folded(submission: Submission, run: Run) -> bool:
    """A smoke run that passed: one line until somebody opens it."""
    return run.is_smoke and run.state == State.FINISHED and not submission.is_smoke


def _cancelled_by(submission: Submission) -> str:
    """Name whoever cancelled it, where the history says so: a member, or the organizers."""
    moves = RunEvent.objects.filter(run__submission=submission, target=State.CANCELLED).order_by("pk")
    kind, _, name = (moves.values_list("actor", flat=True).first() or "").partition(":")
    return {"user": name, "organizer": "the organizers"}.get(kind, "")


def _run_context(reader: Reader, submission: Submission, run: Run, progress: Progress) -> dict[str, object]:
    phase = submission.phase
    streams = visible_streams(reader, phase, is_smoke=run.is_smoke)
    receipt = disclosed_receipt(reader, phase, run.receipt, run=run)
    history = run_history(run, submission)
    whole = projected_whole(run, phase)
    logs = [shown_log(stream, log_text(run, stream), is_final=run.is_final) for stream in streams]
    return {
        "run": run,
        "is_folded": _is_folded(submission, run),
        "packages": packages_advice("\n".join(log.text for log in logs), phase)
        if run.reason == Reason.PROGRAM_ERROR
        else "",
        "smoke_scores": smoke_scores(reader, phase, run.scores) if run.is_smoke else {},
        "smoke_limit_s": time_limit_s(run, phase) if run.is_smoke else None,
        "whole": whole,
        "whole_verdict": whole.verdict(phase.time_limit_s) if whole else "",
        "hides_programs": LogStream.INGESTION not in streams
        and programs_are_withheld(phase)
        and submission.kind == Kind.CODE,
        "receipt": receipt,
        "notes": receipt.get("notes") or [],
        "progress": progress,
        "logs": logs,
        "events": history,
        "stages": run_stages(run, history, now=reader.now),
        **_files(reader, submission, run),
    }


def shown_answers(submission: Submission, questions: list[Question]) -> list[tuple[Question, str]]:
    """The answers to the questions as people read them."""
    answered = [question for question in questions if question.key in submission.fact_sheet]
    return [(question, shown_answer(submission.fact_sheet[question.key])) for question in answered]


@require_http_methods(["GET", "HEAD", "POST"])
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
    questions, entered = fact_sheet_questions(submission.phase), entered_values(request)
    answers = answers_of_form(entered) if entered else submission.fact_sheet
    context = {
        "submission": submission,
        "questions": [(question, answers.get(question.key)) for question in questions],
        "is_open": fact_sheet_is_open(submission, visited.now) and submission.team_id == visited.facts.team_id,
        "revisions": submission.fact_sheet_revisions.select_related("changed_by")[:50],
    }
    return render_tab(request, visited, "web/submissions/fact_sheet.html", context, tab="submissions")


def _files(reader: Reader, submission: Submission, run: Run) -> dict[str, object]:
    """Files of the newest attempt that this reader may have; the page with details is kept apart."""
    outputs = list(run.outputs.filter(attempt__in=run.attempts_shown))
    shown = [output for output in outputs if may_download(reader, submission.phase, output.name, run=run)]
    return {
        "outputs": [output for output in shown if output.name != DETAILED_RESULTS],
        "has_details": any(output.name == DETAILED_RESULTS for output in shown),
        "slices": run_slices(reader, submission, run, outputs),
    }


@require_safe
def output(request: HttpRequest, pk: int, name: str) -> HttpResponseBase:
    """A file of a run's newest attempt: of the named run, else of the first with it but smoke runs."""
    submission, chosen = find(request, pk), request.GET.get("run", "")
    reader = reader_for(person(request))
    for run in sorted(submission.runs.all(), key=lambda run: run.is_smoke):
        if str(run.pk) != (chosen or str(run.pk)):
            continue
        if not may_download(reader, submission.phase, name, run=run):
            continue
        outputs = RunOutput.objects.filter(run=run, attempt__in=run.attempts_shown, name=name)
        if (output := outputs.select_related("file").last()) is not None:
            return stored_response(request, output.file, file_name=f"submission-{pk}-{name}")
    raise Http404


@require_safe
def source(request: HttpRequest, pk: int) -> HttpResponseBase:
    submission = find(request, pk)
    return stored_response(request, submission.file, file_name=submission.file_name)


@require_POST
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    submission = find(request, pk)
    submission_cancel_by(submission=submission, by=person(request), now=timezone.now())
    messages.info(request, f"Submission #{pk} is being cancelled.")
    return redirect("web:submission", pk)


@require_POST
def annotate(request: HttpRequest, pk: int) -> HttpResponse:
    """Change the tags, the commit and the link of a submission; organizers may remove commit and link."""
    submission, user = find(request, pk), person(request)
    try:
        annotations = AnnotationsForm(request.POST).annotations
        if organizes := reader_for(user).organizes(submission.phase):
            mark_organizing(request)
        annotations_edit(submission=submission, annotations=annotations, by=user, organizes=organizes)
    except Refusal as refusal:
        return back_to_form(request, refusal, reverse("web:submission", args=[pk]))
    messages.success(request, "Saved.")
    return redirect("web:submission", pk)


@require_POST
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Take the team's dataset off a board that grows."""
    dataset = dataset_withdraw(submission=find(request, pk), by=person(request), now=timezone.now())
    messages.info(request, f"The dataset “{dataset.name}” was withdrawn.")
    return redirect("web:submission", pk)


@require_POST
def pick(request: HttpRequest, pk: int, board_key: str, action: str) -> HttpResponse:
    """Choose the submission for a board of its phase, or take the choice back."""
    submission, user = find(request, pk), person(request)
    board = get_object_or_404(Leaderboard.objects.select_related("phase"), phase=submission.phase_id, key=board_key)
    if not may_know_board(reader_for(user), board):
        raise Http404
    act = {"add": pick_add, "remove": pick_remove}[action]
    act(board=board, submission=submission, by=user, now=timezone.now())
    return redirect("web:submission", pk)


@csp_exempt()  # type: ignore[arg-type]  # its types know no view with arguments
@require_safe
@xframe_options_sameorigin
def details(request: HttpRequest, pk: int, run_id: UUID) -> HttpResponse:
    """The scoring program's page of details, for a frame in which its scripts reach nothing."""
    submission = find(request, pk)
    run = get_object_or_404(submission.runs, pk=run_id)
    if not may_download(reader_for(person(request)), submission.phase, DETAILED_RESULTS, run=run):
        raise Http404
    return details_response(run)
