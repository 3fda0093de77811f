"""The task of a background process: `celery --app core.celery worker --pool solo --queues background`."""

from core.background import jobs
from core.celery import app


@app.task(name=jobs.TASK)
def background(queue: str) -> None:
    """Do one piece of work of a queue."""
    jobs.work(jobs.Queue(queue))
