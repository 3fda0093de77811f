from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.calls import one_interpreter_for_calls
from tests.fixtures import common_site, noon, permissions, site, wakeups
from tests.heavy_work import heavy_work
from tests.shared_rows import SHARED, shared_names

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
def _calls(django_db_setup: None) -> Iterator[None]:
    """Start no new interpreter for each table."""
    with one_interpreter_for_calls():
        yield


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have those tests of a file follow each other that share most rows, so that these are made once."""
    files = {path: number for number, path in enumerate(dict.fromkeys(item.path for item in items))}
    items.sort(key=lambda item: (files[item.path], shared_names(getattr(item, "fixturenames", ()))))


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
