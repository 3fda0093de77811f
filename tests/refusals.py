"""Expect a refusal of one kind."""

import pytest

from core.refusals import KnownRefusal, Refusal, RefusalKind


def refuses(kind: RefusalKind | type[Refusal], match: str | None = None) -> pytest.RaisesExc[Refusal]:
    """Pass if the block is refused for exactly this reason."""
    if isinstance(kind, RefusalKind):
        return pytest.raises(KnownRefusal, match=match, check=lambda refusal: refusal.kind is kind)
    return pytest.raises(kind, match=match)
