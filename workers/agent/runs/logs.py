"""The worker's own log: one JSON object per line on standard error, with the run it is about."""

import logging
import sys

import structlog

from workers.protocol.jobs import Job


def set_up_logging() -> None:
    """Write the worker's log as JSON lines on standard error: `timestamp`, `level`, `event` and more."""
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )


def about(job: Job) -> dict[str, object]:
    """The fields of a log line that name a run. Never its token."""
    return {"submission": job.submission_id, "run": job.run_id, "attempt": job.attempt, "lease": job.lease_id}
