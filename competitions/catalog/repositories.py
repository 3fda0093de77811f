"""Addresses of repositories: checked in form, fetched by nobody."""

import re
from typing import Final
from urllib.parse import urlsplit

COMMIT: Final = re.compile(r"[0-9a-f]{40}")
HOST: Final = re.compile(r"([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}")  # a name, no number and no local machine
PATH: Final = re.compile(r"(/[A-Za-z0-9_~][A-Za-z0-9._~-]*){2,}/?")
PINNED: Final = re.compile(r"(?P<repository>.+?)(/-)?/(tree|commit)/(?P<commit>[0-9a-f]{40})/?")


class RepositoryInvalid(ValueError):
    """The sentence says what an address should look like."""


def repository_address(text: str) -> str:
    """The address of a repository. Raises `RepositoryInvalid`.

    >>> repository_address(" https://github.com/snap-stanford/ogb ")
    'https://github.com/snap-stanford/ogb'
    """
    address = text.strip()
    try:
        parts = urlsplit(address)
        is_plain = parts.scheme == "https" and not (parts.query or parts.fragment) and parts.netloc == parts.hostname
    except ValueError:
        is_plain = False
    if not is_plain or not HOST.fullmatch(parts.netloc) or not PATH.fullmatch(parts.path):
        raise RepositoryInvalid(
            f"{address[:80]!r} is not an address of a repository. Write it as https://github.com/OWNER/NAME, without anything after it."
        )
    return address


def commit_hash(text: str) -> str:
    """A commit's full hash, which names the same files for ever. Raises `RepositoryInvalid`."""
    commit = text.strip().lower()
    if not COMMIT.fullmatch(commit):
        raise RepositoryInvalid(
            f"{commit[:80]!r} is not a commit. Give all 40 hexadecimal digits of its hash, as `git rev-parse HEAD` prints it."
        )
    return commit


def pinned_repository(text: str) -> str:
    """The address of a repository at a commit, as its pages have it. Raises `RepositoryInvalid`.

    >>> pinned_repository("https://github.com/a/b/tree/" + "0" * 40) == "https://github.com/a/b/tree/" + "0" * 40
    True
    """
    address = text.strip()
    pinned = PINNED.fullmatch(address)
    if pinned is None:
        raise RepositoryInvalid(
            f"{address[:80]!r} names no commit. Write it as https://github.com/OWNER/NAME/tree/COMMIT with all 40 digits of the hash."
        )
    repository_address(pinned["repository"])
    return address
