"""The organizer's pages for bundles: import, export and clone, with their progress."""

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.views import person
from competitions.bundles.codabench_gaps import codabench_gaps, codabench_refusals
from competitions.bundles.exports import export_begin
from competitions.bundles.imports import clone_begin, import_begin
from competitions.bundles.models import BundleExport, BundleImport
from competitions.catalog.models import Competition
from competitions.catalog.organizers import require_host
from competitions.compute.models import Queue
from competitions.resources.downloads import stored_response
from competitions.resources.rooms import takes_uploads
from competitions.resources.uploads import take_upload
from competitions.web.forms import BundleForm, ExportForm, cleaned


def _organizer(request: HttpRequest) -> User:
    user = person(request)
    require_host(user)
    return user


def _managed(request: HttpRequest, slug: str) -> Competition:
    return get_object_or_404(Competition.objects.managed_by(_organizer(request)), slug=slug)


@require_safe
def bundles(request: HttpRequest) -> HttpResponse:
    user = _organizer(request)
    context = {
        "imports": _imports(user)[:20],
        "exports": BundleExport.objects.filter(owner=user).select_related("competition")[:20],
        "managed": Competition.objects.managed_by(user)[:100],
        "queues": Queue.objects.usable_by(user),
    }
    return render(request, "web/bundles/bundles.html", context)


@takes_uploads(_organizer)
@require_POST
def bundle_send(request: HttpRequest) -> HttpResponse:
    """Take the file; a background process makes the competition, and the page shows how far it is."""
    user = _organizer(request)
    values = cleaned(BundleForm(request.POST, request.FILES, queues=Queue.objects.usable_by(user)))
    now = timezone.now()
    sent = take_upload(user, values["file"], now)
    assert sent.file is not None, "it came in one piece"
    job = import_begin(owner=user, stored=sent.file, file_name=sent.file_name, queue=values["queue"], now=now)
    return redirect("web:bundle-import", job.pk)


def _job(request: HttpRequest, pk: int) -> BundleImport:
    return get_object_or_404(_imports(_organizer(request)), pk=pk)


def _imports(user: User) -> QuerySet[BundleImport]:
    """The imports that make a competition; tasks are sent by clients, which ask for themselves."""
    jobs = BundleImport.objects.filter(owner=user).exclude(kind=BundleImport.Kind.TASK)
    return jobs.select_related("competition")


@require_safe
def bundle_import_page(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "web/bundles/import.html", {"job": _job(request, pk)})


@require_safe
def bundle_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The progress of an import, served alone; it polls until the import is over."""
    return render(request, "web/bundles/_import_status.html", {"job": _job(request, pk)})


@require_POST
def bundle_export(request: HttpRequest, slug: str) -> HttpResponse:
    """Have the competition written as a zip: with its files, or with keys in their place."""
    competition, user = _managed(request, slug), _organizer(request)
    with_files = cleaned(ExportForm(request.POST))["content"] != ExportForm.KEYS
    export = export_begin(competition=competition, by=user, with_files=with_files, now=timezone.now())
    return redirect("web:bundle-export-page", export.pk)


def _export(request: HttpRequest, pk: int) -> BundleExport:
    """An export of the asker's, as long as they organize the competition."""
    user = _organizer(request)
    exports = BundleExport.objects.filter(owner=user, competition__in=Competition.objects.managed_by(user))
    return get_object_or_404(exports.select_related("competition", "file"), pk=pk)


@require_safe
def bundle_export_page(request: HttpRequest, pk: int) -> HttpResponse:
    export = _export(request, pk)
    context = {
        "export": export,
        "refusals": codabench_refusals(export.competition, with_files=export.with_files, by=export.owner),
        "gaps": codabench_gaps(export.competition),
    }
    return render(request, "web/bundles/export.html", context)


@require_safe
def bundle_export_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The state of an export, served alone; it polls until the export is over."""
    return render(request, "web/bundles/_export_status.html", {"export": _export(request, pk)})


@require_safe
def bundle_export_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    export = _export(request, pk)
    if export.file is None:
        raise Http404
    return stored_response(request, export.file, file_name=export.file_name)


@require_POST
def bundle_clone(request: HttpRequest, slug: str) -> HttpResponse:
    job = clone_begin(competition=_managed(request, slug), by=_organizer(request), now=timezone.now())
    return redirect("web:bundle-import", job.pk)
