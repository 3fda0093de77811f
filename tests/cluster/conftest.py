"""One site with one cluster for the whole suite, and the times that it measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services
from tests.cluster.slurm import ClusterSite
from tests.conftest import use_database

MEASURED: dict[str, str] = {}


def is_soak() -> bool:
    """True in `make soak`."""
    return int(os.environ.get("PODIUM_FAULT_TRIALS", "1")) > 1


@pytest.fixture(scope="session")
def cluster(
    docker_engine: None, django_db_blocker: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClusterSite]:
    """The whole site, and the cluster."""
    folder: Path = services.run_folder() / "cluster"
    folder.mkdir()
    cluster = ClusterSite(folder)
    with django_db_blocker.unblock():  # type: ignore[attr-defined]  # pytest-django's, whose type is private
        use_database(cluster.database.url)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was measured."""
    if MEASURED:
        terminalreporter.section("cluster: times")
        for what, value in MEASURED.items():
            terminalreporter.write_line(f"{what:<64} {value}")
