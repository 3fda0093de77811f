"""Lines that the web server writes about requests."""

from __future__ import annotations

import json
import logging
import logging.config
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.config import Config

from core.logs import WebLogger, logging_config


def logged(path: str, status: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    config = Config()
    config.set("accesslog", "-")
    config.set("logconfig_dict", logging_config("INFO"))
    logger = WebLogger(config)
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "token=secret", "REMOTE_ADDR": "192.0.2.1"}
    logger.access(SimpleNamespace(status=status, sent=12), None, environ, timedelta(milliseconds=5))
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


@pytest.fixture(autouse=True)
def _own_loggers() -> Any:
    root = logging.getLogger()
    before = root.handlers[:]
    yield
    root.handlers = before
    for name in ("django", "django.server", "gunicorn.error", "gunicorn.access"):
        logging.getLogger(name).handlers = []


def test_a_request_is_one_json_object_without_its_query(capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = logged("/competitions/", "200 OK", capsys)
    fields = {name: line[name] for name in ("event", "method", "path", "status", "ms", "address")}
    assert fields == {
        "event": "request",
        "method": "GET",
        "path": "/competitions/",
        "status": 200,
        "ms": 5.0,
        "address": "192.0.2.1",
    }
    assert "secret" not in json.dumps(line)


@pytest.mark.parametrize("path", ["/api/worker/v1/claim", "/readyz"])
def test_what_is_asked_all_the_time_is_logged_when_it_fails_alone(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert logged(path, "204 No Content", capsys) == []
    assert [line["status"] for line in logged(path, "503 Service Unavailable", capsys)] == [503]


@pytest.mark.parametrize(("level", "has_traceback"), [(logging.WARNING, False), (logging.ERROR, True)])
def test_a_refused_request_is_logged_without_a_traceback_and_a_failed_one_with_it(
    level: int, has_traceback: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.config.dictConfig(logging_config("INFO"))
    try:
        raise LookupError("no such page")
    except LookupError:
        logging.getLogger("django.request").log(level, "%s: %s", "Not Found", "/nothing/", exc_info=True)
    line = json.loads(capsys.readouterr().err)
    assert line["event"] == "Not Found: /nothing/"
    assert ("no such page" in line.get("exception", "")) is has_traceback
