"""One site with one cluster for the whole suite, and the times that it measured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.slurm import ClusterSite
from tests.faults.cluster import whole_site

MEASURED: dict[str, str] = {}


@pytest.fixture(scope="session")
def cluster(docker_engine: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[ClusterSite]:
    """The whole site, and the cluster."""
    with whole_site(ClusterSite, "cluster", django_db_blocker) as site:
        yield site


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was measured."""
    if MEASURED:
        terminalreporter.section("cluster: times")
        for what, value in MEASURED.items():
            terminalreporter.write_line(f"{what:<64} {value}")
