"""Leaves out of a log the lines that a terminal would have overwritten, as of progress bars."""

import re

CONTROL = re.compile(rb"[\r\n]")
SHOWN_AT_ONCE = 20  # rewrites of one line; beyond, each next one is shown when there are 5 % more
MAX_HELD_BYTES = 4096  # a longer rewrite is a text of its own


class Overwrites:
    """Filters one stream, piece by piece; what comes out is the same wherever the pieces are cut.

    Of the rewrites of a line the first ones are kept, then ever fewer, so that a live log goes on, and always the last one.
    """

    def __init__(self) -> None:
        self._start_line()

    def _start_line(self) -> None:
        self._rewrites = 0
        self._next_shown = 0
        self._start_rewrite(shown=True)
        self._last = b""

    def _start_rewrite(self, *, shown: bool) -> None:
        self._shown = shown
        self._held = b""
        self._is_empty = True

    def pass_on(self, piece: bytes) -> bytes:
        """The part of the next piece that stays."""
        if self._rewrites == 0 and b"\r" not in piece:
            return piece
        out = bytearray()
        position = 0
        for match in CONTROL.finditer(piece):
            out += self._text(piece[position : match.start()])
            out += self._carriage_return() if match[0] == b"\r" else self._line_feed()
            position = match.end()
        return bytes(out + self._text(piece[position:]))

    def _text(self, text: bytes) -> bytes:
        if not text:
            return b""
        self._is_empty = False
        if self._shown:
            self._last = b""
            return text
        self._held += text
        if len(self._held) <= MAX_HELD_BYTES:
            return b""
        out = b"\r" + self._held
        self._start_rewrite(shown=True)
        self._is_empty, self._last = False, b""
        return out

    def _carriage_return(self) -> bytes:
        self._last = self._held or self._last
        self._rewrites += 1
        shown = self._rewrites >= self._next_shown
        if shown:
            self._next_shown = self._rewrites + max(1, self._rewrites // SHOWN_AT_ONCE)
        self._start_rewrite(shown=shown)
        return b"\r" if shown else b""

    def _line_feed(self) -> bytes:
        out = self.rest() + b"\n"
        self._start_line()
        return out

    def rest(self) -> bytes:
        """The last rewrite of a line that has not ended, where it was held back."""
        last = self._held or (self._last if self._is_empty else b"")
        self._held = self._last = b""
        return b"\r" + last if last else b""
