"""Builds: a background process writes a draft's bundle, imports it and starts the trial."""

import tempfile
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from competitions.bundles.importing.importer import Imported, bundle_import
from competitions.catalog.models import Competition
from competitions.catalog.publishing import NotReady, competition_publish
from competitions.organize.building.document import Sample
from competitions.organize.building.removal import competition_remove
from competitions.organize.building.trials import trial_begin
from competitions.organize.building.writing import bundle_write_draft
from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import ALREADY_PUBLISHED, NOT_BUILT
from competitions.organize.steps.paths import require_complete
from competitions.submissions.states import State
from core.background import jobs
from core.background.bounded import Stopped
from core.background.rows import Claim, ClaimLost, claim
from core.refusals import Refusal
from files.bundles.faults import InvalidBundle

log = structlog.get_logger(__name__)
BUILD_JOB: Final = "competition-build"
OURS: Final = "It could not be built by a fault of ours; the administrators find it in the log. Try again."


@transaction.atomic
def build_request(*, draft: CompetitionDraft, now: datetime) -> None:
    """Have the competition made of the answers as they are, in place of the one made before.

    Raises `DRAFT_INCOMPLETE` or `ALREADY_PUBLISHED`.
    """
    locked = CompetitionDraft.objects.select_for_update(of=("self",)).select_related("competition").get(pk=draft.pk)
    if locked.is_published:
        raise ALREADY_PUBLISHED()
    require_complete(locked)
    if locked.build == CompetitionDraft.Build.WAITING:
        return
    locked.build, locked.build_step, locked.build_faults = CompetitionDraft.Build.WAITING, "", []
    locked.asked_at, locked.attempts, locked.claimed_until = now, 0, None
    locked.save(update_fields=["build", "build_step", "build_faults", "asked_at", "attempts", "claimed_until"])
    jobs.send_after_commit(BUILD_JOB, locked.pk)


@transaction.atomic
def draft_publish(*, draft: CompetitionDraft) -> Competition:
    """Show the draft's competition to everybody. Raises `ALREADY_PUBLISHED`, or as `draft_end`."""
    locked = CompetitionDraft.objects.select_for_update(of=("self",)).select_related("competition").get(pk=draft.pk)
    if locked.is_published:
        raise ALREADY_PUBLISHED()
    if locked.competition is None:
        raise NOT_BUILT()
    competition_publish(locked.competition)
    return locked.competition


def draft_end(sender: type[Competition], competition: Competition, **kwargs: Any) -> None:
    """Receiver of `competition_publishing`: a draft has done its work and goes.

    Raises `NOT_BUILT`, `DRAFT_INCOMPLETE` or `NotReady` where it has not.
    """
    drafts = CompetitionDraft.objects.select_for_update(of=("self",)).select_related("competition", "trial")
    draft = drafts.filter(competition=competition).first()
    if draft is None:
        return
    if not draft.is_up_to_date:
        raise NOT_BUILT()
    require_complete(draft)  # what was read in a file since the build may contradict an answer
    if draft.trial.status != State.FINISHED if draft.trial else draft.is_tried:
        raise NotReady("the trial has not been scored. Wait for it, or look at what it says")
    draft.delete()


def waiting_builds() -> QuerySet[CompetitionDraft]:
    """Drafts that somebody must build, or is building."""
    return CompetitionDraft.objects.filter(build=CompetitionDraft.Build.WAITING)


def build_perform(pk: int) -> None:
    """Build the competition or store what is wrong; do nothing if it is done or another process does it."""
    claimed = claim(waiting_builds(), pk)
    if claimed is None:
        return
    draft = CompetitionDraft.objects.select_related("owner", "competition").get(pk=pk)
    if draft.attempts > settings.BACKGROUND_ATTEMPTS:
        claimed.release(build=CompetitionDraft.Build.FAILED, build_step="", build_faults=[OURS])
        log.error("build_given_up", draft=pk)
        return
    with claimed.kept():
        _build(draft, claimed)


BUILD: Final = jobs.Job(
    BUILD_JOB, waiting=waiting_builds, perform=build_perform, asked_at="asked_at", queue=jobs.Queue.LONG
)


def _build(draft: CompetitionDraft, claimed: Claim) -> None:
    failed = partial(claimed.release, build=CompetitionDraft.Build.FAILED, build_step="")
    try:
        _make(draft, claimed)
    except InvalidBundle as error:
        failed(build_faults=[str(fault) for fault in error.report.faults[:20]])
    except Refusal as refusal:
        failed(build_faults=[refusal.detail])
    except (ClaimLost, Stopped):
        log.warning("build_taken_over", draft=draft.pk)
    except Exception:
        failed(build_faults=[OURS])
        raise


def _make(draft: CompetitionDraft, claimed: Claim) -> None:
    progress = partial(_step, claimed)
    progress("Writing the competition's files")
    with tempfile.TemporaryDirectory(prefix="build-") as folder:
        bundle = Path(folder)
        sample = bundle_write_draft(draft, bundle, is_wanted=claimed.renew, every_s=claimed.renew_every_s)
        bundle_import(
            source=bundle,
            owner=draft.owner,
            name=draft.title,
            now=timezone.now(),
            progress=progress,
            record=partial(_take_over, draft, claimed, sample),
            reads_samples=False,  # the trial reads it
        )


def _begin_trial(draft: CompetitionDraft, competition: Competition, sample: Sample | None) -> dict[str, object]:
    """Submit the sample, if there is one; a refusal is reported, and the competition stays."""
    if sample is None:
        return {"trial": None}
    try:
        with transaction.atomic():
            return {"trial": trial_begin(competition, sample=sample, owner=draft.owner, now=timezone.now())}
    except Refusal as refusal:
        return {"trial": None, "build_faults": [f"The trial could not begin. {refusal.detail}"]}


def _step(claimed: Claim, step: str) -> None:
    """Say how far it is. Raises `ClaimLost`."""
    claimed.record(build_step=step[:200])


def _take_over(draft: CompetitionDraft, claimed: Claim, sample: Sample | None, imported: Imported) -> None:
    """Put the competition in place of the draft's former one, and begin its trial.

    Call it in the transaction that makes the competition.
    """
    now, competition = timezone.now(), imported.competition
    if draft.competition is not None:
        competition_remove(draft.competition, now=now)
    _prepare_trial(competition)
    claimed.conclude(
        build=CompetitionDraft.Build.FINISHED,
        build_step="",
        built_version=draft.version,
        competition=competition,
        **_begin_trial(draft, competition, sample),
    )


def _prepare_trial(competition: Competition) -> None:
    """Use the title's plain address if it is free, and begin the organizers' trials."""
    slug = slugify(competition.title)[:54].strip("-")
    if slug and not Competition.objects.filter(slug=slug).exists():
        competition.slug = slug
    competition.is_trial = True
    competition.save(update_fields=["slug", "is_trial"])
