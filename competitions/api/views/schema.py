"""The OpenAPI document of the native API; the worker protocol has a page of its own."""

from functools import cache
from typing import Any, Final

from django.http import HttpResponse
from django.utils.encoding import force_bytes
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

RENDERERS: Final = {"json": OpenApiJsonRenderer, "yaml": OpenApiYamlRenderer}


@cache
def schema_document(file_format: str) -> bytes:
    """The document as JSON or YAML, one for everybody; drawn once in a process, as it takes a while."""
    schema = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    return force_bytes(RENDERERS[file_format]().render(schema, renderer_context={}))


class Schema(SpectacularAPIView):
    """The OpenAPI document: YAML, or JSON where `Accept` or `format` asks for it."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        renderer: BaseRenderer = request.accepted_renderer
        charset = f"; charset={renderer.charset}" if renderer.charset else ""
        return HttpResponse(
            schema_document(str(renderer.format)),
            content_type=f"{request.accepted_media_type}{charset}",
            headers={"Content-Disposition": f'inline; filename="podium-api.{renderer.format}"'},
        )


Endpoints = list[tuple[str, str, str, Any]]


def native_api_only(endpoints: Endpoints, **kwargs: Any) -> Endpoints:
    """The document describes `/api/v1/`; the worker protocol has a page of its own."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/api/v1/")]
