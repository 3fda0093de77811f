"""Codabench answers some calls at once that a background process works on here: such a call waits for it, for a short while."""

import threading
import time
from typing import Final, TypeVar

from django.conf import settings

from competitions.bundles.models import BundleExport, BundleImport

Work = TypeVar("Work", BundleExport, BundleImport)
PAUSE_S: Final = 0.1
THREADS: Final = 2  # of each process, which has sixteen as a rule
LENT: Final = threading.BoundedSemaphore(THREADS)


def wait_until_over(work: Work) -> Work:
    """The row as soon as it is over, else as it is after `ROBOT_WAIT_S`: a thread of the site waits no longer for anybody.

    A process lends few threads to those who wait; whoever comes while they are lent is told at once to ask again.
    """
    if work.is_over or not LENT.acquire(blocking=False):
        return work
    try:
        for _ in range(round(settings.ROBOT_WAIT_S / PAUSE_S)):
            time.sleep(PAUSE_S)
            work.refresh_from_db()
            if work.is_over:
                break
    finally:
        LENT.release()
    return work
