"""Removes a competition that was never published, to build it again or discard it."""

from datetime import datetime

from django.db import transaction
from django.db.models import ProtectedError

from competitions.catalog.models import Competition, SealedKey
from competitions.organize.refusals import ALREADY_PUBLISHED, HAS_SUBMISSIONS, ON_RECORD, STILL_PUBLISHED, TRIAL_RUNS
from competitions.resources.models import Resource, StoredFile
from competitions.resources.orphans import mark_unneeded
from competitions.resources.versions import count_uses, resources_named_by
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.submissions.states import HELD
from competitions.teams.models import Registration, Team


@transaction.atomic
def competition_remove(competition: Competition, *, now: datetime) -> None:
    """Delete an unpublished competition with its trials, and programs and data that it alone uses.

    Sealed scores are protected for participants; here there are none. Raises `ALREADY_PUBLISHED`, `HAS_SUBMISSIONS` or
    `TRIAL_RUNS`; then nothing is deleted.
    """
    locked = Competition.objects.select_for_update().get(pk=competition.pk)
    submissions = Submission.objects.filter(phase__competition=locked)
    if not locked.is_trial:
        raise ALREADY_PUBLISHED()
    if submissions.filter(team__is_baseline=False).exists():
        raise HAS_SUBMISSIONS()
    if Run.objects.filter(submission__in=submissions, state__in=HELD).exists():
        raise TRIAL_RUNS()
    submissions.delete()
    SealedKey.objects.filter(phase__competition=locked).delete()
    _remove(locked, now)


@transaction.atomic
def competition_delete(competition: Competition, *, now: datetime) -> None:
    """Delete a competition to which nobody has submitted, with its registrations and teams.

    Raises `STILL_PUBLISHED`, `HAS_SUBMISSIONS`, `TRIAL_RUNS` or `ON_RECORD`; then nothing is deleted.
    """
    locked = Competition.objects.select_for_update().get(pk=competition.pk)
    if locked.is_published:
        raise STILL_PUBLISHED()
    if locked.is_trial:
        competition_remove(locked, now=now)
        return
    if Submission.objects.filter(phase__competition=locked).exists():
        raise HAS_SUBMISSIONS()
    try:
        _remove(locked, now)
    except ProtectedError as error:
        kinds = sorted({str(row._meta.verbose_name) for row in error.protected_objects})
        raise ON_RECORD(kinds=", ".join(kinds)) from error


def _remove(competition: Competition, now: datetime) -> None:
    """Delete rows that protect others before those others."""
    named = (competition.tasks.all(), competition.phases.all(), competition.solutions.all())
    resources = {number for rows in named for number in resources_named_by(rows)}
    competition.phases.all().delete()
    Registration.objects.filter(competition=competition).delete()
    teams = Team.objects.filter(competition=competition)
    teams.update(merged_into=None)
    teams.delete()
    competition.delete()
    _remove_unused(resources, now)


def _remove_unused(numbers: set[int], now: datetime) -> None:
    unused = [row for row in Resource.objects.filter(pk__in=numbers) if not count_uses(row)]
    files = [row.file_id for row in unused]
    Resource.objects.filter(pk__in=[row.pk for row in unused]).delete()
    mark_unneeded(StoredFile.objects.filter(pk__in=files), now=now)
