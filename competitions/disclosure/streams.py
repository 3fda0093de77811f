"""The streams of a run's log."""

from django.db.models import TextChoices


class LogStream(TextChoices):
    SUBMISSION = "submission", "your submission's own command"
    INGESTION = "ingestion", "your program"
    SCORING = "scoring", "scoring"
    WORKER = "worker", "platform"
