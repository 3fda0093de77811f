from tests.fixtures import permissions, site, wakeups

__all__ = ["permissions", "site", "wakeups"]
