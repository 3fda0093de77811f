"""Codabench answers some calls at once that a background process works on here: such a call waits for it, for a short while."""

import time
from typing import Final, TypeVar

from django.conf import settings

from competitions.bundles.models import BundleExport, BundleImport

Work = TypeVar("Work", BundleExport, BundleImport)
PAUSE_S: Final = 0.1


def wait_until_over(work: Work) -> Work:
    """The row as soon as it is over, else as it is after `ROBOT_WAIT_S`: a thread of the site waits no longer for anybody."""
    for _ in range(round(settings.ROBOT_WAIT_S / PAUSE_S)):
        if work.is_over:
            break
        time.sleep(PAUSE_S)
        work.refresh_from_db()
    return work
