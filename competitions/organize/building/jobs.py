"""Builds: a background process writes a draft's bundle, imports it and starts the trial."""

import tempfile
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from accounts.models import User
from competitions.bundles.importing.importer import Imported, bundle_import
from competitions.bundles.imports import work_on_bundle
from competitions.catalog.models import Competition
from competitions.catalog.publishing import NotReady, competition_publish
from competitions.catalog.services import current_rules
from competitions.organize.building.document import Sample
from competitions.organize.building.removal import competition_remove
from competitions.organize.building.writing import bundle_write_draft
from competitions.organize.drafts import lock_unpublished
from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import CANNOT_BE_BUILT, NOT_BUILT
from competitions.organize.steps.paths import require_complete
from competitions.resources.storage import CHUNK_BYTES
from competitions.resources.uploads import upload_whole
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from competitions.teams.services import register, team_create
from core.background import jobs
from core.background.rows import Claim, claims
from core.refusals import Refusal
from files.bundles.faults import InvalidBundle

BUILD_JOB: Final = "competition-build"
OURS: Final = f"It could not be built {jobs.ON_OUR_SIDE} Try again."


@transaction.atomic
def build_request(*, draft: CompetitionDraft, now: datetime) -> None:
    """Have the competition made of the answers. Raises `DRAFT_INCOMPLETE` or `ALREADY_PUBLISHED`."""
    locked = lock_unpublished(draft)
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
    locked = lock_unpublished(draft)
    if locked.competition is None:
        raise NOT_BUILT()
    competition_publish(locked.competition)
    return locked.competition


def draft_ready(draft: CompetitionDraft) -> Competition:
    """The draft's competition, once it could be published now. Raises as `draft_publish`."""
    if draft.competition is None:
        raise NOT_BUILT()
    _require_tried(draft)
    return draft.competition


def draft_end(sender: type[Competition], competition: Competition, **kwargs: Any) -> None:
    """Receiver of `competition_publishing`: a draft has done its work and goes.

    One whose owner no longer organizes the competition asks for nothing.
    Raises `NOT_BUILT`, `DRAFT_INCOMPLETE` or `NotReady` where it has not.
    """
    drafts = CompetitionDraft.objects.select_for_update(of=("self",)).select_related("owner", "competition", "trial")
    draft = drafts.filter(competition=competition).first()
    if draft is None:
        return
    if _is_open(draft):
        _require_tried(draft)
    draft.delete()


def _is_open(draft: CompetitionDraft) -> bool:
    """True as long as its owner organizes the competition that was made of it."""
    return CompetitionDraft.objects.open_to(draft.owner).filter(pk=draft.pk).exists()


def _require_tried(draft: CompetitionDraft) -> None:
    if not draft.is_up_to_date:
        raise NOT_BUILT()
    require_complete(draft)  # what was read in a file since the build may contradict an answer
    if not draft.is_scored:
        raise NotReady("the trial has not been scored. Wait for it, or look at what it says")


def waiting_builds() -> QuerySet[CompetitionDraft]:
    """Drafts that somebody must build, or is building."""
    return CompetitionDraft.objects.filter(build=CompetitionDraft.Build.WAITING)


@claims(waiting_builds, "owner", "competition")
def build_perform(draft: CompetitionDraft, claimed: Claim) -> None:
    """Build the competition or store what is wrong; do nothing if it is done or another process does it."""

    def fail(why: Refusal | None) -> None:
        faults = [str(fault) for fault in why.report.faults[:20]] if isinstance(why, InvalidBundle) else []
        if not isinstance(why, InvalidBundle):
            faults = [why.detail if why is not None else OURS]
        claimed.release(build=CompetitionDraft.Build.FAILED, build_step="", build_faults=faults)

    with claimed.kept():
        work_on_bundle("build", draft, partial(_make, draft, claimed), fail)


BUILD: Final = jobs.Job(
    BUILD_JOB, waiting=waiting_builds, perform=build_perform, asked_at="asked_at", queue=jobs.Queue.LONG
)


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
    """In the transaction that makes it: it takes the former one's place, and its trial begins."""
    now, competition = timezone.now(), imported.competition
    if not _is_open(draft):
        raise CANNOT_BE_BUILT(detail="You no longer organize the competition that it would replace.")
    if draft.competition is not None:
        _keep_plan(draft.competition, competition)
        competition_remove(draft.competition, now=now)
    _prepare_trial(competition)
    claimed.conclude(
        build=CompetitionDraft.Build.FINISHED,
        build_step="",
        built_version=draft.version,
        competition=competition,
        score_scale=list(sample.scale) if sample else [],
        **_begin_trial(draft, competition, sample),
    )


def _keep_plan(former: Competition, competition: Competition) -> None:
    """A planned publication is of the draft, whose competition is another after each build."""
    Competition.objects.filter(pk=competition.pk).update(
        **Competition.objects.values("publish_at", "publish_despite", "publish_fault").get(pk=former.pk)
    )


def _prepare_trial(competition: Competition) -> None:
    """Use the title's plain address if it is free, and begin the organizers' trials."""
    slug = slugify(competition.title)[:54].strip("-")
    if slug and not Competition.objects.filter(slug=slug).exists():
        competition.slug = slug
    competition.is_trial = True
    competition.save(update_fields=["slug", "is_trial"])


def trial_begin(competition: Competition, *, sample: Sample, owner: User, now: datetime) -> Submission:
    """Send the sample in to the first phase, where it stays as a baseline. Refused as any submission."""
    phase = competition.phases.select_related("competition__queue").earliest("index")
    rules = current_rules(competition)
    assert rules is not None, "every bundle of the guided path has rules"
    register(user=owner, competition=competition, rules_version=rules.number, now=now)
    team_create(user=owner, competition=competition, name=sample.team, now=now, is_baseline=True)
    with sample.path.open("rb") as file:
        upload = upload_whole(
            user=owner,
            file_name=sample.path.name,
            size_bytes=sample.path.stat().st_size,
            chunks=iter(lambda: file.read(CHUNK_BYTES), b""),
            now=now,
        )
    kind = Kind.CODE if sample.is_code else Kind.PREDICTION
    return submission_create(
        NewSubmission(user=owner, phase=phase, upload=upload, kind=kind, description=sample.team), now=now
    )
