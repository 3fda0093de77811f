"""Competitions as code: pull the live one as a folder; push a folder, which is compared, then applied."""

from datetime import UTC
from typing import Final

from django.core import signing
from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.views.base import ApiView, checked
from competitions.bundles.models import CompetitionPush
from competitions.bundles.pushing.document import LiveDocument
from competitions.bundles.pushing.jobs import push_agree, push_begin
from competitions.catalog.models import Competition
from competitions.catalog.publishing import competition_publish, publication_cancel, publication_plan
from competitions.resources.downloads import stored_response
from competitions.resources.models import StoredFile, Upload
from competitions.resources.uploads import UploadIncomplete

FILE_SALT: Final = "podium.document.file"
FILE_VALID_S: Final = 24 * 3600  # for a whole pull
MAX_FILES: Final = 20_000
BYTES_PER_FILE: Final = 500  # its path and digest


class CodeView(ApiView):
    """Base: for those who organize the competition; it does not exist for others."""

    read_scope = write_scope = Scope.ORGANIZE  # labels are among the files

    def managed(self, slug: str) -> Competition:
        managed = Competition.objects.managed_by(self.person()).select_related("queue", "logo")
        return get_object_or_404(managed, slug=slug)


class CompetitionDocument(CodeView):
    """A competition as a folder: its `competition.yaml`, its texts, and its files with digest and address."""

    @extend_schema(operation_id="competitions_document", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, slug: str) -> Response:
        document = LiveDocument(self.managed(slug), self.person())
        files = [
            {"path": path, "sha256": file.sha256, "size_bytes": file.size_bytes, "url": self._address(document, file)}
            for path, file in document.stored.items()
        ]
        return Response(
            {
                "slug": document.competition.slug,
                "version": document.version,
                "texts": document.texts | {"competition.yaml": document.yaml},
                "files": files,
            },
            headers={"Cache-Control": "no-store"},
        )

    def _address(self, document: LiveDocument, file: StoredFile) -> str:
        """The address of a file for the person who asked, for a day; it is signed, as the folder has the file."""
        address = reverse("api:document-file", args=[document.competition.slug, file.sha256])
        signed = signing.dumps([self.person().pk, document.competition.pk, file.sha256], salt=FILE_SALT)
        return f"{address}?{urlencode({'signed': signed})}"


class CompetitionDocumentFile(CodeView):
    """One file of the folder, by the address that the folder's list gave to the same person."""

    @extend_schema(
        operation_id="competitions_document_file",
        parameters=[OpenApiParameter("signed", str, description="As in the address that the list gives.")],
        responses={(200, "*/*"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, slug: str, sha256: str) -> HttpResponseBase:
        expected = [self.person().pk, self.managed(slug).pk, sha256]
        try:
            signed = signing.loads(request.GET.get("signed", ""), salt=FILE_SALT, max_age=FILE_VALID_S)
        except signing.BadSignature:
            signed = None
        if signed != expected:
            raise Http404
        return stored_response(self.received, get_object_or_404(StoredFile, pk=sha256), file_name=sha256)


class PublishIn(serializers.Serializer[None]):
    """Publish it although something cannot work yet; by itself at an instant, in UTC if without an offset."""

    anyway = serializers.BooleanField(default=False)
    at = serializers.DateTimeField(required=False, default_timezone=UTC)


class PublishOut(serializers.Serializer[Competition]):
    """The competition's address, and the time of a planned publication."""

    slug = serializers.SlugField()
    url = serializers.SerializerMethodField()
    is_published = serializers.BooleanField()
    publish_at = serializers.DateTimeField(allow_null=True)

    def get_url(self, competition: Competition) -> str:
        return f"/competitions/{competition.slug}/"


class CompetitionPublish(CodeView):
    """Show a competition to everybody, now or at an instant."""

    serializer_class = PublishOut

    @extend_schema(operation_id="competitions_publish", request=PublishIn, responses=PublishOut)
    def post(self, request: Request, slug: str) -> Response:
        """Publish it, or plan that in place of an earlier plan. What is published already stays so."""
        competition = self.managed(slug)
        values = checked(PublishIn(data=request.data))
        if "at" in values:
            publication_plan(competition, now=timezone.now(), **values)
            competition.refresh_from_db(fields=["publish_at"])
        elif not competition.is_published:
            competition_publish(competition, **values)
        return Response(PublishOut(competition).data)

    @extend_schema(operation_id="competitions_publish_cancel", responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Take a planned publication back; a draft stays one."""
        publication_cancel(self.managed(slug))
        return Response(status=204)


class PushIn(serializers.Serializer[None]):
    """A zip of the small files, and the others by path and digest; `base` is the version that was pulled."""

    bundle = serializers.UUIDField()
    files = serializers.DictField(child=serializers.RegexField(r"\A[0-9a-f]{64}\Z"), default=dict)
    base = serializers.RegexField(r"\A([0-9a-f]{64})?\Z", allow_blank=True, default="")
    force = serializers.BooleanField(default=False)

    def validate_files(self, files: dict[str, str]) -> dict[str, str]:
        if len(files) > MAX_FILES:
            raise serializers.ValidationError(f"These are {len(files):,} files; at most {MAX_FILES:,} are taken.")
        return files


class Pushes(CodeView):
    """Compare a folder with the live competition. `files_missing` lists digests of files to upload first."""

    serializer_class = PushIn

    def body_room(self, request: Request) -> int:  # type: ignore[override]  # what the address names
        """The number of bytes that the names of so many files may take."""
        self.person()
        return MAX_FILES * BYTES_PER_FILE

    @extend_schema(operation_id="pushes_create", request=PushIn, responses={202: OpenApiTypes.OBJECT})
    def post(self, request: Request) -> Response:
        user = self.person()
        options = checked(PushIn(data=request.data))
        upload = get_object_or_404(Upload.objects.select_related("file"), key=options["bundle"], user=user)
        if upload.file is None:
            raise UploadIncomplete(upload)
        push = push_begin(
            owner=user,
            bundle=upload.file,
            digests=options["files"],
            base=options["base"],
            is_forced=options["force"],
            now=timezone.now(),
        )
        return Response(push_shape(push), status=202, headers={"Location": f"/api/v1/pushes/{push.pk}/"})


class PushView(CodeView):
    """Base: a push of the asker's."""

    def push(self, pk: int) -> CompetitionPush:
        return get_object_or_404(CompetitionPush, pk=pk, owner=self.person())


class PushDetail(PushView):
    """The progress of a push, and its changes."""

    @extend_schema(operation_id="pushes_retrieve", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, pk: int) -> Response:
        return Response(push_shape(self.push(pk)))


class PushApply(PushView):
    """Say yes to what was compared."""

    @extend_schema(operation_id="pushes_apply", request=None, responses={202: OpenApiTypes.OBJECT})
    def post(self, request: Request, pk: int) -> Response:
        return Response(push_shape(push_agree(push=self.push(pk), now=timezone.now())), status=202)


def push_shape(push: CompetitionPush) -> dict[str, object]:
    """A push as JSON. `version` is the live competition's, empty for a new one."""
    names = ("state", "step", "slug", "version", "result", "changes", "impact", "report", "fault")
    return {"id": push.pk, "is_stale": push.is_stale, **{name: getattr(push, name) for name in names}}
