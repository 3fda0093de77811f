"""Ranks on PostgreSQL, whose texts sort by a locale: rows are told apart there as on SQLite."""

from __future__ import annotations

import pytest
from django.utils import timezone

from tests.functional.leaderboards.test_ranking_of_rows import rows, scored_twice, ties_broken
from tests.scenario import scenario

pytestmark = pytest.mark.django_db(transaction=True)


def test_negative_and_large_values_of_a_second_column_are_in_order() -> None:
    site = scenario(now=timezone.now())
    board = ties_broken(site)
    values = {"a lot": 1e9, "some": 10.0, "one": 1.0, "nothing": 0.0, "less": -1.0, "least": -1e9}
    for name in ("one", "least", "a lot", "nothing", "some", "less"):
        scored_twice(site, name, 0.5, values[name])
    assert rows(board) == list(enumerate(values, start=1))
