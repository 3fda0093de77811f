"""Who may read which logs and files of a run."""

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Phase
from competitions.catalog.rights import has_sealed_right, organizes, sealed_right_used
from competitions.runs.models import RunLog


def may_download(user: User | AnonymousUser, phase: Phase, name: str, *, streams: list[str], sees_scores: bool) -> bool:
    """Whether a file that a run left may be had by this person, whose logs and scores these are.

    The scoring program's output and log go with its live log, the logs of other programs with theirs; what the phase hides is
    for organizers; detailed results quote scores.
    """
    if RunLog.Stream.SCORING in streams:
        return True
    if name.startswith("scoring"):
        return False
    if name == "detailed_results.html":
        shown = phase.competition.show_detailed_results_in_submission_panel and not phase.hide_score_output
        return sees_scores and shown and not phase.holds_sealed_scores  # they may quote those too
    if name.endswith(".log"):
        return RunLog.Stream.INGESTION in streams
    if organizes(user, phase):
        return RunLog.Stream.INGESTION in streams
    return not (phase.hide_prediction_output or hides_programs(phase))


def hides_programs(phase: Phase) -> bool:
    """What a team's code prints and leaves stays hidden from the team while scores are sealed: it has seen the hidden input,
    and beside a scoring program it may have been told of scores. Organizers may show the former."""
    return phase.holds_sealed_scores and (not phase.show_output_while_sealed or runs_beside_scoring(phase))


def runs_beside_scoring(phase: Phase) -> bool:
    return any(task.runs_beside_scoring for task in phase.tasks.all())


def log_streams(user: User | AnonymousUser, phase: Phase) -> list[str]:
    """Logs this person may read. The scoring program's may quote labels and scores: organizers only, and while
    the phase holds sealed scores only those with the right to see sealed scores."""
    programs: list[str] = [RunLog.Stream.SUBMISSION, RunLog.Stream.INGESTION]
    platform: list[str] = [RunLog.Stream.WORKER]
    if not organizes(user, phase):
        return platform if phase.hide_output or hides_programs(phase) else [*programs, *platform]
    if not phase.holds_sealed_scores:
        return [*programs, *platform, RunLog.Stream.SCORING]
    if not has_sealed_right(user, phase):
        return platform if runs_beside_scoring(phase) else [*programs, *platform]
    sealed_right_used(user, phase, timezone.now())
    return [*programs, *platform, RunLog.Stream.SCORING]
