"""Ringing the bell: telling a queue's workers that there may be work.

A lost ring costs at most one poll of the worker or one round of the reconciler, so a broker that is away never
stops a submission from being accepted.
"""

import structlog
from celery.exceptions import OperationalError as CeleryOperationalError
from kombu.exceptions import OperationalError

from podium.celery import app

log = structlog.get_logger(__name__)


def ring(bell: str) -> bool:
    """Send one wake-up message. Returns False, and says so in the log, when the broker cannot be reached."""
    try:
        app.send_task("podium.wake", queue=bell, expires=60)
    except (OperationalError, CeleryOperationalError, OSError) as error:
        log.warning("bell_not_rung", bell=bell, error=str(error))
        return False
    return True
