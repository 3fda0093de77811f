"""The docs, for everybody. They are built beforehand: a request reads a file and nothing else."""

import mimetypes
from typing import Final

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.views.decorators.http import require_safe

from competitions.web.documentation.built import BuiltDocs, built_docs

COMPRESSED: Final = (".html", ".js", ".css", ".svg")  # as the build leaves them beside the others
# A file whose address has its digest never changes; all else is asked for again each time, by its ETag.
FOREVER: Final = "public, max-age=31536000, immutable"
ASK_AGAIN: Final = "public, no-cache"


@login_not_required
@require_safe
def docs(request: HttpRequest, address: str = "") -> HttpResponseBase:
    built = built_docs()
    if built is None:
        return render(request, "web/errors/docs_missing.html", status=404)
    name = built.file_name(address)
    if not name:
        if built.is_page(address):
            return redirect("web:docs-page", f"{address}/", permanent=True)
        raise Http404
    return _file(request, built, name)


def _file(request: HttpRequest, built: BuiltDocs, name: str) -> HttpResponseBase:
    compressed = name.endswith(COMPRESSED) and "gzip" in request.headers.get("Accept-Encoding", "")
    etag = built.etag(name, compressed=compressed)
    response = get_conditional_response(request, etag=etag)
    if response is None:
        response = HttpResponse(built.path(name, compressed=compressed).read_bytes(), content_type=_media_type(name))
        if compressed:
            response.headers["Content-Encoding"] = "gzip"
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = FOREVER if "v" in request.GET else ASK_AGAIN
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


def _media_type(name: str) -> str:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
