from tests.fixtures import permissions, site, wakeups
from tests.heavy_work import heavy_work

__all__ = ["heavy_work", "permissions", "site", "wakeups"]
