"""What a background process runs: `celery --app core.celery worker --queues background`."""

from core.background import jobs
from core.celery import app


@app.task(name=jobs.TASK)
def background(name: str, pk: int) -> None:
    """Do the work of one row."""
    jobs.perform(name, pk)
