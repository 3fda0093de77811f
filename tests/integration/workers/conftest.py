"""Fixtures of the compute worker's tests on the real engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.workers.harness import TEAM_IMAGE, Bench, make_worker
from tests.integration.workers.team_image import save_team_image


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


@pytest.fixture(scope="session")
def archive(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a team's image that is no longer on the host."""
    path = tmp_path_factory.mktemp("archive") / "image.tar"
    save_team_image(bench.docker, path, tag=TEAM_IMAGE)
    return path
