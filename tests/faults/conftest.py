"""One site for the whole suite, and the table of what the faults did to it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.faults.cluster import Cluster, Verdict, whole_site


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


@pytest.fixture(scope="session")
def cluster(docker_engine: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The whole site."""
    with whole_site(Cluster, "faults", django_db_blocker) as site:
        yield site


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
