"""The docs, for everybody. They are built beforehand: a request reads a file and nothing else."""

from pathlib import PurePath
from typing import Final

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.views.decorators.http import require_safe

from competitions.web.documentation.built import BuiltDocs, built_docs
from competitions.web.markdown import MEDIA_TYPE as MARKDOWN

# By ending; not every machine's own table knows all of them.
MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".md": f"{MARKDOWN}; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
COMPRESSED: Final = (".html", ".js", ".css", ".svg")  # as the build leaves them beside the others
# A script or stylesheet whose address has its digest never changes; all else is asked for again each time, by its ETag.
FOREVER: Final = "public, max-age=31536000, immutable"
ASK_AGAIN: Final = "public, no-cache"


@login_not_required
@require_safe
def docs(request: HttpRequest, address: str = "") -> HttpResponseBase:
    built = built_docs()
    if built is None:
        return render(request, "web/errors/docs_missing.html", status=404)
    name = built.file_name(address)
    if name.endswith(".html") and request.get_preferred_type(["text/html", MARKDOWN]) == MARKDOWN:
        name = built.markdown_name(address) or name
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
        content = built.path(name, compressed=compressed).read_bytes()
        kind = MEDIA_TYPES.get(PurePath(name).suffix, "application/octet-stream")
        response = HttpResponse(content, content_type=kind)
        if compressed:
            response.headers["Content-Encoding"] = "gzip"
    response.headers["ETag"] = etag
    is_versioned = "v" in request.GET and not name.endswith(".html")
    response.headers["Cache-Control"] = FOREVER if is_versioned else ASK_AGAIN
    patch_vary_headers(response, ["Accept-Encoding", "Accept"])
    return response
