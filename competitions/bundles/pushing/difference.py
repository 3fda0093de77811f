"""The difference between two states of a competition, as people read it before they agree."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import Any, Final, TypedDict

from competitions.bundles.pushing.document import Place, Values

MAX_CHARS: Final = 200
MAX_LINES: Final = 60
PARTS: Final[set[Place]] = {
    ("pages",),
    ("images",),
    ("tasks",),
    ("phases",),
    ("solutions",),
}  # what is in them is told one by one


class Change(TypedDict):
    """One setting, or a part with all its settings, as texts; `lines` are the changes inside a long one."""

    path: str
    change: str  # added, changed, removed
    before: str
    after: str
    lines: list[str]


def differences(before: Values, after: Values) -> list[Change]:
    """Every change once. A part that is new, or gone, is one change, whatever it holds."""
    changes = [
        _change(place, before[place], after[place])
        for place in after
        if place in before and before[place] != after[place]
    ]
    changes += [_part(place, "added", after) for place in _roots(after, before)]
    changes += [_part(place, "removed", before) for place in _roots(before, after)]
    return sorted(changes, key=lambda change: change["path"])


def _roots(of: Values, without: Values) -> Iterator[Place]:
    """The outermost places in the first of which the second has nothing."""
    known = {place[:end] for place in without for end in range(len(place) + 1)} | PARTS
    seen: set[Place] = set()
    for place in of:
        root = next((place[:end] for end in range(1, len(place) + 1) if place[:end] not in known), None)
        if root is not None and root not in seen:
            seen.add(root)
            yield root


def _part(place: Place, change: str, values: Values) -> Change:
    text = _shown(values[place]) if place in values else ""
    before, after = (text, "") if change == "removed" else ("", text)
    return {"path": ".".join(place), "change": change, "before": before, "after": after, "lines": []}


def _change(place: Place, before: Any, after: Any) -> Change:
    is_text = isinstance(before, str) and isinstance(after, str) and "\n" in before + after
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1))[2:] if is_text else []
    return {
        "path": ".".join(place),
        "change": "changed",
        "before": "" if is_text else _shown(before),
        "after": "" if is_text else _shown(after),
        "lines": [line[:MAX_CHARS] for line in lines[:MAX_LINES]],
    }


def _shown(value: Any) -> str:
    text = "none" if value in (None, "") else str(value)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
