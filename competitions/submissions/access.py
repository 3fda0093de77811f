"""Who may see which submissions, and which of their logs."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet, Value
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.catalog.rights import has_sealed_right, organizes, sealed_right_used
from competitions.submissions.models import RunLog, Submission
from competitions.teams.models import Membership
from podium.composed import Composed


def _teams_and_phases(user: int) -> QuerySet[Any, tuple[str, int]]:
    """Numbers of the user's teams, and of the phases that the user organizes: each with what it is of."""
    organized = Phase.objects.filter(competition__in=Competition.objects.managed_by(User(pk=user)))
    teams = Membership.objects.filter(user=user).order_by().values_list(Value("team"), "team")
    return teams.union(organized.order_by().values_list(Value("phase"), "pk"), all=True)


_ask_scope = Composed(_teams_and_phases)


def scope_of(user: User | AnonymousUser) -> dict[str, list[int]] | None:
    """Whose submissions this person may see, as `submissions_in` takes it: of their teams, and of the phases that they
    organize. A kind of which there are none is left out; None: those of the whole site.

    They are looked up first and named by number: with subqueries in the `OR`, PostgreSQL walks all submissions of the
    site backwards until it has found a page (0.4 s at a million).
    """
    if not user.is_authenticated:
        return {}
    if user.is_superuser:
        return None
    found = _ask_scope(user=user.pk)
    named = {f"{kind}s": [pk for what, pk in found if what == kind] for kind in ("team", "phase")}
    return {kind: numbers for kind, numbers in named.items() if numbers}


def submissions_in(*, teams: Sequence[int] = (), phases: Sequence[int] = ()) -> QuerySet[Submission]:
    """The submissions of these teams, and those to these phases."""
    wanted = Q(pk__in=[])
    if teams:
        wanted |= Q(team__in=teams)
    if phases:
        wanted |= Q(phase__in=phases)
    return Submission.objects.filter(wanted)


def submissions_of(user: User | AnonymousUser) -> QuerySet[Submission]:
    """Those of the user's teams, and those of the competitions that the user organizes."""
    scope = scope_of(user)
    return Submission.objects.all() if scope is None else submissions_in(**scope)


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
