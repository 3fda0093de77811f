"""Telling a queue's workers that there may be work.

A lost wake-up costs at most one poll of the worker or one round of the reconciler, so a broker that is away never
stops a submission from being accepted.
"""

import structlog

from core.celery import BROKER_AWAY, app

log = structlog.get_logger(__name__)


def wake(channel: str) -> bool:
    """Send one wake-up message; False, with a log entry, if the broker is unreachable or refuses it."""
    try:
        app.send_task("podium.wake", queue=channel, expires=60)
    except BROKER_AWAY as error:
        log.warning("wakeup_not_sent", channel=channel, error=str(error))
        return False
    return True
