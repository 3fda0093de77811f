from tests.unit.site.conftest import rung, site

__all__ = ["rung", "site"]
