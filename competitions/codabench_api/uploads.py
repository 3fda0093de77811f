"""Files of clients: datasets, uploads to a signed address, imports, and waiting for them."""

import threading
import time
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from competitions.api.permissions import may_organize
from competitions.bundles.imports import import_begin
from competitions.bundles.models import BundleExport, BundleImport
from competitions.catalog.downloads import phase_downloads
from competitions.catalog.models import Phase
from competitions.catalog.organizers import organizes
from competitions.codabench_api.base import PAGE_PARAMETERS, BadForm, RobotView, ShownView, read_uuid
from competitions.codabench_api.files import address, read_address
from competitions.codabench_api.refused import MANAGED_ELSEWHERE
from competitions.codabench_api.shapes import dataset_row
from competitions.resources.downloads import stored_response
from competitions.resources.models import Resource, Upload
from competitions.resources.storage import CHUNK_BYTES
from competitions.resources.uploads import upload_append, upload_begin, upload_resize
from competitions.teams.services import require_registration
from core.refusals import Refusal, RefusalKind
from core.serving.receiving import announced_bytes, takes_body
from files.bundles.faults import InvalidBundle, Note, Report
from files.text import is_number

BUNDLE: Final = "competition_bundle"
KIND_HERE: Final = {BUNDLE: Resource.Kind.BUNDLE}
GROUPS: Final[dict[str, list[str]]] = {
    "dataset": [kind for kind in Resource.Kind.values if kind != Resource.Kind.BUNDLE],
    "bundle": [Resource.Kind.BUNDLE],
    "submission": [],  # files of submissions are no datasets here
}
BROKEN_OFF: Final = (
    "An error of this site stopped the import, and nothing was created. Send it again, or ask the administrators."
)


def person_datasets(user: User) -> QuerySet[Resource]:
    """The person's own resources, and those shared with them."""
    own = Q(owner=user) | Q(pk__in=user.shared_resources.values("pk"))
    return Resource.objects.filter(own).select_related("file", "owner").order_by("-pk")


class Datasets(RobotView):
    """The asker's datasets, in pages; or announce an upload: the answer says where to put it."""

    KINDS = ("submission", BUNDLE)
    parameters = ("type", "_type", "name", "key", "is_public", "search", *PAGE_PARAMETERS)

    def get(self, request: Request) -> Response:
        datasets = person_datasets(self.person())
        if kind := self.query_choice("type", (*Resource.Kind.values, *self.KINDS)):
            datasets = datasets.filter(kind=KIND_HERE.get(kind, kind))
        if group := self.query_choice("_type", GROUPS):
            datasets = datasets.filter(kind__in=GROUPS[group])
        lookups = {"name": "name", "search": "name__icontains"}
        datasets = datasets.filter(**{lookup: self.query(name) for name, lookup in lookups.items() if self.query(name)})
        if key := self.query("key"):
            uuid = read_uuid(key)
            datasets = datasets.filter(key=uuid) if uuid else datasets.none()
        if (is_public := self.query_flag("is_public")) is not None:
            datasets = datasets.filter(is_public=is_public)
        return self.page(datasets, dataset_row)

    def post(self, request: Request) -> Response:
        kind = self.word("type", "submission")
        if kind not in self.KINDS:
            raise BadForm(f"The type {kind!r} is not uploaded here; there are {' and '.join(self.KINDS)}.")
        name = self.word("request_sassy_file_name") or f"{kind}.zip"
        size = self.word("file_size")
        whole = size.partition(".")[0]  # some scripts announce a number with a point
        announced = int(whole) if is_number(whole) else 0
        upload = upload_begin(
            user=self.person(), file_name=name, size_bytes=announced or 1, now=timezone.now(), is_bundle=kind == BUNDLE
        )
        url = address(self.received, "codabench:upload", upload.pk)
        return Response({"key": str(upload.key), "sassy_url": url}, status=201)


SCOPE_MISSING: Final = RefusalKind(
    403, "scope_missing", "This API token may not organize. Make one with the scope `organize` in your profile."
)


def _signed_upload(token: str) -> Upload | None:
    what = read_address(token, "codabench:upload")
    return Upload.objects.select_related("user").filter(pk=what[0]).first() if what else None


def _room(request: HttpRequest, token: str) -> int:
    """Room for the body at this address, of the size that the request announces. Raises 404 or a refusal."""
    if (upload := _signed_upload(token)) is None:
        raise Http404
    return upload_resize(upload=upload, size_bytes=announced_bytes(request) or 1).size_bytes


@login_not_required
@csrf_exempt
@takes_body(_room)
@require_http_methods(["PUT"])
def upload(request: HttpRequest, token: str) -> HttpResponse:
    """Take the bytes: the signed address is the permission, so no header is needed. Answers exactly 200."""
    upload = _signed_upload(token)
    if upload is None:
        return JsonResponse(
            {"detail": "This address is not valid, or its time is over. Ask for another one."}, status=404
        )
    try:
        resized = upload_resize(upload=upload, size_bytes=int(request.headers.get("Content-Length") or 0))
        chunks = iter(lambda: request.read(CHUNK_BYTES), b"")
        upload_append(key=resized.key, user=resized.user, offset=0, chunks=chunks, now=timezone.now())
    except Refusal as refusal:
        return JsonResponse({"detail": refusal.detail, "code": refusal.code}, status=refusal.http_status)
    return HttpResponse(status=200)


