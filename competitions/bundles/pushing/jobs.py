"""Pushes in the background: the comparison first, and the change after a yes."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import User
from competitions.bundles.imports import end_fields, work_on_bundle
from competitions.bundles.models import CompetitionPush
from competitions.bundles.pushing.applying import Push, PushResult, push_read
from competitions.bundles.refusals import CHANGED_SINCE, NOT_COMPARED, FilesMissing
from competitions.bundles.unpacking import unpacked
from competitions.catalog.models import Competition, PageImage, Phase, Solution, Task
from competitions.catalog.organizers import require_host
from competitions.resources.models import Resource, StoredFile, Upload
from competitions.resources.storage import local_copy
from competitions.resources.versions import resources_named_by
from core.background import jobs
from core.background.rows import Claim, claims
from core.refusals import Refusal
from files.bundles.faults import InvalidBundle

PUSH_JOB: Final = "competition-push"
OURS: Final = f"It could not be done {jobs.ON_OUR_SIDE} Push again."
KEPT: Final = timedelta(days=1)
State = CompetitionPush.State


@transaction.atomic
def push_begin(
    *, owner: User, bundle: StoredFile, digests: Mapping[str, str], base: str, is_forced: bool, now: datetime
) -> CompetitionPush:
    """Compare a folder with the live competition.

    Raises `HostsOnly`, or `FilesMissing` with digests to upload first.
    """
    if not Competition.objects.managed_by(owner).exists():  # who organizes none begins with a new one
        require_host(owner)
    held = files_held(owner, set(digests.values()))
    if missing := sorted(set(digests.values()) - set(held)):
        raise FilesMissing(missing)
    push = CompetitionPush.objects.create(
        owner=owner,
        bundle=bundle,
        digests=dict(digests),
        base=base,
        is_forced=is_forced,
        created_at=now,
        changed_at=now,
    )
    push.parts.set(held.values())
    jobs.send_after_commit(PUSH_JOB, push.pk)
    return push


@transaction.atomic
def push_agree(*, push: CompetitionPush, now: datetime) -> CompetitionPush:
    """Have it applied as it was compared. Raises `NOT_COMPARED`, or `CHANGED_SINCE` unless it is forced."""
    locked = CompetitionPush.objects.select_for_update(of=("self",)).get(pk=push.pk)
    if locked.state != State.COMPARED or locked.bundle_id is None:
        raise NOT_COMPARED()
    if locked.is_stale and not locked.is_forced:
        raise CHANGED_SINCE()
    locked.state, locked.attempts, locked.claimed_until, locked.changed_at = State.APPLYING, 0, None, now
    locked.save(update_fields=["state", "attempts", "claimed_until", "changed_at"])
    jobs.send_after_commit(PUSH_JOB, locked.pk)
    return locked


def waiting_pushes() -> QuerySet[CompetitionPush]:
    """Pushes that somebody must compare or apply, or is at."""
    return CompetitionPush.objects.filter(state__in=(State.COMPARING, State.APPLYING))


@claims(waiting_pushes, "owner", "bundle")
def push_perform(push: CompetitionPush, claimed: Claim) -> None:
    """Compare or apply; nothing when nobody wants it any more, or another process does it."""

    def fail(why: Refusal | None) -> None:
        report = {"report": why.report.as_json()} if isinstance(why, InvalidBundle) else {}
        claimed.release(**end_fields(State.FAILED, fault=why.detail if why is not None else OURS, **report))

    work_on_bundle("push", push, partial(_compare_or_apply, push, claimed), fail)


PUSH = jobs.Job(PUSH_JOB, waiting=waiting_pushes, perform=push_perform, queue=jobs.Queue.LONG)


def _compare_or_apply(push: CompetitionPush, claimed: Claim) -> None:
    now, progress = timezone.now(), partial(_step, claimed)
    progress("Unpacking")
    with (
        _folder(push, claimed) as folder,
        claimed.kept(),
        push_read(folder, owner=push.owner, now=now, progress=progress, known_bytes=_known_bytes(push)) as read,
    ):
        if push.state == State.APPLYING:
            progress("Applying")
            read.apply(now, partial(_record_result, push, claimed))
            return
        _record_comparison(push, claimed, read, read.rehearse(now))


def _known_bytes(push: CompetitionPush) -> int:
    """Bytes of the folder that are counted among somebody's files already."""
    known = push.parts.filter(pk__in=Resource.objects.values("file"))
    return sum(size for (size,) in known.values_list("size_bytes"))


