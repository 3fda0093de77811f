"""The organizer's page for bundles: import with progress and report, export, and clone."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from competitions.bundles.cloning import competition_clone, exported
from competitions.bundles.imports import OrganizersOnly, import_begin
from competitions.bundles.models import BundleImport
from competitions.catalog.models import Competition
from competitions.compute.models import Queue
from competitions.resources.uploads import upload_whole
from competitions.web.views.submissions import NoFile
from competitions.web.views.teams import person
from core.numbers import is_number


def _organizer(request: HttpRequest) -> User:
    user = person(request)
    if not user.is_staff:
        raise OrganizersOnly
    return user


def _managed(request: HttpRequest, slug: str) -> Competition:
    return get_object_or_404(Competition.objects.managed_by(_organizer(request)), slug=slug)


def _queues(user: User) -> list[Queue]:
    """Those that this organizer may choose."""
    return list(Queue.objects.usable_by(user))


@require_safe
@login_required
def bundles(request: HttpRequest) -> HttpResponse:
    user = _organizer(request)
    context = {
        "imports": BundleImport.objects.filter(owner=user).select_related("competition")[:20],
        "managed": Competition.objects.managed_by(user)[:100],
        "queues": _queues(user),
    }
    return render(request, "web/bundles.html", context)


@require_POST
@login_required
def bundle_send(request: HttpRequest) -> HttpResponse:
    """Take the file; a background process makes the competition, and the page shows how far it is."""
    user, file = _organizer(request), request.FILES.get("file")
    if file is None:
        raise NoFile
    now = timezone.now()
    sent = upload_whole(
        user=user, file_name=file.name or "bundle.zip", size_bytes=file.size or 0, chunks=file.chunks(), now=now
    )
    assert sent.file is not None, "it came in one piece"
    chosen = request.POST.get("queue", "")
    queue = next((one for one in _queues(user) if is_number(chosen) and one.pk == int(chosen)), None)
    job = import_begin(owner=user, stored=sent.file, file_name=sent.file_name, queue=queue, now=now)
    return redirect("web:bundle-import", job.pk)


def _job(request: HttpRequest, pk: int) -> BundleImport:
    jobs = BundleImport.objects.select_related("competition", "file", "queue", "owner")
    return get_object_or_404(jobs, pk=pk, owner=_organizer(request))


@require_safe
@login_required
def bundle_import_page(request: HttpRequest, pk: int) -> HttpResponse:
    return render(request, "web/bundle_import.html", {"job": _job(request, pk)})


@require_safe
@login_required
def bundle_status(request: HttpRequest, pk: int) -> HttpResponse:
    """How far it is, served alone; it asks again until it is over."""
    return render(request, "web/_bundle_status.html", {"job": _job(request, pk)})


@require_safe
@login_required
def bundle_export(request: HttpRequest, slug: str) -> FileResponse:
    """The competition as a zip: with its files, or with keys in their place."""
    competition = _managed(request, slug)
    wanted = request.GET.get("files", "all")
    if wanted not in ("all", "keys"):
        raise Http404
    file = exported(competition, with_files=wanted == "all")
    return FileResponse(
        file, as_attachment=True, filename=f"{competition.slug}{'' if wanted == 'all' else '-keys'}.zip"
    )


@require_POST
@login_required
def bundle_clone(request: HttpRequest, slug: str) -> HttpResponse:
    copy = competition_clone(competition=_managed(request, slug), by=_organizer(request), now=timezone.now())
    messages.success(request, f"“{copy}” is a draft of its own now.")
    return redirect("web:overview", copy.slug)
