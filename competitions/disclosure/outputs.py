"""Logs and files of a run, and the report of an attempt as everybody who sees the run reads it.

Such a report has reason, code, sentence and meters. While scores are sealed, a scoring program speaks in fixed words, which carry
no label and no score. Where a team may not read the log of its code, an ingestion program does: the code runs in its container and
could write what it has read there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from django.db.models import TextChoices

from competitions.catalog.models import Phase
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import hidden_keys, may_see_board
from scoring.errors import CODES


class LogStream(TextChoices):
    """The streams of a run's log."""

    SUBMISSION = "submission", "your submission's own command"
    INGESTION = "ingestion", "your program"
    SCORING = "scoring", "scoring"
    WORKER = "worker", "platform"


DETAILED_RESULTS: Final = "detailed_results.html"
REPLICATES: Final = "scoring-replicates.npz"
LOSSES: Final = "scoring-losses.npz"
SECRET: Final = (REPLICATES, LOSSES)  # known functions of the labels: background work alone reads them
SLICES: Final = "scoring-slices.json"
NEVER_SENT: Final = (*SECRET, SLICES)  # nobody downloads these, or learns their digests
PLATFORM: Final = (LogStream.WORKER,)
PROGRAMS: Final = (LogStream.SUBMISSION, LogStream.INGESTION)
# As in `competitions.submissions.states.Reason`, which stands above.
OUTPUT_INVALID: Final = "output_invalid"
PROGRAM_ERROR: Final = "program_error"
SCORING_ERROR: Final = "scoring_error"
QUOTES_COLUMNS: Final = ("column_missing", "score_not_finite")  # codes of the worker's, whose sentences name keys
PROGRAM_STAGES: Final = frozenset(("ingestion", "submission"))  # of the participant, or around what they sent in
SCORING_STAGE: Final = "scoring"
INGESTION_STAGE: Final = "ingestion"
INGESTION_REFUSED: Final = "The ingestion program refused the submission."
REFUSED: Final = "refused"  # the code of words that have none


def visible_streams(reader: Reader, phase: Phase, *, is_smoke: bool = False) -> tuple[LogStream, ...]:
    """The logs of the phase's runs that this person may read, of the runs that they may see.

    A smoke run has seen nothing hidden, so all of its logs are for everybody who sees it.

    The scoring program's may quote labels and scores: organizers alone, and while the phase holds sealed scores only those
    with the right to see them.
    """
    if is_smoke:
        return tuple(LogStream)
    return reader.once(("streams", phase.pk), lambda: _streams(reader, phase))


def _streams(reader: Reader, phase: Phase) -> tuple[LogStream, ...]:
    if not reader.organizes(phase):
        return PLATFORM if phase.hide_output or programs_are_withheld(phase) else (*PROGRAMS, *PLATFORM)
    if phase.holds_sealed_scores and not reader.uses_sealed_right(phase):
        return PLATFORM if runs_beside_scoring(phase) else (*PROGRAMS, *PLATFORM)
    return (*PROGRAMS, *PLATFORM, LogStream.SCORING)


def programs_are_withheld(phase: Phase) -> bool:
    """True while a team may not see logs and outputs of its code, because scores are sealed.

    The code has seen hidden input, which organizers may show; beside a scoring program it may know scores.
    """
    return phase.holds_sealed_scores and (not phase.show_output_while_sealed or runs_beside_scoring(phase))


def runs_beside_scoring(phase: Phase) -> bool:
    return any(task.runs_beside_scoring for task in phase.tasks.all())


class RunKind(Protocol):
    """The part of a run on which it depends who may have its files."""

    @property
    def is_smoke(self) -> bool: ...

    @property
    def fills_board(self) -> bool:
        """It is on a dataset that a team submitted."""


