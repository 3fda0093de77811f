"""Datasets that teams submit to a phase whose board grows: their places, and their way off the board."""

from datetime import datetime

import structlog
from django.db import transaction
from django.dispatch import Signal

from accounts.models import User
from competitions.catalog.models import Phase
from competitions.submissions import refusals
from competitions.submissions.models import Dataset, Submission
from competitions.submissions.states import Kind, State
from competitions.teams.models import Membership, Team
from competitions.teams.services import require_admitted
from core.refusals import NotAllowed

log = structlog.get_logger(__name__)

# Sent with `phase`, inside the transaction in which a dataset came onto the phase's board or left it.
datasets_changed = Signal()


def require_place(*, team: Team, phase: Phase) -> None:
    """Raise `NoPlaceForDataset` when the team or the phase has all the datasets it may have.

    The team's lock must be held. Datasets being checked or withdrawn count too, or trying them out would be free.
    """
    if not phase.grows:
        return
    sent = Submission.objects.filter(phase=phase, kind=Kind.DATASET, rerun_of=None, is_task_rerun=False)
    taken = sent.exclude(status__in=(State.FAILED, State.CANCELLED))
    if taken.filter(team=team).count() >= phase.max_datasets_per_team:
        raise refusals.NoPlaceForDataset(phase, whose="per team", limit=phase.max_datasets_per_team)
    if taken.filter(disqualified_at=None).exclude(dataset__withdrawn_at__isnull=False).count() >= phase.max_datasets:
        raise refusals.NoPlaceForDataset(phase, whose="in total", limit=phase.max_datasets)


@transaction.atomic
def dataset_withdraw(*, submission: Submission, by: User, now: datetime) -> Dataset:
    """Take a team's dataset off the board for good, for one of its members; until the phase closes.

    Raises `NotAllowed`, why the person is not admitted, `NOT_A_DATASET`, `DATASET_WITHDRAWN` or `STAYS_AFTER_THE_END`; then nothing is
    changed.
    """
    if not Membership.objects.filter(team=submission.team_id, user=by).exists():
        raise NotAllowed("This dataset is another team's. Only its own team withdraws it; organizers disqualify it.")
    require_admitted(user=by, competition=submission.phase.competition)
    dataset = Dataset.objects.select_for_update().filter(submission=submission).first()
    if dataset is None:
        raise refusals.NOT_A_DATASET()
    if dataset.withdrawn_at is not None:
        raise refusals.DATASET_WITHDRAWN()
    phase = submission.phase
    if phase.closes_at is not None and phase.closes_at <= now:
        raise refusals.STAYS_AFTER_THE_END(phase=phase)
    dataset.withdrawn_at, dataset.withdrawn_by = now, by
    dataset.save(update_fields=["withdrawn_at", "withdrawn_by"])
    datasets_changed.send(sender=Dataset, phase=phase)
    return dataset
