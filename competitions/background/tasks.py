"""What a background process runs: `celery --app podium.celery worker --queues background`."""

from competitions.background import jobs
from podium.celery import app


@app.task(name=jobs.TASK)
def background(name: str, pk: int) -> None:
    """Do the work of one row."""
    jobs.perform(name, pk)
