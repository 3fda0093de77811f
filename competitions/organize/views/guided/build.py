"""The trial, the review and the publication."""

from dataclasses import dataclass, replace
from typing import Final, cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from competitions.catalog.models import Column, Leaderboard
from competitions.catalog.publishing import publication_cancel, publication_plan
from competitions.catalog.readiness import competition_warnings
from competitions.disclosure.outputs import LogStream, visible_streams
from competitions.disclosure.readers import reader_for
from competitions.disclosure.uncertainty import Foreseen
from competitions.leaderboards.reading.results import known_results, load_boards, with_scores
from competitions.leaderboards.reading.uncertainty import foreseen_differences
from competitions.leaderboards.uncertainty.asking import waiting_boards
from competitions.organize.answers import ScoreOnScale
from competitions.organize.building.jobs import build_request, draft_publish, draft_ready
from competitions.organize.forms import PlanForm, PublishForm
from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.paths import first_open, step_rail
from competitions.organize.steps.table.columns import column_shapes
from competitions.organize.steps.table.data import answer_texts
from competitions.organize.views.access import own_draft
from competitions.runs.queue.positions import queue_positions
from competitions.runs.records.logs import log_text
from competitions.submissions.models import Submission
from competitions.web.checklist import checklist
from competitions.web.forms import cleaned
from competitions.web.progress import Progress, submission_progress

LOG_CHARS: Final = 20_000
FOR_ORGANIZER: Final = (
    "A team that sends in the sample would read this. Read the log, change the solution, the sample submission or the metric, "
    "then build again."
)


@dataclass(frozen=True)
class TrialResult:
    """Scores of a trial that the organizer may see; a sealed part is scored and stays sealed.

    `scale`: what the best constant and a perfect prediction have, of the columns in `scores`.
    `foreseen`: the differences that each board's test set will tell apart, once the sample `is_compared`.
    """

    submission: Submission
    progress: Progress
    scores: list[tuple[Column, str]]
    scale: list[tuple[Column, str, str]]
    withholds_scores: bool
    log: str
    seconds: float | None
    foreseen: list[tuple[Leaderboard, Foreseen]]
    is_compared: bool


def trial_result(draft: CompetitionDraft) -> TrialResult | None:
    """The trial as its owner may see it; None where there is none."""
    rows = Submission.objects.select_related("phase__competition", "team", "submitted_by", "file")
    submission = rows.prefetch_related("runs__task", "runs__queue").filter(pk=draft.trial_id or 0).first()
    if submission is None:
        return None
    load_boards([submission.phase])
    reader, runs = reader_for(draft.owner), list(submission.runs.all())
    results = known_results(with_scores([submission])[0], reader)
    progress = submission_progress(submission, queue_positions(runs, now=reader.now), now=reader.now)
    if draft.start == CompetitionDraft.Start.TABLE and progress.advice:
        progress = replace(progress, blame="this competition as it is set up", advice=FOR_ORGANIZER)
    sees_log = LogStream.SCORING in visible_streams(reader, submission.phase)
    log = "".join(log_text(run, LogStream.SCORING) for run in runs)[-LOG_CHARS:] if sees_log else ""
    seconds = (submission.finished_at - submission.created_at).total_seconds() if submission.finished_at else None
    boards = [board for board in submission.phase.leaderboards.all() if submission.is_final]
    known = foreseen_differences(reader, boards)
    return TrialResult(
        submission,
        progress,
        results.values,
        _scale(draft, [column for column, _ in results.values]),
        results.withholds_scores,
        log,
        seconds,
        foreseen=[(board, known[board.pk]) for board in boards if board.pk in known],
        is_compared=submission.is_final and not waiting_boards().filter(leaderboard__in=boards).exists(),
    )


def _scale(draft: CompetitionDraft, columns: list[Column]) -> list[tuple[Column, str, str]]:
    """The scores of the best constant and of a perfect prediction, of columns that have either."""
    scale = {score["key"]: score for score in cast("list[ScoreOnScale]", draft.score_scale)}

    def shown(column: Column, value: float | None) -> str:
        return "" if value is None else column.shown(value)

    pairs = [(column, scale[column.key]) for column in columns if column.key in scale]
    return [(column, shown(column, score["constant"]), shown(column, score["perfect"])) for column, score in pairs]


def _context(draft: CompetitionDraft) -> dict[str, object]:
    return {"draft": draft, "open_step": first_open(draft), "result": trial_result(draft)}


@require_safe
def trial(request: HttpRequest, key: UUID) -> HttpResponse:
    draft = own_draft(request, key)
    targets = column_shapes(draft, answer_texts(draft, "columns", "targets"))
    context = _context(draft) | {"rail": step_rail(draft, "trial"), "targets": targets}
    return render(request, "organize/guided/trial.html", context)


@require_safe
def status(request: HttpRequest, key: UUID) -> HttpResponse:
    """The progress of build and trial, served alone; it asks again until both are over."""
    return render(request, "organize/guided/_build.html", _context(own_draft(request, key)))


@require_POST
def build(request: HttpRequest, key: UUID) -> HttpResponse:
    """Have the competition made of the answers, in the background."""
    draft = own_draft(request, key)
    build_request(draft=draft, now=timezone.now())
    return redirect("organize:trial", draft.key)


@require_safe
def review(request: HttpRequest, key: UUID) -> HttpResponse:
    draft = own_draft(request, key)
    warnings = competition_warnings(draft.competition) if draft.competition else []
    steps = checklist(draft.competition, warnings) if draft.competition else []
    context = {"steps": [step for step in steps if step.title != "Published"], "rail": step_rail(draft, "review")}
    return render(request, "organize/guided/review.html", _context(draft) | context | {"plan": PlanForm()})


@require_POST
def publish(request: HttpRequest, key: UUID) -> HttpResponse:
    """Show the competition to everybody, now or at an instant."""
    draft = own_draft(request, key)
    when = cleaned(PublishForm(request.POST))["when"]
    if when == "planned":
        at = cleaned(PlanForm(request.POST))["at"]
        publication_plan(draft_ready(draft), at=at, now=timezone.now())
        messages.success(request, f"“{draft.title}” will be published at {at:%Y-%m-%d %H:%M} UTC. You will get a mail.")
        return redirect("organize:review", draft.key)
    if when == "cancel" and draft.competition:
        publication_cancel(draft.competition)
        messages.success(request, f"“{draft.title}” stays a draft until you publish it.")
        return redirect("organize:review", draft.key)
    competition = draft_publish(draft=draft)
    messages.success(request, f"“{competition}” is published. Everybody sees it now.")
    return redirect("web:overview", competition.slug)
