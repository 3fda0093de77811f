"""Pages of detailed results that a scoring program wrote, and the rows of a board that link to them."""

from collections.abc import Collection
from typing import Final

from django.db.models import F, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404

from competitions.catalog.models import Leaderboard
from competitions.disclosure.outputs import DETAILED_RESULTS
from competitions.disclosure.scores import details_are_public
from competitions.leaderboards.models import Entry
from competitions.resources.storage import open_stored
from competitions.runs.models import Run, RunOutput

# An organizer's page: `sandbox` gives it an origin of its own, so it is not part of the site; it can load and send nothing.
DETAILS_POLICY: Final = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; media-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)


# Behind the page: it says how high it is and in which schemes it can be drawn. Whoever wrote the page could say anything, so the
# site takes a height within bounds, and nothing else (frames.js).
SIZE_SCRIPT: Final = b"""<script>(() => {
  const say = () => {
    const body = document.body, margin = parseFloat(getComputedStyle(body).marginBottom) || 0;
    const height = Math.ceil(body.getBoundingClientRect().bottom + scrollY + margin);
    const schemes = getComputedStyle(document.documentElement).colorScheme;
    parent.postMessage({ height, isInBothSchemes: schemes.includes("light") && schemes.includes("dark") }, "*");
  };
  addEventListener("load", say);
  new ResizeObserver(say).observe(document.body);
})();</script>"""


def _newest() -> QuerySet[RunOutput]:
    """The newest details on the phase's own tasks: those on a team's dataset may quote its labels."""
    return RunOutput.objects.filter(
        name=DETAILED_RESULTS, attempt=F("run__attempt"), run__fills_board=False, run__is_smoke=False
    )


def detailed_entries(board: Leaderboard, entries: Collection[Entry]) -> set[int] | None:
    """Entries whose detailed results everybody may see; None if the board shows none.

    One query for a page of rows, none where there is nothing to show.
    """
    if not details_are_public(board):
        return None
    scored = Entry.objects.filter(pk__in=[entry.pk for entry in entries]).values_list("pk", "score__submission")
    submissions = dict(scored)
    numbers = _newest().filter(run__submission__in=submissions.values()).values_list("run__submission", flat=True)
    with_details = set(numbers)
    return {pk for pk, submission in submissions.items() if submission in with_details}


def detailed_runs(entry: Entry, board: Leaderboard) -> list[Run]:
    """The runs of the entry's submission with detailed results that everybody who sees the board may see."""
    if not details_are_public(board):
        return []
    runs = Run.objects.filter(submission=entry.score.submission_id, pk__in=_newest().values("run"))
    return list(runs.select_related("task").order_by("pk"))


def details_response(run: Run) -> HttpResponse:
    """The newest attempt's page for a frame, with scripts isolated in their own origin; else 404."""
    output = get_object_or_404(run.outputs.select_related("file"), attempt=run.attempt, name=DETAILED_RESULTS)
    with open_stored(output.file) as file:
        response = HttpResponse(file.read() + SIZE_SCRIPT, content_type="text/html; charset=utf-8")
    response.headers["Content-Security-Policy"] = DETAILS_POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
