"""New versions of programs and data, and how much room an organizer's files take."""

from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Model, QuerySet, Sum

from accounts.models import User
from competitions.resources.models import Resource, StoredFile, Upload, pointers_at
from competitions.resources.storage import local_copy
from competitions.resources.uploads import UploadIncomplete
from core.refusals import Refusal
from files.archives import ArchiveLimits, check_directory

# What a compute worker unpacks; the limits are the worker's own, which are wider than those of submissions.
UNPACKED_KINDS: Final = frozenset(
    {
        Resource.Kind.SCORING_PROGRAM,
        Resource.Kind.INGESTION_PROGRAM,
        Resource.Kind.INPUT_DATA,
        Resource.Kind.REFERENCE_DATA,
    }
)
RESOURCE_LIMITS: Final = ArchiveLimits(unpacked_bytes=64 * 1024**3, files=200_000, ratio=1100)


class StorageQuotaUsed(Refusal):
    code, http_status = "storage_quota_used", 413

    def __init__(self, *, used: int, limit: int, more_bytes: int) -> None:
        super().__init__(
            f"Your files take {used:,} of {limit:,} bytes, and {more_bytes:,} more are needed. Delete files that nothing uses any more, "
            "or ask an administrator for more room.",
            used=used,
            limit=limit,
        )


def storage_used(user: User) -> int:
    """Bytes of the files that this person's resources point at; the same content counts once."""
    own_files = StoredFile.objects.filter(pk__in=Resource.objects.filter(owner=user).values("file"))
    return own_files.aggregate(total=Sum("size_bytes"))["total"] or 0


def require_room(user: User, more_bytes: int) -> None:
    """Raise `StorageQuotaUsed` when this many bytes more are too many. Administrators have no quota."""
    used, limit = storage_used(user), settings.ORGANIZER_STORAGE_BYTES
    if not user.is_superuser and used + more_bytes > limit:
        raise StorageQuotaUsed(used=used, limit=limit, more_bytes=more_bytes)


def check_upload(kind: str, upload: Upload, by: User) -> StoredFile:
    """The file of an upload that can be such a resource, as far as names and headers tell.

    Raises `UploadIncomplete`, `StorageQuotaUsed` or `InvalidFile`.
    """
    if upload.file is None:
        raise UploadIncomplete(upload)
    require_room(by, upload.file.size_bytes)
    if kind in UNPACKED_KINDS:
        with local_copy(upload.file) as path:
            check_directory(path, limits=RESOURCE_LIMITS, what=f"The file {upload.file_name!r}")
    return upload.file


@transaction.atomic
def resource_replace(
    *,
    resource: Resource,
    file: StoredFile,
    file_name: str,
    owner: User | None = None,
    may_change: Callable[[Model], bool] = lambda row: True,
) -> Resource:
    """Make a new version of a resource; its users take it from now on. Old runs keep their receipts.

    `may_change` says of a task or phase whether the person may change it: competitions of others that use a shared resource keep
    the version that they have. An `owner` other than before gets a version that is shared with nobody. The old version stays,
    unless its owner deletes it; `replaced_by` leads from it to the new one.
    """
    is_same = owner is None or owner == resource.owner
    fresh = Resource.objects.create(
        owner=owner or resource.owner,
        kind=resource.kind,
        name=resource.name,
        file=file,
        file_name=file_name,
        is_public=resource.is_public and is_same,
        replaces=resource,
    )
    if is_same:
        fresh.shared_with.set(resource.shared_with.all())
    for model, name in _users():
        changed = [row.pk for row in model._base_manager.filter(**{name: resource}) if may_change(row)]
        model._base_manager.filter(pk__in=changed).update(**{name: fresh})
    return fresh


def count_uses(resource: Resource) -> int:
    """The number of times that tasks and phases name this version."""
    return sum(model._base_manager.filter(**{name: resource}).count() for model, name in _users())


def resources_named_by(rows: QuerySet[Any]) -> set[int]:
    """Numbers of the programs and data that these rows name, such as tasks or phases."""
    names = [field.attname for field in rows.model._meta.concrete_fields if field.related_model is Resource]
    return {number for row in rows.values_list(*names) for number in row if number is not None}


def _users() -> list[tuple[type[Model], str]]:
    return [
        (model, name) for model, name in pointers_at(Resource) if model is not Resource and not model._meta.auto_created
    ]
