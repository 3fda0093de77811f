"""Addresses and keys that a site makes of what a bundle calls its parts. No Django in here."""

import re
import unicodedata
from typing import Final

from competitions.bundles.reading.schema import LeaderboardSpec

MAX_KEY: Final = 36  # of a leaderboard


def slug_of(text: str) -> str:
    """The text as part of an address, as Django's `slugify` writes it.

    >>> slug_of("Été: the final Round!")
    'ete-the-final-round'
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain)).strip("-_")


def board_key(board: LeaderboardSpec) -> str:
    """The key of a leaderboard in addresses."""
    return slug_of(board.key)[:MAX_KEY] or "main"