class UploadCompleted(RobotView):
    """Finish an upload. A bundle is imported, and the answer has the address of its status."""

    def put(self, request: Request, key: UUID) -> Response:
        user, now = self.person(), timezone.now()
        sent = get_object_or_404(Upload.objects.select_related("file"), key=key, user=user, file__isnull=False)
        assert sent.file is not None, "asked for"
        if not sent.is_bundle:
            return Response({"key": str(sent.key)})
        if not may_organize(request.auth):
            raise SCOPE_MISSING()
        job = import_begin(owner=user, stored=sent.file, file_name=sent.file_name, now=now)
        return Response({"status_id": job.pk})


class CreationStatus(RobotView):
    """The result of an import of a bundle, or of a task that was sent as a zip."""

    def get(self, request: Request, pk: int) -> Response:
        job = get_object_or_404(BundleImport.objects.select_related("task"), pk=pk, owner=self.person())
        words = {BundleImport.State.FINISHED: "Finished", BundleImport.State.FAILED: "Failed"}
        details = "\n".join(map(str, import_report(job).faults)) or job.step or None
        return Response(
            {
                "status": words.get(BundleImport.State(job.state), "Starting"),
                "details": details,
                "resulting_competition": job.competition_id,
                "resulting_task": str(job.task.key) if job.task else None,
            }
        )


def import_answer(job: BundleImport, shape: Callable[[BundleImport], dict[str, object] | None]) -> Response:
    """Wait for an import: 201 with its result, else 202 with a number to ask for. Raises `InvalidBundle`."""
    over = wait_until_over(job)
    if (result := shape(over)) is not None:
        return Response(result, status=201)
    if over.state == BundleImport.State.FAILED:
        raise InvalidBundle(import_report(over))
    return Response({"status": "Starting", "status_id": over.pk}, status=202)


def import_report(job: BundleImport) -> Report:
    """The reasons for a failed import; without faults for any other."""
    faults = [Note(**fault) for fault in job.report.get("faults", [])]
    is_ours = job.state == BundleImport.State.FAILED and not faults
    return Report(faults=[Note(BROKEN_OFF, file=job.file_name)] if is_ours else faults)


class DatasetView(ShownView):
    """One dataset, by its number or its key."""

    def get(self, request: Request, key: str) -> Response:
        uuid = read_uuid(key)
        lookup = Q(key=uuid) if uuid else Q(pk=int(key) if key.isdecimal() and len(key) < 19 else 0)
        return Response(dataset_row(get_object_or_404(person_datasets(self.person()), lookup)))

    def refuse(self, key: str) -> NoReturn:
        self.get(self.request, key)
        raise MANAGED_ELSEWHERE(what="Datasets are changed, replaced and deleted", where="/host/files/")


class DatasetDownload(RobotView):
    """The file of a dataset at Codabench's address for it; a session or a token opens it.

    A token without the scope `organize` opens what phases offer, and no labels that the person has as an organizer.
    """

    def get(self, request: Request, key: UUID) -> HttpResponseBase:
        user = self.person()
        own = person_datasets(user).filter(key=key).first()
        resource = (
            own if own is not None and may_organize(request.auth) else _opened_to(user, key, is_own=own is not None)
        )
        return stored_response(self.received, resource.file, file_name=resource.file_name)


def _opened_to(user: User, key: UUID, *, is_own: bool) -> Resource:
    """A download of a phase, for those who take part and for its organizers.

    Raises 404, `SCOPE_MISSING` for what is the person's own, or for others the refusal that says why they do not take part.
    """
    tasks = ("scoring_program", "ingestion_program", "input_data")
    uses = Q(public_data__key=key) | Q(starting_kit__key=key)
    for name in tasks:
        uses |= Q(**{f"tasks__{name}__key": key})
    refusal: Refusal | None = None
    for phase in Phase.objects.visible_to(user).filter(uses).select_related("competition").distinct():
        offered = next(
            (resource for resource in phase_downloads(phase, timezone.now()).values() if resource.key == key), None
        )
        if offered is None:
            continue
        try:
            if not organizes(user, phase.competition_id):
                require_registration(user=user, competition=phase.competition)
        except Refusal as error:
            refusal = error  # another competition may offer the same file
        else:
            return offered
    raise SCOPE_MISSING() if is_own else refusal or Http404


Work = TypeVar("Work", BundleExport, BundleImport)
PAUSE_S: Final = 0.1
THREADS: Final = 2  # of each process, which has sixteen as a rule
LENT: Final = threading.BoundedSemaphore(THREADS)


def wait_until_over(work: Work) -> Work:
    """The row once it is over, or as it is after `ROBOT_WAIT_S`, so as not to block the thread longer.

    A process lends few threads to those who wait; others are told at once to ask again.
    """
    if work.is_over or not LENT.acquire(blocking=False):
        return work
    try:
        for _ in range(round(settings.ROBOT_WAIT_S / PAUSE_S)):
            time.sleep(PAUSE_S)
            work.refresh_from_db()
            if work.is_over:
                break
    finally:
        LENT.release()
    return work
