"""Runs the program from the site, with limits that the kernel keeps."""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings

from core.background.bounded import Bounds, run_bounded_program


def bounds() -> Bounds:
    """As much as the check of a submission may use."""
    return Bounds(wall_s=settings.CHECK_WALL_S, cpu_s=settings.CHECK_CPU_S, memory_bytes=settings.CHECK_MEMORY_BYTES)


def work_on_tables(request: dict[str, Any], *, wanted: Callable[[], bool], every_s: float) -> dict[str, Any]:
    """The answer to a request; its `fault` names what is wrong with a file. Raises as `run_bounded_program`."""
    with tempfile.TemporaryDirectory(prefix="tables-") as folder:
        path = Path(folder) / "request.json"
        path.write_text(json.dumps(request))
        command = [sys.executable, "-m", "competitions.organize.tables", str(path)]
        found: dict[str, Any] = run_bounded_program(command, bounds(), wanted=wanted, every_s=every_s)
    return found
