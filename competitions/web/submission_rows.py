"""Rows of a team's submissions, in few queries, and rendered once while unchanged."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.core.cache import caches
from django.db.models import Prefetch, prefetch_related_objects
from django.template.loader import get_template
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from competitions.catalog.models import Phase
from competitions.disclosure.readers import Reader
from competitions.leaderboards.reading.results import ScoredSubmission, known_results, with_scores
from competitions.runs.models import Run
from competitions.runs.queue.positions import QueuePosition, queue_positions
from competitions.submissions.access import tagged, team_submissions
from competitions.submissions.states import State
from competitions.web.progress import Progress, submission_progress

PAGE_SIZE: Final = 20
LAST: Final = 2**63 - 1  # a number that no submission reaches
# Their status word says all that a row tells of their runs.
SAID_BY_STATUS: Final = (State.FINISHED, State.CANCELLED)


@dataclass(frozen=True)
class ShownScore:
    """One value of a row, as its board shows it."""

    title: str
    value: str
    unit: str
    to_best: str = ""  # the difference from the team's best; empty for that one
    sorting: str = ""

    @property
    def is_as_best(self) -> bool:
        """The difference is none, in the digits that are shown."""
        return not any(digit in self.to_best for digit in "123456789")


@dataclass(frozen=True)
class SubmissionRow:
    """All that the template of a row reads, and plain values alone: two rows that are equal look the same."""

    pk: int
    file_name: str
    description: str
    tags: tuple[str, ...]
    list_url: str
    phase: str
    received_at: datetime
    status: str
    is_final: bool
    is_late: bool
    is_verification: bool
    is_smoke: bool
    agent: str
    is_disqualified: bool
    disqualified_reason: str
    progress: Progress
    scores: tuple[ShownScore, ...]
    withholds_scores: bool  # it has scores that this person may not see
    has_several_boards: bool
    counting: tuple[str, ...]  # titles of the boards it counts on now
    selected: tuple[str, ...]  # titles of the boards that its team selected it for
    added: tuple[str, ...]  # titles of the boards that its team put it on


def build_rows(page: Sequence[ScoredSubmission], *, reader: Reader, now: datetime) -> list[SubmissionRow]:
    """The rows of these submissions, as this reader may see them."""
    live = [scored.submission for scored in page if not scored.submission.is_final]
    positions = queue_positions((run for submission in live for run in submission.runs.all()), now=now)
    return [_row(scored, positions, reader, now) for scored in page]


def _row(
    scored: ScoredSubmission, positions: Mapping[UUID, QueuePosition], reader: Reader, now: datetime
) -> SubmissionRow:
    submission, results = scored.submission, known_results(scored, reader)
    picked = [choice for choice in results.choices if choice.is_picked]
    is_said = submission.status in SAID_BY_STATUS
    to_best = results.to_best if submission.disqualified_at is None else {}
    return SubmissionRow(
        pk=submission.pk,
        file_name=submission.file_name,
        description=submission.description,
        tags=submission.tags,
        list_url=reverse("web:submissions", args=[submission.phase.competition.slug]) if submission.tags else "",
        phase=submission.phase.name,
        received_at=submission.received_at,
        status=submission.status,
        is_final=submission.is_final,
        is_late=submission.is_late,
        is_verification=submission.is_verification,
        is_smoke=submission.is_smoke,
        agent=str(submission.agent or ""),
        is_disqualified=submission.disqualified_at is not None,
        disqualified_reason=submission.disqualified_reason,
        progress=Progress(sentence="") if is_said else submission_progress(submission, positions, now=now),
        scores=tuple(
            ShownScore(column.title, value, column.unit, to_best.get(column.key, ""), column.get_sorting_display())
            for column, value in results.values
        ),
        withholds_scores=results.withholds_scores,
        has_several_boards=len(results.boards) > 1,
        counting=tuple(board.title for board in results.counting),
        selected=tuple(choice.board.title for choice in picked if choice.is_selection),
        added=tuple(choice.board.title for choice in picked if not choice.is_selection),
    )


def submission_page(
    *,
    team: int,
    statuses: Sequence[str],
    before: int,
    phases: Iterable[Phase],
    only: Phase | None = None,
    tag: str = "",
) -> list[ScoredSubmission]:
    """A page of a team's newest submissions before that number, plus one if there are more.

    `phases` are the competition's, with their boards; `only`: the submissions of this one, `tag`: those with
    this tag. Runs are read only of submissions that their status does not explain.
    """
    rows = team_submissions(team).filter(status__in=statuses, pk__lt=before).order_by("-pk")
    rows = tagged(rows, tag) if tag else rows
    submissions = list((rows.filter(phase=only, is_smoke=False) if only else rows)[: PAGE_SIZE + 1])
    by_pk = {phase.pk: phase for phase in phases}
    for submission in submissions:
        submission.phase = by_pk[submission.phase_id]
    unexplained = [submission for submission in submissions if submission.status not in SAID_BY_STATUS]
    runs = Run.objects.select_related("queue").defer("receipt", "scores")
    prefetch_related_objects(unexplained, Prefetch("runs", queryset=runs))
    return with_scores(submissions)


def drawn(rows: list[SubmissionRow]) -> SafeString:
    """The rows as HTML. What has ended stays as it is, so a page on which all has ended is drawn once."""
    if not all(row.is_final for row in rows):
        return _draw(rows)
    key = f"submissions:{hashlib.sha256(repr(rows).encode()).hexdigest()}"
    html: SafeString | None = caches["pages"].get(key)
    if html is None:
        html = _draw(rows)
        caches["pages"].set(key, html)
    return html


def _draw(rows: list[SubmissionRow]) -> SafeString:
    template = get_template("web/submissions/_row.html")
    return format_html_join("", "{}", ((template.render({"row": row}),) for row in rows))
