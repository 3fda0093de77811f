"""The worker's own log: one JSON object per line on standard error, with the run it is about."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from workers.protocol.jobs import Job

FIELDS = ("submission", "run", "attempt", "lease", "stage", "code", "detail", "outcome", "seconds", "worker", "count")


class JsonLines(logging.Formatter):
    """`at`, `level`, `event`, then what the caller gave as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; an exception's text goes into it."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"at": at, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up_logging(level: int = logging.INFO) -> None:
    """Write the worker's log as JSON lines on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("podium.worker")
    logger.handlers = [handler]
    logger.setLevel(level)
    logger.propagate = False


def about(job: Job, **more: Any) -> dict[str, Any]:
    """The `extra` of a line about a run. Never its token."""
    return {"submission": job.submission_id, "run": job.run_id, "attempt": job.attempt, "lease": job.lease_id, **more}
