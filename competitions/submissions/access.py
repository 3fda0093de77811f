"""Who may see which submissions, and which of their logs."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.catalog.rights import has_sealed_right, organizes
from competitions.submissions.models import RunLog, Submission
from competitions.teams.models import Membership


def submissions_of(user: User | AnonymousUser) -> QuerySet[Submission]:
    """Those of the user's teams, and those of the competitions that the user organizes."""
    if not user.is_authenticated:
        return Submission.objects.none()
    if user.is_superuser:
        return Submission.objects.all()
    teams = Membership.objects.filter(user=user).values("team")
    return Submission.objects.filter(Q(team__in=teams) | Q(phase__competition__in=Competition.objects.managed_by(user)))


def log_streams(user: User | AnonymousUser, phase: Phase) -> list[str]:
    """Logs this person may read. The scoring program's may quote labels and scores: organizers only, and while
    the phase is sealed only those with the right to see sealed scores."""
    streams: list[str] = [RunLog.Stream.INGESTION, RunLog.Stream.WORKER]
    if organizes(user, phase) and (not phase.is_sealed or has_sealed_right(user, phase)):
        streams.append(RunLog.Stream.SCORING)
    return streams
