from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.calls import run_call
from tests.fixtures import common_site, noon, permissions, site, wakeups
from tests.heavy_work import heavy_work
from tests.shared_rows import SHARED

__all__ = ["common_site", "heavy_work", "noon", "permissions", "site", "wakeups"]
FUNCTIONAL = Path(__file__).parent
BLOCKER = pytest.StashKey[Any]()  # of access to the database, which is open once a first test has asked for it


@pytest.fixture(scope="session", autouse=True)
def shared_rows(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """From the second test on, rows are shared; they are taken back at the end."""
    request.config.stash[BLOCKER] = django_db_blocker
    yield
    with django_db_blocker.unblock():
        SHARED.prepare(())


@pytest.fixture(scope="session", autouse=True)
def one_interpreter_for_calls(django_db_setup: None) -> Iterator[None]:
    """Tables, replicates, gaps and images are read in one other interpreter, not each in a new one."""
    from competitions.bundles import samples
    from competitions.catalog.texts import images
    from competitions.discussions import images as post_images
    from competitions.leaderboards.uncertainty import reading
    from competitions.organize.tables import program
    from competitions.winners import gaps

    with ExitStack() as patches:
        for module in (reading, program, gaps, images, post_images, samples):
            patches.enter_context(mock.patch.object(module, "run_bounded", run_call))
        yield


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Take the rows back before a test of another suite, whose tables they would lock."""
    if nextitem and BLOCKER in nextitem.config.stash and not nextitem.path.is_relative_to(FUNCTIONAL):
        with nextitem.config.stash[BLOCKER].unblock():
            SHARED.prepare(())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Have what the test shares with others, before its own transaction begins."""
    if BLOCKER in item.config.stash and isinstance(item, pytest.Function):
        with item.config.stash[BLOCKER].unblock():
            SHARED.prepare(item.fixturenames)
