"""Submissions and quota of two teams that merge."""

from typing import Any

from django.utils import timezone

from competitions.catalog.models import Phase
from competitions.runs.models import Run
from competitions.runs.queue.ranking import enter_queue
from competitions.submissions.models import FileCheck, Submission
from competitions.submissions.refusals import MERGE_OVER_QUOTA
from competitions.teams.models import Team
from core.background.rows import asker_key


def submissions_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`, under both teams' locks: submissions and runs move, used quota adds up.

    Raises `MERGE_OVER_QUOTA` when the two have used more of a phase than one team may in total; what is left of a day or
    a week may become none, which costs nobody anything.
    """
    _require_quota(team, absorbed)
    list(
        Run.objects.select_for_update().filter(team=absorbed).order_by("pk").values_list("pk")
    )  # see the locking policy
    moving = Submission.objects.filter(team=absorbed)
    # A key that both teams used stays with the team that keeps its name.
    own_submissions = Submission.objects.filter(team=team).exclude(idempotency_key="")
    moving.filter(idempotency_key__in=list(own_submissions.values_list("idempotency_key", flat=True))).update(
        idempotency_key=""
    )
    FileCheck.objects.filter(submission__team=absorbed).update(asker=asker_key("team", team.pk))
    moving.update(team=team)
    Run.objects.filter(team=absorbed).update(team=team)
    enter_queue(Run.objects.filter(team=team), now=timezone.now())


def _require_quota(team: Team, absorbed: Team) -> None:
    charged = Submission.objects.filter(team__in=(team, absorbed), is_charged=True)
    for phase in Phase.objects.filter(competition=team.competition_id, max_submissions__isnull=False):
        used, limit = charged.filter(phase=phase).count(), phase.max_submissions
        if limit is not None and used > limit:
            raise MERGE_OVER_QUOTA(phase=phase, used=used, limit=limit)
