"""Bundles by API: import one, export a competition as one."""

from typing import Any, Final

from django.http import FileResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.views.base import ApiView
from competitions.bundles.cloning import exported
from competitions.bundles.importing.references import queue_named
from competitions.bundles.imports import OrganizersOnly, import_begin
from competitions.bundles.models import BundleImport
from competitions.catalog.models import Competition
from competitions.resources.uploads import upload_whole

IMPORTS_SHOWN: Final = 20


class BundleIn(serializers.Serializer[None]):
    """A zip, and the queue where the bundle's own is not wanted."""

    file = serializers.FileField()
    queue = serializers.CharField(required=False, allow_blank=True, default="")


class Bundles(ApiView):
    """Send a bundle, of which a background process makes a competition, a draft of the asker's; and see how far imports have come."""

    serializer_class = BundleIn
    parser_classes = [MultiPartParser]
    write_scope = Scope.ORGANIZE

    @extend_schema(operation_id="bundles_import", request=BundleIn, responses={202: OpenApiTypes.OBJECT})
    def post(self, request: Request) -> Response:
        user, now = self.person(), timezone.now()
        if not user.is_staff:
            raise OrganizersOnly
        said = BundleIn(data=request.data)
        said.is_valid(raise_exception=True)
        file = said.validated_data["file"]
        wanted = said.validated_data["queue"]
        queue = queue_named(wanted, user) if wanted else None
        sent = upload_whole(user=user, file_name=file.name, size_bytes=file.size, chunks=file.chunks(), now=now)
        assert sent.file is not None, "it came in one piece"
        job = import_begin(owner=user, stored=sent.file, file_name=sent.file_name, queue=queue, now=now)
        return Response(import_shape(job), status=202, headers={"Location": f"/api/v1/bundles/{job.pk}/"})

    @extend_schema(operation_id="bundles_imports", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """The asker's last imports, newest first: how far each has come, and the report of those that are over."""
        imports = BundleImport.objects.filter(owner=self.person()).select_related("competition")
        return Response([import_shape(job) for job in imports[:IMPORTS_SHOWN]])


class BundleImported(ApiView):
    """How far one import has come, and its report when it is over."""

    write_scope = Scope.ORGANIZE

    @extend_schema(operation_id="bundles_import_retrieve", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, pk: int) -> Response:
        job = get_object_or_404(BundleImport.objects.select_related("competition"), pk=pk, owner=self.person())
        return Response(import_shape(job))


def import_shape(job: BundleImport) -> dict[str, Any]:
    """An import, and the competition that it made, as long as that is there."""
    slug = job.competition.slug if job.competition else None
    return {
        "id": job.pk, "file_name": job.file_name, "state": job.state, "step": job.step, "slug": slug,
        "url": f"/competitions/{slug}/" if slug else None, "report": job.report or None,
    }  # fmt: skip


class CompetitionBundle(ApiView):
    """A competition as a bundle of version 2, for its organizers."""

    @extend_schema(
        operation_id="bundles_export",
        parameters=[OpenApiParameter("files", str, description="`all` (default), or `keys` for keys in their place.")],
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, slug: str) -> FileResponse:
        competition = get_object_or_404(Competition.objects.managed_by(self.person()), slug=slug)
        file = exported(competition, with_files=request.query_params.get("files", "all") != "keys")
        return FileResponse(file, as_attachment=True, filename=f"{slug}.zip")
