"""One site for the whole suite, and the table of what the faults did to it."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import services
from tests.conftest import use_database
from tests.faults.cluster import Cluster, Verdict


@dataclass
class Row:
    """One fault's line of the table."""

    trials: int = 0
    lost: int = 0
    doubled: int = 0
    blamed: int = 0
    charged: int = 0
    recovery_s: list[float] = field(default_factory=list)

    def add(self, verdict: Verdict, recovery_s: float) -> None:
        """Count one trial."""
        self.trials += 1
        self.lost += verdict.lost
        self.doubled += verdict.doubled
        self.blamed += verdict.blamed
        self.charged += verdict.charged
        self.recovery_s.append(recovery_s)


TABLE: dict[str, Row] = {}


def trials() -> int:
    """Trials of each fault: one, or as many as `PODIUM_FAULT_TRIALS` says."""
    return int(os.environ.get("PODIUM_FAULT_TRIALS", "1"))


@pytest.fixture(scope="session")
def cluster(
    docker_engine: None, django_db_blocker: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """The whole site."""
    folder: Path = services.run_folder() / "faults"
    folder.mkdir()
    cluster = Cluster(folder)
    with django_db_blocker.unblock():  # type: ignore[attr-defined]  # pytest-django's, whose type is private
        use_database(cluster.database.url)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    if not TABLE:
        return
    line = "{:<52} {:>6} {:>5} {:>8} {:>7} {:>8} {:>8} {:>8}".format
    terminalreporter.section("faults: seconds from the fault to the last score of the runs it met")
    terminalreporter.write_line(line("fault", "trials", "lost", "doubled", "blamed", "charged", "median", "worst"))
    for name, row in TABLE.items():
        median, worst = statistics.median(row.recovery_s), max(row.recovery_s)
        terminalreporter.write_line(
            line(name, row.trials, row.lost, row.doubled, row.blamed, row.charged, f"{median:.1f} s", f"{worst:.1f} s")
        )
