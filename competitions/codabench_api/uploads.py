"""Uploads of robots: submissions and bundles are announced, put to a signed address, and then used."""

from collections.abc import Iterator
from typing import Final, cast
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import ApiToken, Scope
from competitions.bundles.imports import import_begin
from competitions.bundles.models import BundleImport
from competitions.codabench_api.base import PAGE_PARAMETERS, BadForm, RobotView, read_uuid
from competitions.codabench_api.datasets import person_datasets
from competitions.codabench_api.files import address, read_address
from competitions.codabench_api.shapes import dataset_row
from competitions.resources.models import Resource, Upload
from competitions.resources.storage import CHUNK_BYTES
from competitions.resources.uploads import upload_append, upload_begin, upload_resize
from core.refusals import Refusal, RefusalKind
from core.serving.receiving import announced_bytes, takes_body
from files.bundles.faults import Note, Report
from files.text import is_number

BUNDLE: Final = "competition_bundle"
KIND_HERE: Final = {BUNDLE: Resource.Kind.BUNDLE}
GROUPS: Final[dict[str, list[str]]] = {
    "dataset": [kind for kind in Resource.Kind.values if kind != Resource.Kind.BUNDLE],
    "bundle": [Resource.Kind.BUNDLE],
    "submission": [],  # files of submissions are no datasets here
}
BROKEN_OFF: Final = (
    "The import broke off by a fault of this site, and nothing was created. Send it again, or ask the administrators."
)


class Datasets(RobotView):
    """The asker's datasets, in pages; or announce an upload: the answer says where to put it."""

    write_scope = Scope.SUBMIT
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
        answer = {
            "key": str(upload.key),
            "sassy_url": address(cast("HttpRequest", request), "codabench:upload", upload.pk),
        }
        return Response(answer, status=201)


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
        upload_append(key=resized.key, user=resized.user, offset=0, chunks=_chunks(request), now=timezone.now())
    except Refusal as refusal:
        return JsonResponse({"detail": refusal.detail, "code": refusal.code}, status=refusal.http_status)
    return HttpResponse(status=200)


def _chunks(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(CHUNK_BYTES):
        yield chunk


class UploadCompleted(RobotView):
    """Finish an upload. A bundle is imported, and the answer has the address of its status."""

    write_scope = Scope.SUBMIT

    def put(self, request: Request, key: UUID) -> Response:
        user, now = self.person(), timezone.now()
        sent = get_object_or_404(Upload.objects.select_related("file"), key=key, user=user, file__isnull=False)
        assert sent.file is not None, "asked for"
        if not sent.is_bundle:
            return Response({"key": str(sent.key)})
        if isinstance(request.auth, ApiToken) and Scope.ORGANIZE not in request.auth.scopes:
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


def import_report(job: BundleImport) -> Report:
    """The reasons for a failed import; without faults for any other."""
    faults = [Note(**fault) for fault in job.report.get("faults", [])]
    is_ours = job.state == BundleImport.State.FAILED and not faults
    return Report(faults=[Note(BROKEN_OFF, file=job.file_name)] if is_ours else faults)
