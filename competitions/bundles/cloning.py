"""Export to a file that deletes itself, and the clone: export and import in one."""

import tempfile
from datetime import datetime
from pathlib import Path
from typing import IO

from django.conf import settings

from accounts.models import User
from competitions.bundles.importing.importer import bundle_import
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition


def exported(competition: Competition, *, with_files: bool) -> IO[bytes]:
    """The bundle, opened for reading; nothing of it is left once it is closed."""
    folder = Path(settings.UPLOADS_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, prefix="export-", suffix=".zip", delete=False) as file:
        path = Path(file.name)
    try:
        bundle_write(competition=competition, target=path, with_files=with_files)
        return path.open("rb")
    finally:
        path.unlink()


def competition_clone(*, competition: Competition, by: User, now: datetime) -> Competition:
    """An equal competition, a draft of `by`, with files of its own that cost no space; without participants and submissions."""
    with tempfile.TemporaryDirectory() as folder:
        path = bundle_write(competition=competition, target=Path(folder) / "clone.zip", with_files=True)
        return bundle_import(source=path, owner=by, queue=competition.queue, now=now).competition
