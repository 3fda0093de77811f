"""Huge numbers at every URL on PostgreSQL, whose columns and errors differ from SQLite's."""

from __future__ import annotations

from tests.fixtures import common_site, noon, permissions, site, wakeups
from tests.functional.test_numbers import (
    clients,
    test_addresses_with_huge_numbers_lead_to_nothing,
    test_huge_numbers_in_queries_are_refused_or_lead_to_nothing,
    test_the_worker_api_refuses_huge_numbers,
)

__all__ = [
    "clients",
    "common_site",
    "noon",
    "permissions",
    "site",
    "test_addresses_with_huge_numbers_lead_to_nothing",
    "test_huge_numbers_in_queries_are_refused_or_lead_to_nothing",
    "test_the_worker_api_refuses_huge_numbers",
    "wakeups",
]
