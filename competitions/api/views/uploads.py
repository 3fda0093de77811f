"""Resumable uploads: announce, send parts, ask how far it came."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.framework import JSONParser
from competitions.api.serializers.submissions import UploadIn, UploadOut
from competitions.api.views.base import ApiView, checked
from competitions.resources.models import Upload
from competitions.resources.storage import CHUNK_BYTES
from competitions.resources.uploads import UPLOAD_TOO_LARGE, require_offset, upload_abort, upload_append, upload_begin
from core.refusals import RefusalKind
from core.serving.receiving import announced_bytes
from files.text import is_number

OFFSET = OpenApiParameter(
    "Upload-Offset", int, OpenApiParameter.HEADER, required=True, description="Bytes received so far."
)

OFFSET_MISSING: Final = RefusalKind(
    400, "offset_missing", "Send the header `Upload-Offset` with the number of bytes received so far."
)


class RawParser(BaseParser):
    """Leaves the body to the view, which streams it to disk."""

    media_type = "application/offset+octet-stream"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        return {}


class UploadList(ApiView):
    """Announce an upload. The moment of this call is what a deadline is compared with."""

    serializer_class = UploadIn
    parser_classes = [JSONParser]
    other_scopes = (Scope.ORGANIZE,)  # whose files are pushed or imported

    @extend_schema(operation_id="uploads_create", responses={201: UploadOut})
    def post(self, request: Request) -> Response:
        user = self.person()
        values = checked(self.get_serializer(data=request.data))
        upload = upload_begin(user=user, now=timezone.now(), **values)
        return Response(UploadOut(upload).data, status=201, headers={"Location": f"/api/v1/uploads/{upload.key}/"})


class UploadDetail(ApiView):
    """One upload: how far it came (GET), the next part (PATCH), forget it (DELETE)."""

    serializer_class = UploadOut
    parser_classes = [RawParser]
    other_scopes = (Scope.SUBMIT, Scope.ORGANIZE)  # who sends parts may ask how far they have come
    keeps_part = True  # of a part that breaks off

    def body_room(self, request: Request, *, key: UUID) -> int:  # type: ignore[override]  # what the address names
        """Bytes that are left of the upload. Raises `OFFSET_MISSING`, `WRONG_OFFSET` or `UPLOAD_TOO_LARGE`."""
        upload = self.upload(key)
        require_offset(upload, _upload_offset(request))
        size_bytes = upload.received_bytes + announced_bytes(self.received)
        if size_bytes > upload.size_bytes:
            raise UPLOAD_TOO_LARGE(size_bytes=size_bytes, limit_bytes=upload.size_bytes)
        return upload.size_bytes - upload.received_bytes

    def upload(self, key: UUID) -> Upload:
        return get_object_or_404(Upload, key=key, user=self.person())

    @extend_schema(operation_id="uploads_retrieve", responses=UploadOut)
    def get(self, request: Request, key: UUID) -> Response:
        """One upload, with the number of bytes that have come."""
        return self.answer(self.upload(key))

    @extend_schema(
        operation_id="uploads_append",
        parameters=[OFFSET],
        responses=UploadOut,
        request={"application/offset+octet-stream": OpenApiTypes.BINARY},
    )
    def patch(self, request: Request, key: UUID) -> Response:
        """Send the next part of an upload, from the byte that the site expects."""
        upload, offset = self.upload(key), _upload_offset(request)
        chunks = iter(lambda: request._request.read(CHUNK_BYTES), b"")
        return self.answer(
            upload_append(key=upload.key, user=upload.user, offset=offset, chunks=chunks, now=timezone.now())
        )

    @extend_schema(operation_id="uploads_destroy", responses={204: None})
    def delete(self, request: Request, key: UUID) -> Response:
        """Forget an upload and its bytes."""
        upload_abort(upload=self.upload(key))
        return Response(status=204)

    def answer(self, upload: Upload) -> Response:
        headers = {"Upload-Offset": str(upload.received_bytes), "Cache-Control": "no-store"}
        return Response(UploadOut(upload).data, headers=headers)


def _upload_offset(request: Request) -> int:
    offset = request.headers.get("Upload-Offset", "")
    if not is_number(offset):
        raise OFFSET_MISSING()
    return int(offset)
