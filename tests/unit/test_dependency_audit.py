"""The dependency audit asks the advisory database, and says so when it cannot."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from scripts.checks.audit_dependencies import main

CONSTRAINTS = "# pinned\ndjango==4.2.0\nrequests==2.32.3  # fine\n"


class Osv(BaseHTTPRequestHandler):
    """Answers as OSV does: one result for each query, empty where nothing is known."""

    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        old = {"vulns": [{"id": "GHSA-1"}, {"id": "PYSEC-2"}]}
        body = json.dumps({"results": [old if q["package"]["name"] == "django" else {} for q in queries]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def osv() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Osv) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def constraints(tmp_path: Path) -> str:
    (tmp_path / "constraints.txt").write_text(CONSTRAINTS)
    return str(tmp_path / "constraints.txt")


def test_a_vulnerable_version_is_named_and_fails(
    osv: str, constraints: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--constraints", constraints, "--url", osv]) == 1
    output = capsys.readouterr().out
    assert "django==4.2.0: GHSA-1, PYSEC-2" in output
    assert "2 packages audited, 1 with known vulnerabilities" in output


def test_a_database_that_cannot_be_asked_is_said(constraints: str, capsys: pytest.CaptureFixture[str]) -> None:
    away = ["--constraints", constraints, "--url", "http://127.0.0.1:9/"]
    assert main(away) == 0
    assert "2 packages were NOT audited" in capsys.readouterr().out
    assert main([*away, "--require"]) == 2
