"""The clone: export and import in one."""

import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from accounts.models import User
from competitions.bundles.importing.importer import Imported, Progress, bundle_import, keep_no_record, quiet
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition


def competition_clone(
    *,
    competition: Competition,
    by: User,
    now: datetime,
    progress: Progress = quiet,
    record: Callable[[Imported], None] = keep_no_record,
) -> Competition:
    """Clone a competition as a draft of `by`, without participants; its files use no extra space.

    Tasks of others that it uses are shared with the original.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = bundle_write(competition=competition, target=Path(folder) / "clone.zip", with_files=True, by=by)
        imported = bundle_import(
            source=path,
            owner=by,
            queue=competition.queue,
            now=now,
            progress=progress,
            record=record,
            reads_samples=False,
        )
    return imported.competition
