"""Huge numbers at every URL on PostgreSQL, whose columns and errors differ from SQLite's."""

from __future__ import annotations

from django.test import Client

from tests.fixtures import common_site, noon, permissions, site, wakeups
from tests.functional.test_numbers import (
    HUGE,
    ask,
    clients,
    huge_addresses,
    test_huge_numbers_in_queries_are_refused_or_lead_to_nothing,
    test_the_worker_api_refuses_huge_numbers,
)
from tests.permissions import PAGES, PermissionSite, named_patterns

__all__ = [
    "clients",
    "common_site",
    "noon",
    "permissions",
    "site",
    "test_huge_numbers_in_queries_are_refused_or_lead_to_nothing",
    "test_the_worker_api_refuses_huge_numbers",
    "wakeups",
]


def test_addresses_with_numbers_that_no_column_holds_lead_to_nothing(
    permissions: PermissionSite, clients: list[Client]
) -> None:
    """Asked by an organizer, who is let through to most rows; others and longer ones are SQLite's, too."""
    wrong, tried = [], 0
    for name, pattern in named_patterns():
        if name not in PAGES:
            continue
        *huge, _ = huge_addresses(permissions, name, pattern)
        for url in huge:
            if str(HUGE[-1]) not in url:
                tried += 1
                status = ask(clients[1], PAGES[name][0], url)
                wrong += [(url, status)] * (status >= 500)
    assert wrong == []
    assert tried > 100
