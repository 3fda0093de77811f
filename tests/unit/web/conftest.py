"""Unit tests of the pages use the same small world as those of the domain."""

from tests.unit.site.conftest import rung, site, town

__all__ = ["rung", "site", "town"]
