"""Two of a team's submissions to one phase, side by side: facts, scores, meters, receipts, logs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.timesince import timesince
from django.views.decorators.http import require_safe

from accounts.views import person
from competitions.disclosure.outputs import visible_streams
from competitions.disclosure.readers import Reader
from competitions.disclosure.receipts import disclosed_receipt
from competitions.leaderboards.reading.results import (
    BoardResults,
    ScoredSubmission,
    known_results,
    load_boards,
    with_scores,
)
from competitions.runs.models import Run
from competitions.runs.records.logs import log_text
from competitions.submissions.access import visible_submissions
from competitions.submissions.models import Submission
from competitions.submissions.states import State
from competitions.web.templatetags.podium import duration, size
from competitions.web.views.competitions import render_tab
from competitions.web.visit import visit
from files.text import is_number

LISTED: Final = 50  # others to choose from


LOG_LINES: Final = 40
MOST_DIFFERENCES: Final = 60  # of two receipts
METERS: Final = {
    "wall_s": ("Wall clock", duration),
    "cpu_s": ("CPU time", duration),
    "memory_peak_bytes": ("Peak memory", size),
    "gpu_s": ("GPU time", duration),
    "gpu_memory_peak_bytes": ("Peak GPU memory", size),
    "output_bytes": ("Output", size),
}


@dataclass(frozen=True)
class Line:
    """One fact of both. `difference`: of the second to the first, where it can be computed."""

    name: str
    first: str
    second: str
    difference: str = ""

    @property
    def differs(self) -> bool:
        return self.first != self.second


@dataclass(frozen=True)
class ComparedRun:
    """The runs of both on one task."""

    task: str
    meters: Sequence[Line]
    receipt: Sequence[Line]
    logs: Sequence[Line]


def compared_facts(first: Submission, second: Submission) -> list[Line]:
    """Files, descriptions and states."""
    return [Line(name, a, b) for (name, a), (_, b) in zip(_facts(first), _facts(second), strict=True) if a or b]


def _facts(submission: Submission) -> Iterator[tuple[str, str]]:
    yield "File", f"{submission.file_name}, {size(submission.file.size_bytes)}"
    yield "SHA-256", submission.file_id
    yield "Description", submission.description
    yield "Tags", " ".join(submission.tags)
    yield "Commit", submission.commit
    yield "Code or paper", submission.link
    yield "Agent", str(submission.agent or "")
    yield "Received", f"{submission.received_at:%Y-%m-%d %H:%M} UTC, {timesince(submission.received_at, depth=1)} ago"
    yield "State", "disqualified" if submission.disqualified_at else submission.get_status_display()


def compared_scores(first: ScoredSubmission, second: ScoredSubmission, reader: Reader) -> list[Line]:
    """Scores that this reader may know, and the second's distance to the first as the board shows it."""
    results = known_results(first, reader), known_results(second, reader)
    columns = {column.key: column for result in results for column, _ in result.values}
    shown = [{column.key: value for column, value in result.values} for result in results]
    return [
        Line(
            f"{column.title} ({column.get_sorting_display()})",
            shown[0].get(key, ""),
            shown[1].get(key, ""),
            _difference(key, *results),
        )
        for key, column in columns.items()
    ]


def _difference(key: str, first: BoardResults, second: BoardResults) -> str:
    if key not in first.exact or key not in second.exact:
        return ""
    column, value = second.exact[key]
    return column.difference(value, first.exact[key][1])


def compared_runs(first: Submission, second: Submission, reader: Reader) -> list[ComparedRun]:
    """Runs on the same task, one after the other; smoke runs are left out."""
    runs = [{run.task_id: run for run in sent.runs.all() if not run.is_smoke} for sent in (first, second)]
    return [
        ComparedRun(
            run.task.name, _meters(run, other), _receipts(run, other, reader, first), _logs(run, other, reader, first)
        )
        for task, run in runs[0].items()
        if (other := runs[1].get(task)) is not None
    ]


def _meters(first: Run, second: Run) -> list[Line]:
    measured = [(first.meters or {}).get, (second.meters or {}).get]
    return [
        Line(name, *("" if (value := get(key)) is None else write(value) for get in measured))
        for key, (name, write) in METERS.items()
        if any(get(key) is not None for get in measured)
    ]


def _receipts(first: Run, second: Run, reader: Reader, submission: Submission) -> list[Line]:
    """Differences of the receipts, by the path of each value."""
    receipts = [
        dict(_leaves(disclosed_receipt(reader, submission.phase, run.receipt, run=run))) for run in (first, second)
    ]
    paths = [path for path in dict.fromkeys([*receipts[0], *receipts[1]]) if path != "lease_id"]
    lines = (Line(path, receipts[0].get(path, ""), receipts[1].get(path, "")) for path in paths)
    return [line for line in lines if line.differs][:MOST_DIFFERENCES]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{index}]")
    else:
        yield path, str(value)


def _logs(first: Run, second: Run, reader: Reader, submission: Submission) -> list[Line]:
    """The last lines of each log that this reader may have."""
    streams = visible_streams(reader, submission.phase)
    lines = [Line(stream.label, *(_end(log_text(run, stream)) for run in (first, second))) for stream in streams]
    return [line for line in lines if line.first or line.second]


def _end(text: str) -> str:
    return "\n".join(text.splitlines()[-LOG_LINES:])


@require_safe
def compare(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A submission beside another of its team and phase: the one asked for, else the latest with a score."""
    visited = visit(request, slug)
    runs = Prefetch("runs", queryset=Run.objects.select_related("task"))
    visible = visible_submissions(person(request)).filter(phase__competition=visited.competition)
    full = visible.select_related("phase__competition", "team", "submitted_by", "file").prefetch_related(runs)
    second = full.filter(pk=pk).first()
    if second is None:
        raise Http404
    others = visible.filter(team=second.team_id, phase=second.phase_id).exclude(pk=pk).order_by("-pk")
    number = request.GET.get("with", "")
    chosen = full.filter(pk__in=others.values("pk"))
    first = chosen.filter(pk=int(number)).first() if is_number(number) else _to_begin_with(chosen, pk)
    if number and first is None:
        raise Http404
    context: dict[str, object] = {
        "submission": second,
        "other": first,
        "others": others.only("pk", "file_name", "description")[:LISTED],
    }
    if first is not None:
        context |= _compared(first, second, visited.reader)
    return render_tab(request, visited, "web/submissions/compare.html", context, tab="submissions")


def _to_begin_with(others: QuerySet[Submission], pk: int) -> Submission | None:
    """The latest that was scored, one before this number if there is one; else whatever came before."""
    earlier, scored = others.filter(pk__lt=pk).order_by("-pk"), others.filter(status=State.FINISHED, is_smoke=False)
    return scored.filter(pk__lt=pk).order_by("-pk").first() or scored.order_by("-pk").first() or earlier.first()


def _compared(first: Submission, second: Submission, reader: Reader) -> dict[str, object]:
    load_boards([first.phase, second.phase])
    scored = with_scores([first, second])
    return {
        "facts": compared_facts(first, second),
        "scores": compared_scores(scored[0], scored[1], reader),
        "runs": compared_runs(first, second, reader),
    }
