"""The example notebook, cell by cell, against a site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from competitions.submissions.models import Submission
from tests.background import run_background
from tests.client.conftest import make_token
from tests.scenario import Scenario, zip_bytes

NOTEBOOK = Path(__file__).parents[2] / "examples/notebooks/first_submission.ipynb"


def test_the_notebook_downloads_submits_waits_and_reads_the_board(
    site: Scenario,
    live_server: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PODIUM_SITE", live_server.url)
    monkeypatch.setenv("PODIUM_TOKEN", make_token(site.member()))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "y_pred.zip").write_bytes(zip_bytes({"answer.txt": "1"}))
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        exec("".join(cell["source"]).replace("pcqm4mv2-small", site.competition.slug), names)
        if "submission" in names and "scores" not in names:
            run_background()
            site.now = timezone.now()
            site.score(Submission.objects.get(), 0.25)
    assert names["scores"] == {"mae": "0.2500"}
    assert len(names["data"]) == 1
    assert capsys.readouterr().out.rstrip().endswith("0.2500'}")
