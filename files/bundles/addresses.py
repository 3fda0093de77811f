"""Addresses and keys that a site makes of the names of phases and leaderboards. No Django."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from files.bundles.schema import LeaderboardSpec, PhaseSpec
from files.text import free_name

MAX_SLUG: Final = 54  # of a phase's name, with room for a number behind it
MAX_KEY: Final = 36  # of a leaderboard


def make_slug(text: str) -> str:
    """The text as part of an address, as Django's `slugify` writes it.

    >>> make_slug("Été: the final Round!")
    'ete-the-final-round'
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain)).strip("-_")


def board_key(board: LeaderboardSpec) -> str:
    """The key of a leaderboard in addresses."""
    return make_slug(board.key)[:MAX_KEY] or "main"


def phase_slugs(phases: Iterable[PhaseSpec]) -> list[tuple[str, PhaseSpec]]:
    """Each of the phases, in their order, with its slug: its own, or a new one made of its name."""
    rows = list(phases)
    taken = {phase.podium.slug for phase in rows if phase.podium.slug}
    named = []
    for phase in rows:
        slug = phase.podium.slug or free_name(make_slug(phase.name)[:MAX_SLUG].strip("-") or "phase", taken)
        taken.add(slug)
        named.append((slug, phase))
    return named
