"""Bundles in the style of Codabench's organizers, and a client that speaks like its scripts."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests

FILES = Path(__file__).resolve().parents[2] / "data" / "codabench"
# What the systems and editors of organizers leave in their zips.
LITTER = {"__MACOSX/._competition.yaml": b"\0\5", ".DS_Store": b"\0", "scoring_program/__pycache__/score.pyc": b"\0"}
LIVE = ("Submitting", "Submitted", "Preparing", "Running", "Scoring")


def zipped(folder: Path, more: Mapping[str, bytes] | None = None) -> bytes:
    """A zip of a folder. A folder in it that is called `x.zip` stands for a zip."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            _add(archive, path, path.name)
        for name, data in (more or {}).items():
            archive.writestr(name, data)
    return content.getvalue()


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    if path.is_file():
        archive.writestr(name, path.read_bytes())
    elif path.suffix == ".zip":
        archive.writestr(name, zipped(path))
    else:
        for inner in sorted(path.iterdir()):
            _add(archive, inner, f"{name}/{inner.name}")


def bundle(name: str) -> bytes:
    """One of the bundles, as its organizer's system packs it."""
    return zipped(FILES / name, LITTER)


def submission(name: str) -> bytes:
    return zipped(FILES / "submissions" / name)


class Client:
    """A script's session: form bodies, absolute URLs below the host's root, a token in a header."""

    def __init__(self, site: str, username: str, password: str) -> None:
        self.site, self.http = site, requests.Session()
        answer = requests.post(
            f"{site}/api/api-token-auth/", data={"username": username, "password": password}, timeout=30
        )
        assert answer.status_code == 200, answer.text
        self.headers = {"Authorization": f"Token {answer.json()['token']}"}

    def call(self, method: str, path: str, data: Any = None, **more: Any) -> requests.Response:
        return self.http.request(method, self.site + path, data=data, headers=self.headers, timeout=60, **more)

    def get(self, path: str) -> Any:
        """The JSON behind a path; anything but 200 is an error."""
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **fields: Any) -> Any:
        answer = self.call("POST", path, fields)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def upload(self, content: bytes, kind: str = "submission") -> str:
        """Announce, put to the address that was given, return the key."""
        fields = {"type": kind, "request_sassy_file_name": f"{kind}.zip", "file_size": len(content)}
        announced = self.call("POST", "/api/datasets/", fields)
        assert announced.status_code == 201, announced.text
        put = requests.put(
            announced.json()["sassy_url"], data=content, headers={"Content-Type": "application/zip"}, timeout=60
        )
        assert put.status_code == 200, put.text
        return str(announced.json()["key"])

    def send_bundle(self, content: bytes) -> dict[str, Any]:
        """Send a bundle and wait for its import; the import's last status."""
        completed = self.call("PUT", f"/api/datasets/completed/{self.upload(content, 'competition_bundle')}/")
        assert completed.status_code == 200, completed.text
        until = time.monotonic() + 60
        while True:
            status: dict[str, Any] = self.get(f"/api/competitions/{completed.json()['status_id']}/creation_status/")
            if status["status"] in ("Finished", "Failed"):
                return status
            assert time.monotonic() < until, status
            time.sleep(0.2)

    def phases(self, title: str) -> list[dict[str, Any]]:
        row = next(row for row in self.get("/api/competitions/") if row["title"] == title)
        phases: list[dict[str, Any]] = self.get(f"/api/competitions/{row['id']}")["phases"]
        return phases

    def submit(self, phase: int, content: bytes, tasks: list[int] | None = None) -> int:
        can = self.get(f"/api/can_make_submission/{phase}/")
        assert can == {"can": True, "reason": None}
        answer = self.post("/api/submissions/", phase=phase, data=self.upload(content), tasks=tasks or [])
        assert answer["status"] == "Submitting"
        return int(answer["id"])

    def ended(self, pk: int, seconds: float = 60) -> dict[str, Any]:
        """The submission once it has ended, asked for as a script would."""
        until = time.monotonic() + seconds
        while (row := self.get(f"/api/submissions/{pk}/"))["status"] in LIVE:
            assert time.monotonic() < until, row
            time.sleep(1)
        return dict(row)
