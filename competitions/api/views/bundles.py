"""Bundles by API: import one, export a competition as one."""

from typing import Final

from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.framework import JSONParser
from competitions.api.views.base import ApiView, checked
from competitions.bundles.codabench_gaps import codabench_gaps, codabench_refusals
from competitions.bundles.exports import export_begin
from competitions.bundles.importing.rows import queue_named
from competitions.bundles.imports import import_begin
from competitions.bundles.models import BundleExport, BundleImport
from competitions.catalog.models import Competition
from competitions.catalog.organizers import require_host
from competitions.resources.downloads import stored_response
from competitions.resources.rooms import upload_room
from competitions.resources.uploads import UploadIncomplete, take_upload, upload_finish

IMPORTS_SHOWN: Final = 20


class BundleIn(serializers.Serializer[None]):
    """A zip, or the key of a finished upload of one, and the queue where the bundle's own is not wanted."""

    file = serializers.FileField(required=False)
    upload = serializers.UUIDField(required=False)
    queue = serializers.CharField(required=False, allow_blank=True, default="")


class Bundles(ApiView):
    """Send a bundle, which a background process makes into a draft; or list the last imports."""

    serializer_class = BundleIn
    parser_classes = [MultiPartParser, JSONParser]
    read_scope = write_scope = Scope.ORGANIZE
    takes_files = True

    def body_room(self, request: Request) -> int:  # type: ignore[override]  # what the address names
        """Room for a bundle, for those who may host. Raises `HostsOnly`, or the refusal of an upload."""
        require_host(self.person())
        return upload_room(self.received, self.person())

    @extend_schema(operation_id="bundles_import", request=BundleIn, responses={202: OpenApiTypes.OBJECT})
    def post(self, request: Request) -> Response:
        """Send a bundle, which a background process makes into a draft."""
        user, now = self.person(), timezone.now()
        require_host(user)
        values = checked(BundleIn(data=request.data))
        queue_name = values["queue"]
        queue = queue_named(queue_name, user) if queue_name else None
        sent = upload_finish(take_upload(user, values.get("file"), now, key=values.get("upload")))
        if sent.file is None:
            raise UploadIncomplete(sent)
        job = import_begin(owner=user, stored=sent.file, file_name=sent.file_name, queue=queue, now=now)
        return Response(import_shape(job), status=202, headers={"Location": f"/api/v1/bundles/{job.pk}/"})

    @extend_schema(operation_id="bundles_imports", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """The asker's last imports, newest first, with their progress and the reports of those that ended."""
        imports = BundleImport.objects.filter(owner=self.person()).exclude(kind=BundleImport.Kind.TASK)
        return Response([import_shape(job) for job in imports.select_related("competition")[:IMPORTS_SHOWN]])


class BundleImported(ApiView):
    """The progress of an import, and its report at the end."""

    read_scope = write_scope = Scope.ORGANIZE

    @extend_schema(operation_id="bundles_import_retrieve", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, pk: int) -> Response:
        job = get_object_or_404(BundleImport.objects.select_related("competition"), pk=pk, owner=self.person())
        return Response(import_shape(job))


def import_shape(job: BundleImport) -> dict[str, object]:
    """An import, and the competition that it made, as long as that is there."""
    slug = job.competition.slug if job.competition else None
    return {
        "id": job.pk,
        "file_name": job.file_name,
        "state": job.state,
        "step": job.step,
        "slug": slug,
        "url": f"/competitions/{slug}/" if slug else None,
        "report": job.report or None,
    }


class ExportIn(serializers.Serializer[None]):
    """A choice for an exported bundle: programs and data, or keys in their place."""

    files = serializers.ChoiceField(choices=["all", "keys"], default="all")


class CompetitionBundle(ApiView):
    """Export a competition as a bundle of version 2 in the background, for its organizers."""

    serializer_class = ExportIn
    write_scope = Scope.ORGANIZE

    @extend_schema(operation_id="bundles_export", request=ExportIn, responses={202: OpenApiTypes.OBJECT})
    def post(self, request: Request, slug: str) -> Response:
        competition = self.organized(slug)
        with_files = checked(ExportIn(data=request.data))["files"] == "all"
        export = export_begin(competition=competition, by=self.person(), with_files=with_files, now=timezone.now())
        return Response(export_shape(export), status=202, headers={"Location": f"/api/v1/exports/{export.pk}/"})


class ExportView(ApiView):
    """Base: an export of the asker's, as long as they organize the competition."""

    read_scope = Scope.ORGANIZE  # labels are in the file

    def export(self, pk: int) -> BundleExport:
        managed = Competition.objects.managed_by(self.person())
        exports = BundleExport.objects.filter(owner=self.person(), competition__in=managed)
        return get_object_or_404(exports.select_related("competition", "file"), pk=pk)


class Exported(ExportView):
    """The state of an export, and the address of its file, which is kept for a day."""

    @extend_schema(operation_id="bundles_export_retrieve", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, pk: int) -> Response:
        return Response(export_shape(self.export(pk)))


class ExportedFile(ExportView):
    """The bundle, once it is written."""

    @extend_schema(operation_id="bundles_export_file", responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        export = self.export(pk)
        if export.file is None:
            raise Http404
        return stored_response(self.received, export.file, file_name=export.file_name)


def export_shape(export: BundleExport) -> dict[str, object]:
    """An export, and where its file is once it is written."""
    url = f"/api/v1/exports/{export.pk}/file/" if export.file_id else None
    return {
        "id": export.pk,
        "file_name": export.file_name,
        "state": export.state,
        "url": url,
        "codabench_refusals": codabench_refusals(export.competition, with_files=export.with_files, by=export.owner),
        "codabench_gaps": codabench_gaps(export.competition),
    }
