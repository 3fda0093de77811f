"""Changes that need a confirmation: one protocol for pages, the admin and programs.

Whoever changes something is told in sentences what that does, with a confirmation: a digest of these sentences and of the
rows as they are. Sent back, it agrees to exactly that. Where another change came first, it is told and asked anew.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Model

from core.refusals import Conflict


class NeedsConfirmation(Conflict):
    """`extra` has `impact`, a list of sentences, and the `confirmation` to send back with the same change."""

    code = "needs_confirmation"

    def __init__(self, impact: Sequence[str], confirmation: str) -> None:
        super().__init__(
            "Nothing is saved yet. This is what the change does: " + " ".join(impact),
            impact=list(impact),
            confirmation=confirmation,
        )
        self.impact, self.confirmation = list(impact), confirmation


def require_confirmation(impact: Sequence[str], state: Mapping[str, object], confirmed: object) -> None:
    """Raise `NeedsConfirmation` unless there is no impact, or exactly this one was confirmed."""
    confirmation = state_digest([*impact, *(f"{name}: {state_digest(value)}" for name, value in state.items())])
    if impact and confirmed != confirmation:
        raise NeedsConfirmation(impact, confirmation)


def state_digest(value: object) -> str:
    """A short digest that tells values apart, and not the ways in which a row and its form hold one."""
    return hashlib.sha256(repr(_plain(value)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if value is None or value is False or value in ("", []):  # 0 is a value
        return ""
    if isinstance(value, datetime):
        return value.replace(second=0, microsecond=0).isoformat()
    if isinstance(value, Model):
        return str(value.pk)
    if isinstance(value, str):
        return value.replace("\r\n", "\n").strip()
    if isinstance(value, Mapping):
        return sorted((key, repr(item)) for key, item in value.items())
    if isinstance(value, Iterable):
        return sorted(str(_plain(item)) for item in value)  # a choice of rows has no order
    return str(value)
