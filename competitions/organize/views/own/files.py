"""An organizer's files: shared programs and data, their versions, and people with access."""

from collections.abc import Callable
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.views import person
from competitions.organize.editing import resources
from competitions.organize.forms import KindForm, ResourceFilterForm
from competitions.organize.hosts import require_host
from competitions.organize.views.access import answer_upload
from competitions.organize.views.editing.changes import change_page, delete_page, render_page
from competitions.organize.workspace.lists import list_page
from competitions.resources.downloads import stored_response
from competitions.resources.models import Resource, Upload
from competitions.resources.rooms import takes_uploads
from competitions.resources.versions import count_uses, storage_used
from competitions.web.forms import cleaned


@require_safe
def files(request: HttpRequest) -> HttpResponse:
    """The asker's files, the newest first, narrowed by the address; and how much room they take."""
    user = person(request)
    require_host(user)
    form = ResourceFilterForm(request.GET)
    shown, following = list_page(request, form.narrowed(resources.own_resources(user)))
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
    return _answer(request, lambda upload: resources.add_resource(kind=kind, upload=upload, by=person(request)))


@takes_uploads(lambda request, **place: require_host(person(request)))
@require_http_methods(["GET", "HEAD", "POST"])
def file(request: HttpRequest, key: UUID) -> HttpResponse:
    """Name a file and share it; a file that is sent is its new version."""
    user = person(request)
    before = get_object_or_404(resources.own_resources(user).select_related("file", "replaces"), key=key)
    if request.FILES or "upload" in request.POST:
        return _answer(request, lambda upload: _new_version(request, before, upload))

    def make(data: QueryDict | None) -> resources.ResourceForm:
        rows = resources.own_resources(user)
        rows = rows.select_for_update(of=("self",), no_key=True) if data else rows
        return resources.ResourceForm(data, by=user, instance=get_object_or_404(rows, pk=before.pk))

    return change_page(
        request,
        make,
        tab="files",
        title=f"File “{before.name}”",
        template="organize/own/file.html",
        context=lambda form: {"resource": before, "uses": count_uses(before), "newer": before.replaced_by.first()},
    )


def _new_version(request: HttpRequest, before: Resource, upload: Upload) -> Resource:
    fresh, left = resources.add_version(resource=before, upload=upload, by=person(request))
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
    resource = get_object_or_404(resources.own_resources(person(request)).select_related("file"), key=key)
    return stored_response(request, resource.file, file_name=resource.file_name)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, key: UUID) -> HttpResponse:
    """Say what keeps a file, or delete it."""
    chosen = get_object_or_404(resources.own_resources(person(request)), key=key)
    return delete_page(request, None, chosen, resources.resource_deletion, tab="files")
