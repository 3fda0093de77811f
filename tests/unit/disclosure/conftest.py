"""The rules of disclosure are tested in the same small world as the domain."""

from tests.unit.site.conftest import rung, site, town

__all__ = ["rung", "site", "town"]
