"""The docs, for everybody. They are built beforehand: a request reads a file and nothing else.

`make docs` builds them: `current.json` names a folder, and its files with digests.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.cache import get_conditional_response, patch_vary_headers

from accounts.views import open_page
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


CURRENT: Final = "current.json"
PAGE: Final = "index.html"
GZIP: Final = ".gz"


@dataclass(frozen=True)
class BuiltDocs:
    """One build. Addresses are looked up among its files, so none leads out of its folder."""

    folder: Path
    files: Mapping[str, str] = field(default_factory=dict)

    def file_name(self, address: str) -> str:
        """The file at an address below `/docs/`; empty if there is none."""
        name = address + PAGE if not address or address.endswith("/") else address
        return name if name in self.files else ""

    def is_page(self, address: str) -> bool:
        """True if a slash is all that the address lacks."""
        return f"{address}/{PAGE}" in self.files

    def markdown_name(self, address: str) -> str:
        """The file with the Markdown of the page at an address; empty if there is no such page."""
        name = f"{address.rstrip('/') or 'index'}.md"
        return name if self.file_name(address) and name in self.files else ""

    def etag(self, name: str, *, compressed: bool) -> str:
        return f'"{self.files[name]}{"-gzip" if compressed else ""}"'

    def path(self, name: str, *, compressed: bool) -> Path:
        return self.folder / (name + GZIP if compressed else name)


_read: dict[Path, tuple[int, BuiltDocs]] = {}


def built_docs() -> BuiltDocs | None:
    """The current build; None if there is none, or only its name. It is read again after each build."""
    current = settings.DOCS_DIR / CURRENT
    try:
        changed_at = current.stat().st_mtime_ns
    except FileNotFoundError:
        return None
    known = _read.get(current)
    if known is None or known[0] != changed_at:
        document = json.loads(current.read_text())
        known = _read[current] = changed_at, BuiltDocs(settings.DOCS_DIR / document["digest"], document["files"])
    return known[1] if known[1].folder.is_dir() else None


@open_page
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
