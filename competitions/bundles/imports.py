"""Imports and clones in the background; a page and a call of the API show their progress."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from accounts.models import User
from competitions.bundles.importing.importer import Imported, bundle_import, competition_clone
from competitions.bundles.importing.tasks import task_import
from competitions.bundles.models import BundleImport
from competitions.bundles.refusals import ORIGINAL_GONE
from competitions.bundles.unpacking import unpacked
from competitions.catalog.models import Competition
from competitions.catalog.organizers import require_host
from competitions.compute.models import Queue
from competitions.resources.models import StoredFile
from competitions.resources.storage import local_copy
from core.background import jobs
from core.background.bounded import Stopped
from core.background.rows import Claim, ClaimLost, claims
from core.refusals import Refusal
from files.bundles.faults import InvalidBundle, Note, Report

log = structlog.get_logger(__name__)
IMPORT_JOB: Final = "bundle-import"


def import_begin(
    *, owner: User, stored: StoredFile, file_name: str, now: datetime, queue: Queue | None = None
) -> BundleImport:
    """Note a bundle that has arrived, and have it imported in the background. Raises `HostsOnly`."""
    return _begin(owner, now, file=stored, file_name=file_name[-255:], queue=queue)


def task_import_begin(*, owner: User, stored: StoredFile, file_name: str, now: datetime) -> BundleImport:
    """Have a task made of a zip in the background. Raises `HostsOnly`."""
    return _begin(owner, now, kind=BundleImport.Kind.TASK, file=stored, file_name=file_name[-255:])


def clone_begin(*, competition: Competition, by: User, now: datetime) -> BundleImport:
    """Have an equal competition made in the background, a draft of `by`. Raises `HostsOnly`."""
    name = f"Clone of {competition.title}"[:255]
    return _begin(by, now, kind=BundleImport.Kind.CLONE, original=competition, file_name=name, queue=competition.queue)


def _begin(owner: User, now: datetime, **fields: Any) -> BundleImport:
    require_host(owner)
    job = BundleImport.objects.create(owner=owner, created_at=now, changed_at=now, **fields)
    jobs.send_after_commit(IMPORT_JOB, job.pk)
    return job


def waiting_imports() -> Any:
    """Imports that somebody must do, or is doing."""
    return BundleImport.objects.filter(state__in=(BundleImport.State.WAITING, BundleImport.State.RUNNING))


@claims(waiting_imports, "owner", "queue", "file")
def import_perform(job: BundleImport, claimed: Claim) -> None:
    """Make the competition, or record every fault; nothing if it is over or another process does it."""

    def fail(why: Refusal | None) -> None:
        report = why.report if isinstance(why, InvalidBundle) else Report()
        if why is not None and not isinstance(why, InvalidBundle):  # such as no room left for the files
            report = Report(faults=[Note(why.detail, file=job.file_name)])
        claimed.release(**end_fields(BundleImport.State.FAILED, report=report.as_json()))

    work_on_bundle("import", job, partial(_make, job, claimed), fail)


def work_on_bundle(name: str, row: Any, work: Callable[[], None], fail: Callable[[Refusal | None], object]) -> None:
    """Do the claimed row's work; `fail` records why it cannot be done, with None for a fault of ours.

    Where the database ended a statement, as at a deadlock, it is done again once the claim is over.
    """
    if row.attempts > settings.BACKGROUND_ATTEMPTS:
        fail(None)
        log.error(event=f"{name}_given_up", row=row.pk)
        return
    try:
        work()
    except Refusal as refusal:
        fail(refusal)
    except (ClaimLost, Stopped):
        log.warning(event=f"{name}_taken_over", row=row.pk)
    except OperationalError:
        raise
    except Exception:
        fail(None)
        raise


IMPORT = jobs.Job(IMPORT_JOB, waiting=waiting_imports, perform=import_perform, queue=jobs.Queue.LONG)


def _make(job: BundleImport, claimed: Claim) -> None:
    """The competition or the task, recorded in the row by the transaction that makes it."""
    progress, record = partial(_step, claimed), partial(_record_competition, claimed)
    if job.file is None:
        progress("Copying")
        with claimed.kept():
            original = Competition.objects.managed_by(job.owner).filter(pk=job.original_id or 0).first()
            if original is None:
                raise ORIGINAL_GONE()
            competition_clone(competition=original, by=job.owner, now=timezone.now(), progress=progress, record=record)
        return
    progress("Unpacking")
    with (
        local_copy(job.file) as path,
        unpacked(path, name=job.file_name, is_wanted=claimed.renew) as folder,
        claimed.kept(),
    ):
        if job.kind == BundleImport.Kind.TASK:
            task_import(
                source=folder,
                owner=job.owner,
                record=lambda task: claimed.conclude(**end_fields(BundleImport.State.FINISHED, task=task)),
            )
            return
        bundle_import(
            source=folder,
            owner=job.owner,
            name=job.file_name,
            queue=job.queue,
            now=timezone.now(),
            progress=progress,
            record=record,
        )


def _step(claimed: Claim, step: str) -> None:
    """Say how far it is. Raises `ClaimLost`."""
    claimed.record(state=BundleImport.State.RUNNING, step=step[:200], changed_at=timezone.now())


def _record_competition(claimed: Claim, imported: Imported) -> None:
    """Record the competition, inside the transaction that makes it. Raises `ClaimLost`."""
    report = imported.report.as_json()
    claimed.conclude(**end_fields(BundleImport.State.FINISHED, report=report, competition=imported.competition))


def end_fields(state: str, **result: Any) -> dict[str, object]:
    """The fields of an import, or a push, that has ended."""
    return {"state": state, "step": "", "changed_at": timezone.now(), **result}
