"""The Celery app. A message says "this queue has work" or names a row: the database is the truth, Celery wakes and works.

Losing, repeating or reordering messages changes nothing but latency. So nothing here is tuned for redelivery:
no results, no late acknowledgement, no message that is held for as long as a run lasts.
"""

from pathlib import Path
from typing import Any

from celery import Celery
from django.conf import settings


def broker_config(url: str) -> dict[str, Any]:
    """Celery's settings for a broker URL. `filesystem:///path` keeps the messages as files in that folder."""
    if url.startswith("filesystem://"):
        folder = Path(url.removeprefix("filesystem://"))
        for name in ("messages", "control"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        messages = str(folder / "messages")
        return {
            "broker_url": "filesystem://",
            "broker_transport_options": {
                "data_folder_in": messages,
                "data_folder_out": messages,
                "control_folder": str(folder / "control"),
                "polling_interval": 0.1,  # seconds; a participant waits for the check of a file
            },
        }
    # A broker that is away or frozen must not hold up a web request: one try, then the reconciler sends it again.
    once = {"socket_timeout": 3, "socket_connect_timeout": 3, "max_retries": 1, "interval_start": 0, "interval_step": 0}
    return {"broker_url": url, "broker_transport_options": once, "redis_socket_timeout": 3}


app = Celery("podium", include=["core.background.tasks"])
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
