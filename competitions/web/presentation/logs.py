"""A run's log as its page shows it: the end of it, beginning with a whole line, whose number is known."""

from dataclasses import dataclass
from typing import Final

from competitions.disclosure.streams import LogStream

LIVE_CHARS: Final = 100_000  # while a run goes, the page asks for it every few seconds
WHOLE_CHARS: Final = 1_000_000


@dataclass(frozen=True)
class ShownLog:
    """`first_line` is the number of the first line that is shown, from 1."""

    stream: LogStream
    text: str
    first_line: int

    @property
    def label(self) -> str:
        return str(self.stream.label)

    @property
    def is_cut(self) -> bool:
        return self.first_line > 1


def shown_log(stream: LogStream, text: str, *, is_final: bool) -> ShownLog:
    """The end of the log, in whole lines unless the last one alone is too long.

    >>> shown_log(LogStream.INGESTION, "one\\ntwo\\n", is_final=True).first_line
    1
    """
    most = WHOLE_CHARS if is_final else LIVE_CHARS
    if len(text) <= most:
        return ShownLog(stream, text, 1)
    begin = text.find("\n", len(text) - most - 1, len(text) - 1) + 1 or len(text) - most
    return ShownLog(stream, text[begin:], text.count("\n", 0, begin) + 1)
