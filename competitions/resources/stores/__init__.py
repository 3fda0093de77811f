"""Stores of files' bytes. `PODIUM_STORE_URL` chooses the store; its scheme chooses the class."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from competitions.resources.stores.base import ObjectStore
from competitions.resources.stores.disk import DiskStore

SCHEMES: Final[dict[str, Callable[[SplitResult], ObjectStore]]] = {"file": DiskStore.from_url}


def object_store() -> ObjectStore:
    """The store of this site."""
    return open_store(settings.STORE_URL)


@lru_cache
def open_store(url: str) -> ObjectStore:
    """The store at a URL. Raises `ImproperlyConfigured` for one that no class here serves."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ImproperlyConfigured(
            f"PODIUM_STORE_URL is {url!r}; its scheme must be one of {', '.join(SCHEMES)}, as in file:///srv/podium/objects."
        )
    return SCHEMES[parts.scheme](parts)
