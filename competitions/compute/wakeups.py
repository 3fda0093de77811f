"""Telling a queue's workers that there may be work.

A lost wake-up costs at most one poll of the worker or one round of the reconciler, so a broker that is away never
stops a submission from being accepted.
"""

from core.celery import Broker


def wake(channel: str) -> bool:
    """Send one wake-up message; False if the broker is unreachable or refuses it."""
    return Broker.send("podium.wake", queue=channel, expires=60)
