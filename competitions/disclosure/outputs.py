"""Logs and files of a run."""

from typing import Final

from competitions.catalog.models import Phase
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_see_board
from competitions.disclosure.streams import LogStream

DETAILED_RESULTS: Final = "detailed_results.html"
REPLICATES: Final = "scoring-replicates.npz"
LOSSES: Final = "scoring-losses.npz"
SECRET: Final = (REPLICATES, LOSSES)  # known functions of the labels: background work alone reads them
SLICES: Final = "scoring-slices.json"
NEVER_SENT: Final = (*SECRET, SLICES)  # nobody downloads these, or learns their digests
PLATFORM: Final = (LogStream.WORKER,)
PROGRAMS: Final = (LogStream.SUBMISSION, LogStream.INGESTION)


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


def may_download(reader: Reader, phase: Phase, name: str, *, is_smoke: bool = False) -> bool:
    """True where this person may have a file of that name, of a run that they may see.

    Nobody gets replicates, losses and slices. The scoring program's output and log go with its live log, the logs of other
    programs with theirs; what the phase hides is for organizers.
    """
    if name in NEVER_SENT:
        return False
    streams = visible_streams(reader, phase, is_smoke=is_smoke)
    if LogStream.SCORING in streams:
        return True
    if name.startswith("scoring"):
        return False
    if name == DETAILED_RESULTS:
        return _may_see_details(reader, phase)
    if name.endswith(".log") or reader.organizes(phase):
        return LogStream.INGESTION in streams
    return not (phase.hide_prediction_output or programs_are_withheld(phase))


def _may_see_details(reader: Reader, phase: Phase) -> bool:
    """Detailed results of one's own run quote scores, and may quote those of every board of the phase."""
    is_shown = phase.competition.show_detailed_results_in_submission_panel and not phase.hide_score_output
    return is_shown and not phase.holds_sealed_scores and may_see_board(reader, phase.main_board)
