"""The difference of two texts by lines, at a cost that no text can raise."""

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from typing import Final

MAX_STEPS: Final = 10_000_000  # about a tenth of a second


class LineMatcher(SequenceMatcher[str]):
    """A `SequenceMatcher` of lines; where it would take long, only beginning and end are compared.

    Lines that are repeated many times cost it the third power of their number: minutes for a text of a few kilobytes.

    >>> LineMatcher(["a", "b"], ["a", "c"]).get_opcodes()
    [('equal', 0, 1, 0, 1), ('replace', 1, 2, 1, 2)]
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old, self._new = old, new
        super().__init__(None, old, new, autojunk=False)

    def get_matching_blocks(self) -> list[Match]:
        """Equal parts, as in the class above it; the groups and codes of changes follow from these."""
        occurs = Counter(self._new)
        equal_pairs = sum(occurs[line] for line in self._old)
        shorter = min(len(self._old), len(self._new))
        if equal_pairs * shorter <= MAX_STEPS:
            return super().get_matching_blocks()
        head = _common(self._old, self._new)
        tail = _common(self._old[head:][::-1], self._new[head:][::-1])
        ends = len(self._old), len(self._new)
        return [Match(0, 0, head), Match(ends[0] - tail, ends[1] - tail, tail), Match(*ends, 0)]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """The number of lines at the beginning that are equal."""
    return next(
        (at for at, (line, other) in enumerate(zip(old, new, strict=False)) if line != other), min(len(old), len(new))
    )


def unified_lines(old: Sequence[str], new: Sequence[str], *, around: int) -> Iterator[str]:
    """The lines of a unified diff, without its two lines of file names.

    `around`: equal lines beside each change.

    >>> list(unified_lines(["a", "b"], ["a", "c"], around=1))
    ['@@ -1,2 +1,2 @@', ' a', '-b', '+c']
    """
    for group in LineMatcher(old, new).get_grouped_opcodes(around):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@"
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[old_from:old_to])
                continue
            yield from (f"-{line}" for line in old[old_from:old_to])
            yield from (f"+{line}" for line in new[new_from:new_to])


def _span(start: int, stop: int) -> str:
    """Lines as a unified diff counts them: from 1, and one line without its number."""
    length = stop - start
    return str(start + 1) if length == 1 else f"{start + (length > 0)},{length}"
