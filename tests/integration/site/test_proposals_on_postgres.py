"""Proposals on PostgreSQL: compared and taken back, applied in one transaction, JSON asked by keys."""

from __future__ import annotations

from tests.fixtures import common_site, noon, site, wakeups
from tests.functional.leaderboards.test_proposals import (
    test_a_column_is_proposed_and_ranked_by,
    test_nothing_changes_before_it_is_applied_and_then_everything_at_once,
    test_what_comes_meanwhile_is_scored_with_both,
    two,
)

__all__ = [
    "common_site",
    "noon",
    "site",
    "test_a_column_is_proposed_and_ranked_by",
    "test_nothing_changes_before_it_is_applied_and_then_everything_at_once",
    "test_what_comes_meanwhile_is_scored_with_both",
    "two",
    "wakeups",
]
