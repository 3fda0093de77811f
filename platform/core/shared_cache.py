"""The cache that all processes of a site share: Redis, and while that is away a table of the database.

Limits of sign-ins and API calls are counted in it. They go on counting without Redis, and nothing else of the site needs it.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import structlog
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)
ASKED_AGAIN_AFTER_S: Final = 5.0  # a Redis that does not answer must not cost every request its time-out
FALLBACK: Final = "database"  # in `CACHES`


def _or_database(name: str) -> Callable[..., Any]:
    """The method of this name: Redis's own, or the same of the cache in the database."""

    def method(self: "RedisOrDatabaseCache", *args: Any, **kwargs: Any) -> Any:
        if not self.is_away():
            try:
                return getattr(super(RedisOrDatabaseCache, self), name)(*args, **kwargs)
            except (RedisError, OSError) as error:
                self.set_away(error)
        return getattr(caches[FALLBACK], name)(*args, **kwargs)

    return method


class RedisOrDatabaseCache(RedisCache):
    """Django's Redis cache with a fallback. After a change-over counts begin at zero."""

    away_until = 0.0  # of this process, by its monotonic clock

    def is_away(self) -> bool:
        """True if Redis did not answer a moment ago."""
        return time.monotonic() < type(self).away_until

    def set_away(self, error: Exception) -> None:
        log.warning("redis_away", detail=str(error)[:200])
        type(self).away_until = time.monotonic() + ASKED_AGAIN_AFTER_S

    add = _or_database("add")
    get = _or_database("get")
    set = _or_database("set")
    touch = _or_database("touch")
    delete = _or_database("delete")
    get_many = _or_database("get_many")
    set_many = _or_database("set_many")
    delete_many = _or_database("delete_many")
    has_key = _or_database("has_key")
    incr = _or_database("incr")
    clear = _or_database("clear")
