"""Committing to a sealed board at the close, and publishing what proves it at the reveal."""

import secrets
from datetime import datetime
from typing import Any

import structlog
from django.db import transaction

from competitions.catalog.models import Column, Leaderboard, Phase, Task
from competitions.catalog.sealed_keys import phases_under_seal
from competitions.leaderboards.models import Commitment, Entry
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.sealing.manifest import FORMAT, digest_of, faults_of, leaves_of, rebuilt
from competitions.leaderboards.services import board_freeze
from competitions.submissions.models import Submission
from competitions.submissions.states import LIVE
from core.refusals import Conflict

log = structlog.get_logger(__name__)


class NotClosedYet(Conflict):
    code = "phase_not_closed"

    def __init__(self, phase: Phase) -> None:
        super().__init__(
            f"“{phase.name}” has not closed, or uploads that began before its end may still arrive, so what counts is not settled. "
            f"Commit to it {phase.upload_grace_minutes} minutes after its end."
        )


class StillScoring(Conflict):
    code = "still_scoring"

    def __init__(self, phase: Phase, count: int) -> None:
        super().__init__(
            f"{count} submission{'' if count == 1 else 's'} to “{phase.name}” {'is' if count == 1 else 'are'} not scored yet. "
            "Wait until they are, or cancel them."
        )


def unscored(phase: Phase) -> int:
    """Submissions in time that still run."""
    return Submission.objects.filter(phase=phase, status__in=LIVE, is_late=False, is_verification=False).count()


@transaction.atomic
def board_commit(*, board: Leaderboard, now: datetime) -> Commitment:
    """Commit to the board as it stands. A second commitment stands beside the first, which stays readable.

    A freeze of it ends here: what is committed to is what the reveal will show.

    Raises `NotClosedYet` or `StillScoring`; then nothing is committed.
    """
    locked = Leaderboard.objects.select_for_update(of=("self",)).select_related("phase__competition").get(pk=board.pk)
    phase = locked.phase
    if not phase.is_settled(now):
        raise NotClosedYet(phase)
    if count := unscored(phase):
        raise StillScoring(phase, count)
    if locked.freeze_at is not None:
        board_freeze(board=locked, at=None)
    salt, document = secrets.token_hex(32), document_of(locked)
    leaves = leaves_of(document, salt)
    commitment = Commitment.objects.create(
        leaderboard=locked,
        salt=salt,
        leaves=leaves,
        digest=digest_of(leaves),
        entry_count=len(document["entries"]),
        made_at=now,
    )
    log.info(
        "board_committed", board=locked.pk, phase=phase.slug, digest=commitment.digest, entries=commitment.entry_count
    )
    return commitment


def document_of(board: Leaderboard) -> dict[str, Any]:
    """What decides the board, as it is in the database now: what it shows, and what it is ranked by."""
    primary = primary_column(list(board.columns.all()))
    columns = [column for column in board.columns.all() if not column.is_hidden or column == primary]
    fields = ("key", "title", "unit", "kind", "sorting", "precision", "rank_by_shown", "is_relative")
    entries = (
        Entry.objects.filter(leaderboard=board)
        .select_related("team", "score__submission")
        .order_by("score__submission")
    )
    return {
        "board": {
            "competition": board.phase.competition.slug, "phase": board.phase.slug, "key": board.key, "rule": board.rule,
            "breaks_ties": board.breaks_ties,
            "primary": primary.key if primary else "",
            "columns": [{name: getattr(column, name) for name in fields} for column in columns],
        },
        "tasks": [_task(task) for task in board.phase.tasks.select_related(*PROGRAMS).order_by("pk")],
        "entries": [_entry(entry, columns, shows_tasks=board.shows_tasks) for entry in entries.iterator(chunk_size=5000)],
    }  # fmt: skip


PROGRAMS = ("scoring_program", "reference_data", "ingestion_program", "input_data")


def _task(task: Task) -> dict[str, str | None]:
    files = {name: getattr(task, name) for name in PROGRAMS}
    return {"name": task.name} | {
        name: f"sha256:{resource.file_id}" if resource else None for name, resource in files.items()
    }


def _entry(entry: Entry, columns: list[Column], *, shows_tasks: bool) -> dict[str, Any]:
    """One counting submission; the team's name may change and is not part of what is committed to."""
    submission, keys = entry.score.submission, {column.key for column in columns}
    return {
        "submission": submission.pk,
        "team": str(entry.team.key),
        "team_name": entry.team.name,
        "sha256": submission.file_id,
        "received_at": submission.received_at.isoformat(),
        "is_baseline": entry.is_baseline,
        "scores": {
            key: value
            for key, value in entry.values.items()
            if key in keys or (shows_tasks and key.partition("@")[0] in keys)
        },
    }


def manifest_of(commitment: Commitment) -> dict[str, Any]:
    """The manifest: the board of now beside the leaves of then, so that whatever changed since the close shows."""
    document = document_of(commitment.leaderboard)
    return {
        "format": FORMAT,
        "digest": commitment.digest,
        "committed_at": commitment.made_at.isoformat(),
        "salt": commitment.salt,
        "leaves": commitment.leaves,
        **document,
        "rows": rebuilt(document),
    }


def newest_commitment(board: Leaderboard) -> Commitment | None:
    return Commitment.objects.filter(leaderboard=board).select_related("leaderboard__phase__competition").first()


def changed_since(commitment: Commitment) -> list[str]:
    """What is no longer as it was committed to; empty when all is. Names submissions, tells no score."""
    return faults_of(manifest_of(commitment))


def sealed_boards(phase: Phase) -> list[Leaderboard]:
    """The boards that the reveal of this phase opens."""
    boards = Leaderboard.objects.filter(phase=phase).select_related("phase__competition")
    return [board for board in boards if board.is_sealed]


def commit_closed_boards(*, now: datetime) -> int:
    """For the reconciler: commit to every sealed board whose phase has closed and is scored. Returns how many."""
    closed = Phase.objects.filter(closes_at__lte=now, leaderboards__commitments=None)
    waiting = phases_under_seal().filter(pk__in=closed.values("pk"))
    done = 0
    for phase in waiting:
        if unscored(phase) or not phase.is_settled(now):
            continue
        for board in sealed_boards(phase):
            done += _commit_once(board, now)
    return done


@transaction.atomic
def _commit_once(board: Leaderboard, now: datetime) -> bool:
    """Two reconcilers at once make one commitment: the second finds it under the board's lock."""
    Leaderboard.objects.select_for_update().get(pk=board.pk)
    if Commitment.objects.filter(leaderboard=board).exists():
        return False
    board_commit(board=board, now=now)
    return True
