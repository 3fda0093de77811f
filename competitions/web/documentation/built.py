"""The docs as `make docs` built them: `current.json` names a folder, and its files with digests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from django.conf import settings

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
