"""Boards frozen as snapshots, each at a permanent address in a file that the site signs."""

import json
from datetime import datetime
from typing import Any, Final

import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from competitions.catalog.models import Leaderboard
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_see_board
from competitions.leaderboards.models import Snapshot
from competitions.leaderboards.reading.board import Row, all_rows
from competitions.leaderboards.reading.columns import ShownColumn, page_columns
from competitions.leaderboards.reading.uncertainty import board_uncertainty, row_uncertainty
from core.background import jobs
from core.background.rows import Claim, claims
from core.refusals import KnownRefusal, RefusalKind
from files.snapshots import sign_snapshot

log = structlog.get_logger(__name__)
SNAPSHOT_JOB: Final = "board-snapshot"
MOST: Final = 200  # snapshots of a board
ROWS_SHOWN: Final = 100

SNAPSHOT_REFUSED: Final = RefusalKind(
    409, "snapshot_refused", "The leaderboard “{board.title}” cannot be frozen: {why}."
)


def waiting_snapshots() -> QuerySet[Snapshot]:
    """Snapshots without their file."""
    return Snapshot.objects.filter(written_at=None)


@transaction.atomic
def snapshot_request(*, board: Leaderboard, by: User, now: datetime) -> Snapshot:
    """Freeze the board as it is in a moment. The last one that still waits is given again.

    Raises `SNAPSHOT_REFUSED` for a board that not everybody may see, for an empty one, and beyond 200.
    """
    locked = (
        Leaderboard.objects.select_for_update(of=("self",), no_key=True)
        .select_related("phase__competition")
        .get(pk=board.pk)
    )
    if not _is_public(locked, now):
        raise SNAPSHOT_REFUSED(board=locked, why="not everybody may see it yet")
    if not locked.entry_count:
        raise SNAPSHOT_REFUSED(board=locked, why="it has no rows")
    last = Snapshot.objects.filter(leaderboard=locked).first()
    if last is not None and last.written_at is None:
        return last
    if last is not None and last.number >= MOST:
        raise SNAPSHOT_REFUSED(board=locked, why=f"it has {MOST} snapshots")
    number = 1 if last is None else last.number + 1
    snapshot = Snapshot.objects.create(leaderboard=locked, number=number, created_at=now, made_by=by)
    jobs.send_after_commit(SNAPSHOT_JOB, snapshot.pk)
    return snapshot


def _is_public(board: Leaderboard, now: datetime) -> bool:
    return board.phase.competition.is_published and may_see_board(Reader(AnonymousUser(), now=now), board)


@claims(waiting_snapshots, "leaderboard__phase__competition")
def snapshot_perform(snapshot: Snapshot, claimed: Claim) -> None:
    """Write the file of one snapshot; remove one that cannot be made, or whose board was closed meanwhile."""
    if snapshot.attempts > settings.BACKGROUND_ATTEMPTS or not _is_public(snapshot.leaderboard, timezone.now()):
        log.warning("snapshot_dropped", snapshot=snapshot.pk, attempts=snapshot.attempts)
        snapshot.delete()
        return
    with claimed.kept():
        content = snapshot_content(snapshot)
    claimed.release(**content, written_at=timezone.now())


def snapshot_content(snapshot: Snapshot) -> dict[str, Any]:
    """Fields of a snapshot by its board's rows of now: the signed file, and what its page shows."""
    signed = sign_snapshot(snapshot_document(snapshot), signing_key())
    document = signed["document"]
    shown = document | {
        "rows": document["rows"][:ROWS_SHOWN],
        "row_count": len(document["rows"]),
        "digest": signed["digest"],
    }
    return {"file_text": json.dumps(signed, indent=1), "shown": shown}


@transaction.atomic
def snapshot_before(*, board: Leaderboard, by: User, now: datetime) -> Snapshot | None:
    """Freeze a board, at once, before all of its rows change; None where it cannot be frozen."""
    try:
        snapshot = snapshot_request(board=board, by=by, now=now)
    except KnownRefusal as refusal:
        log.info("snapshot_refused", board=board.pk, detail=refusal.detail)
        return None
    for name, value in snapshot_content(snapshot).items():
        setattr(snapshot, name, value)
    snapshot.written_at = timezone.now()
    snapshot.save(update_fields=["file_text", "shown", "written_at"])
    return snapshot


SNAPSHOT: Final = jobs.Job(SNAPSHOT_JOB, waiting=waiting_snapshots, perform=snapshot_perform)


def snapshot_document(snapshot: Snapshot) -> dict[str, Any]:
    """The board as everybody sees it, with all of its rows."""
    boards = Leaderboard.objects.select_related("uncertainty", "phase__competition").prefetch_related("columns")
    board = boards.get(pk=snapshot.leaderboard_id)
    columns = page_columns(board, board.visible_columns)
    sure = board_uncertainty(board)
    competition, phase = board.phase.competition, board.phase
    return {
        "url": settings.SITE_URL + snapshot_path(snapshot),
        "key_url": f"{settings.SITE_URL}/.well-known/podium-signing-key",
        "number": snapshot.number,
        "made_at": snapshot.created_at.isoformat(),
        "competition": {"slug": competition.slug, "title": competition.title},
        "phase": {"slug": phase.slug, "name": phase.name},
        "board": {"key": board.key, "title": board.title, "version": board.version, "rule": board.get_rule_display()},
        "columns": [
            {"key": column.key, "title": column.title, "unit": column.unit, "sorting": column.sorting}
            for column in columns
        ],
        "uncertainty": sure.as_json() if sure else None,
        "rows": [_row(board, row, columns) for row in all_rows(board)],
    }


def _row(board: Leaderboard, row: Row, columns: list[ShownColumn]) -> dict[str, Any]:
    entry = row.entry
    sure = row_uncertainty(board, entry)
    shown = {column.key: column.shown_in(entry.values) for column in columns}
    return {
        "rank": row.rank,
        "team": entry.team.name,
        "is_baseline": entry.is_baseline,
        "scores": {key: value for key, value in shown.items() if value is not None},
        "submissions": entry.submissions,
        "achieved_at": entry.achieved_at.isoformat(),
        "uncertainty": sure.as_json() if sure else None,
    }


def snapshot_path(snapshot: Snapshot) -> str:
    """The permanent address of a snapshot's page on its site."""
    board = snapshot.leaderboard
    phase = board.phase
    return f"/competitions/{phase.competition.slug}/leaderboard/{phase.slug}/{board.key}/snapshots/{snapshot.number}/"


def signing_key() -> Ed25519PrivateKey:
    """The site's key for snapshots, which follows from its secret key."""
    derived = HKDF(SHA256(), 32, salt=None, info=b"podium snapshots")
    return Ed25519PrivateKey.from_private_bytes(derived.derive(settings.SECRET_KEY.encode()))
