"""Logs as JSON lines on standard error, in one format for all processes of the site."""

import logging
from typing import Any, Final
from wsgiref.types import WSGIEnvironment

import structlog
from gunicorn.glogging import Logger

SHARED: Final[list[Any]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso"),
]
# What workers and load balancers ask every few seconds; a line each would bury the others. Their failures are logged.
ASKED_ALL_THE_TIME: Final = ("/healthz", "/readyz", "/api/worker/v1/")


def logging_config(level: str) -> dict[str, object]:
    """A configuration of logging: everything at this level and above, without Django's own handlers."""
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        "foreign_pre_chain": SHARED,
    }
    names = ("django", "django.server", "gunicorn.error", "gunicorn.access")
    stderr = {"class": "logging.StreamHandler", "formatter": "json", "filters": ["refusals"]}
    loggers: dict[str, object] = {name: {"handlers": ["stderr"], "level": level, "propagate": False} for name in names}
    loggers["mcp"] = {"level": "WARNING"}  # it has some lines for each message, and the access log one
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"refusals": {"()": f"{__name__}.RefusalsInOneLine"}},
        "formatters": {"json": formatter},
        "handlers": {"stderr": stderr},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": loggers,
    }


class RefusalsInOneLine(logging.Filter):
    """Removes tracebacks from Django's 4xx answers: crawlers cause thousands of them."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == "django.request" and record.levelno < logging.ERROR:
            record.exc_info = None
        return True


def configure_structlog() -> None:
    """Send what `structlog.get_logger` writes through the handlers of `logging_config`."""
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


class WebLogger(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn's logger: one JSON object a request, without query strings, which may hold secrets."""

    def access(self, resp: Any, req: Any, environ: WSGIEnvironment, request_time: Any) -> None:
        status = int(str(resp.status).split()[0])
        path = environ.get("PATH_INFO", "")
        if status < 400 and path.startswith(ASKED_ALL_THE_TIME):
            return
        structlog.get_logger("gunicorn.access").info(
            "request",
            method=environ.get("REQUEST_METHOD", ""),
            path=path,
            status=status,
            bytes=resp.sent,
            ms=round(request_time.total_seconds() * 1000, 1),
            address=environ.get("HTTP_X_FORWARDED_FOR") or environ.get("REMOTE_ADDR", ""),
        )
