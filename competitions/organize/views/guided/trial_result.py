"""The result of the trial: its progress, the score, the log of the scoring program."""

from dataclasses import dataclass, replace
from typing import Final

from competitions.catalog.models import Column
from competitions.disclosure.outputs import visible_streams
from competitions.disclosure.readers import reader_for
from competitions.disclosure.streams import LogStream
from competitions.leaderboards.reading.results import known_results
from competitions.leaderboards.reading.submission_scores import load_boards, with_scores
from competitions.organize.models import CompetitionDraft
from competitions.runs.queue.positions import queue_positions
from competitions.runs.records.logs import log_text
from competitions.submissions.models import Submission
from competitions.web.progress import Progress, submission_progress

LOG_CHARS: Final = 20_000
FOR_ORGANIZER: Final = (
    "A team that sends in the sample would read this. Read the log, change the solution, the sample submission or the metric, "
    "then build again."
)


@dataclass(frozen=True)
class TrialResult:
    """Scores of a trial that the organizer may see; a sealed part is scored and stays sealed."""

    submission: Submission
    progress: Progress
    scores: list[tuple[Column, str]]
    withholds_scores: bool
    log: str
    seconds: float | None


def trial_result(draft: CompetitionDraft) -> TrialResult | None:
    """The trial as its owner may see it; None where there is none."""
    rows = Submission.objects.select_related("phase__competition", "team", "submitted_by", "file")
    submission = rows.prefetch_related("runs__task", "runs__queue").filter(pk=draft.trial_id or 0).first()
    if submission is None:
        return None
    load_boards([submission.phase])
    reader, runs = reader_for(draft.owner), list(submission.runs.all())
    results = known_results(with_scores([submission])[0], reader)
    progress = submission_progress(submission, queue_positions(runs), now=reader.now)
    if draft.start == CompetitionDraft.Start.TABLE and progress.advice:
        progress = replace(progress, blame="this competition as it is set up", advice=FOR_ORGANIZER)
    sees_log = LogStream.SCORING in visible_streams(reader, submission.phase)
    log = "".join(log_text(run, LogStream.SCORING) for run in runs)[-LOG_CHARS:] if sees_log else ""
    seconds = (submission.finished_at - submission.created_at).total_seconds() if submission.finished_at else None
    return TrialResult(submission, progress, results.values, results.withholds_scores, log, seconds)
