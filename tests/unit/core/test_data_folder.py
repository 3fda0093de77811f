"""Processes of one site start in different folders, and all mean the same data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def test_a_relative_data_folder_is_the_same_for_every_process() -> None:
    code = "import django; from django.conf import settings; print(settings.DATA_DIR)"
    environment = os.environ | {
        "PODIUM_DATA_DIR": "var/elsewhere",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY}/platform",
    }
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environment, check=True, capture_output=True, text=True
        ).stdout.strip()
        for folder in (REPOSITORY, REPOSITORY / "platform")
    }
    assert seen == {str(REPOSITORY / "var" / "elsewhere")}
