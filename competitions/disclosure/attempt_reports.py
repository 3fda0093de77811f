"""The report of an attempt as everybody who sees the run reads it: reason, code, sentence and meters.

While scores are sealed, a scoring program speaks in fixed words, which carry no label and no score. Where a team may not read the
log of its code, an ingestion program does: the code runs in its container and could write what it has read there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from competitions.catalog.models import Phase
from competitions.disclosure.outputs import programs_are_withheld
from competitions.disclosure.scores import hidden_keys
from scoring.errors import CODES

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
        """Its words may be those of the scoring program."""
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
