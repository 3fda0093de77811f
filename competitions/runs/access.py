"""Who may read which logs and files of a run."""

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Phase
from competitions.catalog.rights import has_sealed_right, organizes, sealed_right_used
from competitions.runs.models import RunLog


def may_download(user: User | AnonymousUser, phase: Phase, name: str, *, streams: list[str], sees_scores: bool) -> bool:
    """Whether a file that a run left may be had by this person, whose logs and scores these are.

    The scoring program's output and log go with its live log; what the phase hides is for organizers; detailed results
    quote scores.
    """
    if RunLog.Stream.SCORING in streams:
        return True
    if name.startswith("scoring"):
        return False
    if name == "detailed_results.html":
        shown = phase.competition.show_detailed_results_in_submission_panel and not phase.hide_score_output
        return sees_scores and shown and not phase.holds_sealed_scores  # they may quote those too
    hidden = phase.hide_output if name.endswith(".log") else phase.hide_prediction_output
    return not hidden or organizes(user, phase)


def log_streams(user: User | AnonymousUser, phase: Phase) -> list[str]:
    """Logs this person may read. The scoring program's may quote labels and scores: organizers only, and while
    the phase holds sealed scores only those with the right to see sealed scores."""
    streams: list[str] = [RunLog.Stream.SUBMISSION, RunLog.Stream.INGESTION, RunLog.Stream.WORKER]
    if not organizes(user, phase):
        return [RunLog.Stream.WORKER] if phase.hide_output else streams
    if phase.holds_sealed_scores:
        if not has_sealed_right(user, phase):
            return streams
        sealed_right_used(user, phase, timezone.now())
    return [*streams, RunLog.Stream.SCORING]
