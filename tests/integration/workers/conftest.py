"""Fixtures of the compute worker's tests on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.workers.harness import Bench, make_worker


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory, runtime_image: str) -> Bench:
    """Runs jobs in real containers."""
    files: Path = tmp_path_factory.mktemp("files")
    return Bench(make_worker(tmp_path_factory.mktemp("worker") / "data", runtime_image), files, runtime_image)


@pytest.fixture(scope="session", autouse=True)
def _static_folder() -> None:
    """The site's server warns when it has no folder for static files, and warnings are errors."""
    from django.conf import settings

    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
