"""Answers of compute workers for tests: mappings, parsed as the site parses them from HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from competitions.runs.leases import reports
from competitions.runs.leases.reports import Result
from competitions.runs.worker_api.views import message_from
from workers.protocol.calls import LogPiece
from workers.protocol.messages import read_message
from workers.protocol.results import Complete


def read_result(body: Mapping[str, Any], *, columns: list[str]) -> Result:
    """The body of `complete`, checked. Raises `InvalidResult`."""
    return reports.read_result(message_from(Complete, dict(body)), columns=columns)


def log_piece(**fields: Any) -> LogPiece:
    """A piece of a log: its `stream`, `seq` and `text`."""
    return read_message(LogPiece, fields)
