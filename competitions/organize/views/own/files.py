"""An organizer's files: shared programs and data, their versions, and people with access."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from accounts.views import person
from competitions.catalog.models import Competition, Phase, Solution, Task
from competitions.catalog.organizers import require_host
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.editing.deletions import Deletion
from competitions.organize.forms import KindForm, ResourceFilterForm, list_page
from competitions.organize.views.access import answer_upload
from competitions.organize.views.editing.changes import change_page, delete_page, render_page
from competitions.resources.downloads import stored_response
from competitions.resources.models import Resource, Upload
from competitions.resources.rooms import takes_uploads
from competitions.resources.versions import check_upload, count_uses, resource_replace, storage_used
from competitions.web.forms import cleaned, offer


def own_resources(user: User) -> QuerySet[Resource]:
    """The rows that this person may change; all of them for an administrator."""
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
    refusals = (f"{named}. Replace it there first.",) if uses else ()
    return Deletion(f"the file “{resource.name}”", ("Its bytes are removed once nothing else uses them.",), refusals)


@require_safe
def files(request: HttpRequest) -> HttpResponse:
    """The asker's files, the newest first, narrowed by the address; and how much room they take."""
    user = person(request)
    require_host(user)
    form = ResourceFilterForm(request.GET)
    shown, following = list_page(request, form.narrowed(own_resources(user)))
    context = {
        "rows": shown,
        "following": following,
        "form": form,
        "kinds": Resource.Kind.choices,
        "used": storage_used(user),
        "limit": None if user.is_superuser else settings.ORGANIZER_STORAGE_BYTES,
    }
    return render_page(request, None, "organize/own/files.html", context, tab="files")


@takes_uploads(lambda request, **place: require_host(person(request)))
@require_http_methods(["POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Store an upload as a file of the kind in the form, sent by the page's script or the form."""
    kind = cleaned(KindForm(request.POST))["kind"]
    return _answer(request, lambda upload: add_resource(kind=kind, upload=upload, by=person(request)))


@takes_uploads(lambda request, **place: require_host(person(request)))
@require_http_methods(["GET", "HEAD", "POST"])
def file(request: HttpRequest, key: UUID) -> HttpResponse:
    """Name a file and share it; a file that is sent is its new version."""
    user = person(request)
    before = get_object_or_404(own_resources(user).select_related("file", "replaces"), key=key)
    if request.FILES or "upload" in request.POST:
        return _answer(request, lambda upload: _new_version(request, before, upload))

    def make(data: QueryDict | None) -> ResourceForm:
        rows = own_resources(user)
        rows = rows.select_for_update(of=("self",), no_key=True) if data else rows
        return ResourceForm(data, by=user, instance=get_object_or_404(rows, pk=before.pk))

    return change_page(
        request,
        make,
        tab="files",
        title=f"File “{before.name}”",
        template="organize/own/file.html",
        context=lambda form: {"resource": before, "uses": count_uses(before), "newer": before.replaced_by.first()},
    )


def _new_version(request: HttpRequest, before: Resource, upload: Upload) -> Resource:
    fresh, left = add_version(resource=before, upload=upload, by=person(request))
    if left:
        places = "A task or phase" if left == 1 else f"{left} tasks or phases"
        text = f"{places} of competitions that you do not organize kept the version from before."
        messages.warning(request, text)
    return fresh


def _answer(request: HttpRequest, store: Callable[[Upload], Resource]) -> HttpResponse:
    """Store what was sent, and lead to its page."""

    def take(upload: Upload) -> str:
        resource = store(upload)
        messages.success(request, f"{resource.file_name} was uploaded.")
        return reverse("organize:own-file", args=[resource.key])

    return answer_upload(request, take)


@require_safe
def download(request: HttpRequest, key: UUID) -> HttpResponseBase:
    """The bytes of one's own file."""
    resource = get_object_or_404(own_resources(person(request)).select_related("file"), key=key)
    return stored_response(request, resource.file, file_name=resource.file_name)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, key: UUID) -> HttpResponse:
    """Say what keeps a file, or delete it."""
    chosen = get_object_or_404(own_resources(person(request)), key=key)
    return delete_page(request, None, chosen, resource_deletion, tab="files")