@contextmanager
def _folder(push: CompetitionPush, claimed: Claim) -> Iterator[Path]:
    assert push.bundle is not None, "kept until the push is over"
    with ExitStack() as stack:
        copies = {file.pk: stack.enter_context(local_copy(file)) for file in push.parts.all()}
        beside = {path: copies[digest] for path, digest in push.digests.items()}
        source = stack.enter_context(local_copy(push.bundle))
        yield stack.enter_context(unpacked(source, name="the folder", is_wanted=claimed.renew, beside=beside))


def _step(claimed: Claim, step: str) -> None:
    """Say how far it is. Raises `ClaimLost`."""
    claimed.record(step=step[:200], changed_at=timezone.now())


def _record_comparison(push: CompetitionPush, claimed: Claim, read: Push, pushed: PushResult) -> None:
    is_stale = read.live is not None and pushed.version != (push.base or _last_pushed(read.live.pk))
    result = _result_json(pushed) | {"version": pushed.version, "is_stale": is_stale, "competition": read.live}
    claimed.conclude(**end_fields(State.COMPARED, **result))


def _last_pushed(competition: int) -> str:
    """The version that the last push made: a folder without a version of its own goes on from there."""
    applied = CompetitionPush.objects.filter(competition=competition, state=State.APPLIED)
    return applied.values_list("result", flat=True).first() or ""


def _record_result(push: CompetitionPush, claimed: Claim, pushed: PushResult) -> None:
    """Record the change, inside its transaction. Raises `CHANGED_SINCE` if others changed the competition."""
    if pushed.version != push.version and not push.is_forced:
        raise CHANGED_SINCE()
    claimed.conclude(**end_fields(State.APPLIED, competition=pushed.competition, **_result_json(pushed)))


def _result_json(pushed: PushResult) -> dict[str, object]:
    return {
        "slug": pushed.slug,
        "result": pushed.result,
        "changes": pushed.changes,
        "impact": pushed.impact,
        "report": pushed.report.as_json(),
    }


@transaction.atomic
def forget_push_files(*, now: datetime) -> int:
    """For the reconciler: release a push's files a day after it ended; its changes are kept."""
    over = CompetitionPush.objects.filter(
        state__in=(State.COMPARED, State.APPLIED, State.FAILED), changed_at__lte=now - KEPT
    )
    locked = over.exclude(bundle=None).select_for_update(of=("self",))  # whoever agrees to one meanwhile waits
    old = list(locked.values_list("pk", flat=True)[:500])
    CompetitionPush.parts.through.objects.filter(competitionpush__in=old).delete()
    return CompetitionPush.objects.filter(pk__in=old).update(bundle=None, digests={})


def files_held(user: User, digests: Collection[str]) -> dict[str, StoredFile]:
    """The files among these that the person has uploaded or may read already, by digest.

    A digest is not a secret, receipts show those of hidden labels: who knows one does not have the file.
    """
    managed = Competition.objects.managed_by(user)
    phases = Phase.objects.filter(competition__in=managed)
    used = resources_named_by(Task.objects.readable_by(user)) | resources_named_by(phases)
    used |= resources_named_by(Solution.objects.filter(competition__in=managed))
    resources = Resource.objects.filter(Q(owner=user) | Q(pk__in=used))
    held = Q(pk__in=resources.values("file")) | Q(
        pk__in=Upload.objects.filter(user=user, file__isnull=False).values("file")
    )
    held |= Q(pk__in=managed.values("logo")) | Q(
        pk__in=PageImage.objects.filter(competition__in=managed).values("file")
    )
    return {file.pk: file for file in StoredFile.objects.filter(held, pk__in=digests)}
