"""Live logs of runs, bounded: the database keeps the beginning of a stream, the whole of it is a file."""

from typing import Any

from django.conf import settings
from django.db.models import Count, Q, Sum
from django.db.models.functions import Length

from competitions.submissions.models import Run, RunLog
from competitions.submissions.results import InvalidResult

MAX_PIECES = 64  # in one heartbeat
MAX_PIECE_CHARS = 64_000
CUT_NOTICE = "\n[The live log is cut here; it has reached its limit. The end of the log is in the file to download.]\n"


def append_logs(run: Run, pieces: Any) -> int:
    """Keep new pieces of a run's log; returns how many. A repeated number is ignored. Raises `InvalidResult`."""
    if not isinstance(pieces, list) or len(pieces) > MAX_PIECES:
        raise InvalidResult(f"'logs' must be a list of at most {MAX_PIECES} pieces.")
    checked = [_piece(run, piece) for piece in pieces]
    kept = []
    for stream in {piece.stream for piece in checked}:
        kept += _within_limit(run, stream, [piece for piece in checked if piece.stream == stream])
    RunLog.objects.bulk_create(kept, ignore_conflicts=True)
    return len(kept)


def _piece(run: Run, piece: Any) -> RunLog:
    """One checked piece; control characters but newline and tab are shown as U+FFFD."""
    if not isinstance(piece, dict) or piece.get("stream") not in RunLog.Stream.values:
        raise InvalidResult(f"A log piece must name a stream: {', '.join(RunLog.Stream.values)}.")
    seq, text = piece.get("seq"), piece.get("text")
    if not isinstance(seq, int) or not 0 <= seq < 2**31 or not isinstance(text, str) or len(text) > MAX_PIECE_CHARS:
        raise InvalidResult(f"A log piece has a whole 'seq' and a 'text' of at most {MAX_PIECE_CHARS:,} characters.")
    clean = "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text.replace("\r\n", "\n"))
    return RunLog(run=run, attempt=run.attempt, stream=piece["stream"], seq=seq, text=clean)


def _within_limit(run: Run, stream: str, pieces: list[RunLog]) -> list[RunLog]:
    """The pieces that still fit; the one that crosses the limit is replaced by a notice."""
    stored = RunLog.objects.filter(run=run, attempt=run.attempt, stream=stream)
    known = stored.aggregate(chars=Sum(Length("text"), default=0), cuts=Count("pk", filter=Q(text=CUT_NOTICE)))
    used, kept = known["chars"], list[RunLog]()
    if known["cuts"]:
        return kept
    for piece in sorted(pieces, key=lambda piece: piece.seq):
        used += len(piece.text)
        if used > settings.LOG_LIMIT_BYTES:
            piece.text = CUT_NOTICE
            return [*kept, piece]
        kept.append(piece)
    return kept


def log_text(run: Run, stream: str) -> str:
    """The current attempt's log of one stream, as far as it is kept."""
    pieces = RunLog.objects.filter(run=run, attempt__in=run.attempts_shown, stream=stream).order_by("attempt", "seq")
    return "".join(pieces.values_list("text", flat=True))
