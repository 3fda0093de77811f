"""Waits briefly for background work that Codabench's API answers at once."""

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
    """The row once it is over, or as it is after `ROBOT_WAIT_S`, so as not to block the thread longer.

    A process lends few threads to those who wait; others are told at once to ask again.
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
