"""`podium competition run`: the templates' sample submissions are scored on this machine, in the containers of a worker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from podium.cli import main


def test_code_is_run_and_scored_as_on_the_site(
    runtime_image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "learn")
    assert main(["competition", "init", folder, "--template", "code"]) == 0
    assert main(["competition", "run", folder, "--image", runtime_image]) == 0
    shown = capsys.readouterr()
    assert "Labels\taccuracy\t0.75" in shown.out
    assert "ingestion: 0." in shown.err
    assert main(["competition", "run", folder, "--phase", "nowhere"]) == 2
    assert "There is no phase 'nowhere'; there are Development" in capsys.readouterr().err


def test_without_an_engine_or_the_rights_for_it_what_to_do_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "prices")
    assert main(["competition", "init", folder]) == 0
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    assert main(["competition", "run", folder]) == 2
    assert "Install Docker and start it" in capsys.readouterr().err
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["competition", "run", folder]) == 2
    assert "run this as root" in capsys.readouterr().err