def may_download(reader: Reader, phase: Phase, name: str, *, run: RunKind | None = None) -> bool:
    """True where this person may have a file of that name, of a run that they may see.

    Without `run` it is an ordinary one.

    Nobody gets replicates, losses and slices. The scoring program's output and log go with its live log, the logs of other
    programs with theirs; what the phase hides is for organizers, and so are detailed results on a team's dataset: they may
    quote its labels.
    """
    if name in NEVER_SENT:
        return False
    streams = visible_streams(reader, phase, is_smoke=run is not None and run.is_smoke)
    if LogStream.SCORING in streams:
        return True
    if name.startswith("scoring"):
        return False
    if name == DETAILED_RESULTS:
        return not (run is not None and run.fills_board) and _may_see_details(reader, phase)
    if name.endswith(".log") or reader.organizes(phase):
        return LogStream.INGESTION in streams
    return not (phase.hide_prediction_output or programs_are_withheld(phase))


def _may_see_details(reader: Reader, phase: Phase) -> bool:
    """Detailed results of one's own run quote scores, and may quote those of every board of the phase."""
    is_shown = phase.competition.show_detailed_results_in_submission_panel and not phase.hide_score_output
    is_open = not phase.holds_sealed_scores and not any(board.is_hidden for board in phase.leaderboards.all())
    return is_shown and is_open and may_see_board(reader, phase.main_board)


@dataclass(frozen=True)
class AttemptReport:
    """The end of an attempt, as its worker reports it. `stages`: names of those that were run."""

    reason: str
    code: str
    detail: str
    meters: Mapping[str, object]
    stages: frozenset[str]
    is_smoke: bool = False  # on a public split: nothing hidden is in it
    refused_by: str = ""  # the program whose own words these are, where the worker says so

    @property
    def is_of_scoring(self) -> bool:
        """No program of the participant was run, so the meters are the scoring program's."""
        return not self.stages & PROGRAM_STAGES

    @property
    def is_refusal_of_ingestion(self) -> bool:
        """The ingestion program's own words: no labels were there to be quoted."""
        return self.refused_by == INGESTION_STAGE

    @property
    def failed_behind_a_program(self) -> bool:
        """True if scoring ran on output of a failed program, so its words may be in the report."""
        return self.reason == PROGRAM_ERROR and SCORING_STAGE in self.stages

    @property
    def quotes_scoring(self) -> bool:
        """True if its words may be the scoring program's."""
        return self.reason in (OUTPUT_INVALID, SCORING_ERROR) or self.failed_behind_a_program


def disclosed_report(phase: Phase, report: AttemptReport) -> AttemptReport:
    """The report for everybody: without the scoring program's words and meters while scores are sealed.

    Its words belong in its log and its meters in the receipt, for those with the right to see sealed scores. A
    sentence that lists a board's columns is for organizers only if some of them are hidden.
    """
    if report.is_refusal_of_ingestion and not report.is_smoke:
        is_hidden = phase.hide_output or programs_are_withheld(phase)
        return replace(report, code=REFUSED, detail=INGESTION_REFUSED) if is_hidden else report
    if report.is_smoke or not phase.holds_sealed_scores:
        return _in_fixed_words(report) if report.code in QUOTES_COLUMNS and hidden_keys(phase) else report
    if report.is_of_scoring:
        report = replace(report, meters={})
    return _in_fixed_words(report) if report.quotes_scoring else report


def _in_fixed_words(report: AttemptReport) -> AttemptReport:
    if report.failed_behind_a_program:
        return replace(report, detail="The program failed, and what it left could not be scored.")
    if report.reason == SCORING_ERROR:
        return replace(report, detail="The scoring program failed.")
    if report.code in CODES:
        return replace(report, detail=f"The output cannot be scored: {CODES[report.code]}.")
    return replace(report, code=REFUSED, detail="The scoring program refused the output.")


def disclosed_meters(
    phase: Phase, reported: Mapping[str, object], *, before: Mapping[str, object], is_scoring: bool
) -> Mapping[str, object]:
    """The meters of a heartbeat, or the former ones if they are of a scoring program with sealed scores."""
    return before if is_scoring and phase.holds_sealed_scores else reported
