"""An organizer's shared files: programs and data of several tasks, versions, and people with access."""

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import QueryDict

from accounts.models import User
from competitions.catalog.models import Competition, Phase, Solution, Task
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.editing.deletions import Deletion
from competitions.resources.models import Resource, Upload
from competitions.resources.versions import check_upload, count_uses, resource_replace
from competitions.web.forms import offer


def own_resources(user: User) -> QuerySet[Resource]:
    """Those that this person may change; all of them for an administrator."""
    return Resource.objects.all() if user.is_superuser else Resource.objects.filter(owner=user)


class ResourceForm(ChangeForm):
    """Name of a file, and who else may use it."""

    class Meta:
        model = Resource
        fields = ("name", "is_public", "shared_with")
        labels: ClassVar[dict[str, str]] = {"is_public": "For every organizer", "shared_with": "Shared with"}

    def __init__(self, data: QueryDict | None = None, *, by: User, instance: Resource) -> None:
        super().__init__(data, instance=instance)
        if not by.is_staff:  # files are shared among staff; others are not shown who that is
            del self.fields["shared_with"]
            return
        staff = User.objects.filter(is_staff=True, is_active=True)
        offer(self, "shared_with", staff.exclude(pk=by.pk).order_by("username"))

    def consequences(self, now: datetime) -> list[str]:
        return list(_impact_of_sharing(self.instance, self.changed_data))


def _impact_of_sharing(resource: Resource, changed: list[str]) -> Iterator[str]:
    if "is_public" in changed and resource.is_public:
        yield "Every organizer of this site can use it, and read it with a program of their own."
    if "is_public" in changed and not resource.is_public and (uses := count_uses(resource)):
        yield f"Tasks and phases that use it keep it ({uses}); others' competitions take it no more."


@transaction.atomic
def add_resource(*, kind: str, upload: Upload, by: User) -> Resource:
    """Keep an upload as a file of this kind, named as it is. Raises as `check_upload`."""
    stored = check_upload(kind, upload, by)
    name = upload.file_name[: Resource._meta.get_field("name").max_length]
    return Resource.objects.create(owner=by, kind=kind, name=name, file=stored, file_name=upload.file_name)


@transaction.atomic
def add_version(*, resource: Resource, upload: Upload, by: User) -> tuple[Resource, int]:
    """Replace a file in this person's competitions; also returns how often the old one is still used."""
    stored = check_upload(resource.kind, upload, by)
    managed = set(Competition.objects.managed_by(by).values_list("pk", flat=True))
    fresh = resource_replace(
        resource=resource,
        file=stored,
        file_name=upload.file_name,
        may_change=lambda row: _may_change(row, managed, by),
    )
    return fresh, count_uses(resource)


def _may_change(row: Model, managed: set[int], by: User) -> bool:
    if isinstance(row, Task) and row.competition_id is None:
        return by.is_superuser or row.owner_id == by.pk
    return isinstance(row, Task | Phase | Solution) and row.competition_id in managed


def resource_deletion(resource: Resource) -> Deletion:
    """The consequences of deleting a file, and what keeps it."""
    uses = count_uses(resource)
    named = "1 task or phase uses it" if uses == 1 else f"{uses} tasks or phases use it"
    refusals = (f"{named}. Put other files in its place there first.",) if uses else ()
    return Deletion(f"the file “{resource.name}”", ("Its bytes go once nothing else points at them.",), refusals)
