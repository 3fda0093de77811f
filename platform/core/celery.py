"""The Celery app. Messages say that a queue has work, or name a row; the database is the truth.

Losing, repeating or reordering messages changes nothing but latency. So nothing here is tuned for redelivery:
no results, no late acknowledgement, no message that is held for as long as a run lasts.
"""

import time
from typing import Any, Final

import structlog
from celery import Celery
from celery.exceptions import OperationalError as CeleryOperationalError
from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from workers.protocol.broker import SCHEME, TRANSPORT, folder_options, is_folder


def broker_config(url: str) -> dict[str, object]:
    """Celery's settings for a broker URL. `filesystem:///path` keeps the messages as files in that folder."""
    if is_folder(url):
        # A participant waits for the check of a file, so the folder is looked at often.
        options = folder_options(url, poll_s=0.1)
        return {"broker_url": SCHEME, "broker_transport": TRANSPORT, "broker_transport_options": options}
    # A broker that is away or frozen must not hold up a web request: one try, then the reconciler sends it again.
    once = {"socket_timeout": 3, "socket_connect_timeout": 3, "max_retries": 1, "interval_start": 0, "interval_step": 0}
    return {"broker_url": url, "broker_transport_options": once, "redis_socket_timeout": 3}


# A broker that is gone, or that takes nothing, such as a Redis whose disk is full.
BROKER_AWAY: Final = (OperationalError, CeleryOperationalError, RedisError, OSError)
log = structlog.get_logger(__name__)
app = Celery("podium", include=["core.background.jobs"])
app.conf.update(
    **broker_config(settings.BROKER_URL),
    task_ignore_result=True,
    task_serializer="json",
    accept_content=["json"],
    task_create_missing_queues=True,
    task_publish_retry=False,
    broker_connection_timeout=3,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)


class Broker:
    """The broker, as this process last met it.

    Each message to one that is frozen takes its time-out, and the reconciler may have hundreds to send, such as one for each mail. So
    there none is tried for a while after one that failed. Elsewhere each is: nobody else sends what a request did not.
    """

    quiet_s = 0.0  # after a failure
    away_until = 0.0  # by the monotonic clock

    @classmethod
    def send(cls, task: str, *, queue: str, **options: Any) -> bool:
        """Send one message; False, with a log entry, while the broker is unreachable or refuses it."""
        if time.monotonic() < cls.away_until:
            return False
        try:
            app.send_task(task, queue=queue, **options)
        except BROKER_AWAY as error:
            log.warning("message_not_sent", task=task, queue=queue, error=str(error))
            cls.away_until = time.monotonic() + cls.quiet_s
            return False
        return True
