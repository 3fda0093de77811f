"""Live logs of runs, bounded: the database keeps the beginning of a stream, the whole of it is a file."""

import re
from collections.abc import Iterable
from typing import Final

from django.conf import settings
from django.db.models import Count, Q, Sum
from django.db.models.functions import Length

from competitions.runs.models import Run, RunLog
from workers.protocol.calls import LogPiece

# What a program writes to colour and move about a terminal (ECMA-48): a control sequence, a command to the window, one letter.
ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
KEPT_CONTROLS: Final = "\n\t\r\x1b\x07"  # the last three are taken out by `readable`: a piece may end within a sequence
CUT_NOTICE = "\n[The live log is cut here; it has reached its limit. The end of the log is in the file to download.]\n"


def append_logs(run: Run, pieces: Iterable[LogPiece]) -> int:
    """Keep new pieces of a run's log; returns how many. A repeated number is ignored."""
    rows = [_row(run, piece) for piece in pieces]
    fitting_rows = []
    for stream in {row.stream for row in rows}:
        fitting_rows += _within_limit(run, stream, [row for row in rows if row.stream == stream])
    RunLog.objects.bulk_create(fitting_rows, ignore_conflicts=True)
    return len(fitting_rows)


def _row(run: Run, piece: LogPiece) -> RunLog:
    """The piece as it is kept; control characters that no terminal knows are shown as U+FFFD."""
    clean = "".join(char if char.isprintable() or char in KEPT_CONTROLS else "\ufffd" for char in piece.text)
    return RunLog(run=run, attempt=run.attempt, stream=piece.stream, seq=piece.seq, text=clean)


def _within_limit(run: Run, stream: str, pieces: list[RunLog]) -> list[RunLog]:
    """The pieces that still fit; the one that crosses the limit is replaced by a notice."""
    stored = RunLog.objects.filter(run=run, attempt=run.attempt, stream=stream)
    known = stored.aggregate(chars=Sum(Length("text"), default=0), cuts=Count("pk", filter=Q(text=CUT_NOTICE)))
    used, fitting_rows = known["chars"], list[RunLog]()
    if known["cuts"]:
        return fitting_rows
    for piece in sorted(pieces, key=lambda piece: piece.seq):
        used += len(piece.text)
        if used > settings.LOG_LIMIT_BYTES:
            piece.text = CUT_NOTICE
            return [*fitting_rows, piece]
        fitting_rows.append(piece)
    return fitting_rows


def log_text(run: Run, stream: str) -> str:
    """The current attempt's log of one stream, as far as it is kept."""
    pieces = RunLog.objects.filter(run=run, attempt__in=run.attempts_shown, stream=stream).order_by("attempt", "seq")
    return readable("".join(pieces.values_list("text", flat=True)))


def readable(text: str) -> str:
    """A log as a terminal would show it, without colours or overwritten text.

    Progress bars write one line hundreds of times. No control character but newline and tab is left.
    """
    if "\x1b" in text:
        text = ESCAPES.sub("", text).replace("\x1b", "\ufffd")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text.replace("\x07", "")
