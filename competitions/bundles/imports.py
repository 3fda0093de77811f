"""An import in two steps: take the file, then make the competition while somebody may watch."""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.utils import timezone

from accounts.models import User
from competitions.bundles.faults import InvalidBundle, Note, Report
from competitions.bundles.importer import bundle_import
from competitions.bundles.models import BundleImport
from competitions.compute.models import Queue
from competitions.resources.models import StoredFile
from competitions.resources.storage import local_copy
from core.refusals import NotAllowed, Refusal

log = structlog.get_logger(__name__)
GIVEN_UP_AFTER: Final = timedelta(minutes=30)  # one whose process died may be begun again


class OrganizersOnly(NotAllowed):
    code = "organizers_only"

    def __init__(self) -> None:
        super().__init__("Only organizers import competitions. Ask an administrator for the rights of an organizer.")


def import_begin(
    *, owner: User, stored: StoredFile, file_name: str, now: datetime, queue: Queue | None = None
) -> BundleImport:
    """Note a bundle that has arrived. Raises `OrganizersOnly`."""
    if not owner.is_staff:
        raise OrganizersOnly
    return BundleImport.objects.create(
        owner=owner, file=stored, file_name=file_name[-255:], queue=queue, created_at=now, changed_at=now
    )


def import_perform(*, job: BundleImport, now: datetime) -> BundleImport:
    """Make the competition, or write down every fault; done once, whoever asks and however often."""
    with suppress(Refusal):  # its report says it
        import_run(job=job, now=now)
    return job


def import_run(*, job: BundleImport, now: datetime) -> BundleImport:
    """As `import_perform`, for who asks once and waits: raises `InvalidBundle`, or the refusal that there is no room, as well."""
    state = BundleImport.State
    waiting = BundleImport.objects.filter(pk=job.pk, state=state.WAITING)
    stale = BundleImport.objects.filter(pk=job.pk, state=state.RUNNING, changed_at__lt=now - GIVEN_UP_AFTER)
    if not (waiting | stale).update(state=state.RUNNING, step="Unpacking", changed_at=now):
        job.refresh_from_db()
        return job

    def progress(step: str) -> None:
        BundleImport.objects.filter(pk=job.pk).update(step=step[:200], changed_at=timezone.now())

    try:
        with local_copy(job.file) as path:
            made = bundle_import(source=path, owner=job.owner, queue=job.queue, now=now, progress=progress)
    except InvalidBundle as error:
        _ended(job, state.FAILED, error.report)
        raise
    except Refusal as refusal:  # such as no room left for the files
        _ended(job, state.FAILED, Report(faults=[Note(refusal.detail, file=job.file_name)]))
        raise
    except Exception:
        log.exception("import_failed", bundle_import=job.pk)
        _ended(job, state.FAILED, Report())
        raise
    job.competition = made.competition
    return _ended(job, state.FINISHED, made.report)


def _ended(job: BundleImport, state: BundleImport.State, report: Report) -> BundleImport:
    job.state, job.step, job.report, job.changed_at = state, "", report.as_json(), timezone.now()
    job.save(update_fields=["state", "step", "report", "changed_at", "competition"])
    return job
