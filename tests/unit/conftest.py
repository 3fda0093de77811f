"""Unit tests have no database: a test that asks for one belongs to tests/functional."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse to run when a test below this folder wants a database, and name it."""
    wants = [item.nodeid for item in items if item.path.is_relative_to(HERE) and _wants_database(item)]
    if wants:
        raise pytest.UsageError(f"unit tests have no database; move to tests/functional: {', '.join(wants[:5])}")


def _wants_database(item: pytest.Item) -> bool:
    fixtures = DATABASE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
    return bool(fixtures) or item.get_closest_marker("django_db") is not None
