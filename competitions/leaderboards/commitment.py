"""The board that a commitment covers, as plain values, and the amendments of it, with digests."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import F

from competitions.catalog.models import Column, Leaderboard, Task
from competitions.leaderboards.models import Amendment, Commitment
from competitions.leaderboards.models import Entry as EntryRow
from competitions.leaderboards.ranking.values import primary_column
from competitions.teams.models import Team
from core.refusals import RefusalKind
from files import manifest
from workers.protocol.texts import printable


def board_document(board: Leaderboard) -> manifest.Document:
    """The board as it is in the database now: what it shows, and what it is ranked by."""
    columns, primary = _columns(board), primary_column(list(board.columns.all()))
    return {
        "board": {
            "competition": board.phase.competition.slug,
            "phase": board.phase.slug,
            "key": board.key,
            "rule": board.rule,
            "breaks_ties": board.breaks_ties,
            "primary": primary.key if primary else "",
            "columns": [_column(column) for column in columns],
        },
        "tasks": [_task(task) for task in board.phase.tasks.select_related(*PROGRAMS).order_by("pk")],
        "entries": entry_documents(board),
    }


def entry_documents(board: Leaderboard, team: Team | None = None) -> list[manifest.Entry]:
    """The board's rows, or one team's, each as it is committed to."""
    columns, rows = _columns(board), EntryRow.objects.filter(leaderboard=board)
    rows = rows.filter(team=team) if team else rows
    entries = rows.select_related("team", "score__submission").order_by("score__submission")
    return [_entry(entry, columns, shows_tasks=board.shows_tasks) for entry in entries.iterator(chunk_size=5000)]


def _columns(board: Leaderboard) -> list[Column]:
    """The columns that the board shows, and the one that ranks it."""
    columns = list(board.columns.all())
    primary = primary_column(columns)
    return [column for column in columns if not column.is_hidden or column == primary]


def _column(column: Column) -> manifest.Column:
    return {
        "key": column.key,
        "title": column.title,
        "unit": column.unit,
        "kind": column.kind,
        "sorting": column.sorting,
        "precision": column.precision,
        "rank_by_shown": column.rank_by_shown,
        "is_relative": column.is_relative,
    }


PROGRAMS = ("scoring_program", "reference_data", "ingestion_program", "input_data")


def _task(task: Task) -> dict[str, str | None]:
    files = {name: getattr(task, name) for name in PROGRAMS}
    return {"name": task.name} | {
        name: f"sha256:{resource.file_id}" if resource else None for name, resource in files.items()
    }


def _entry(entry: EntryRow, columns: list[Column], *, shows_tasks: bool) -> manifest.Entry:
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


AMENDMENT_REASON_MISSING: Final = RefusalKind(
    422, "amendment_reason_missing", "Give the reason for the change. It is published with the amendment."
)

NOTHING_CHANGED: Final = RefusalKind(
    409, "nothing_changed", "“{board.title}” is as it was committed to and amended; there is nothing to publish."
)


@contextmanager
def amending(boards: Sequence[Leaderboard], team: Team | None, *, reason: str, now: datetime) -> Iterator[None]:
    """Publish what happens inside as an amendment of each board that is committed to.

    A change concerns the team's rows; without a team, all that was committed to. It is published even where no row changes: before
    the reveal, that there is one must not tell which submission counts. The boards' locks must be held. Without a reason nothing is
    published.
    """
    numbers = [board.pk for board in boards if board.was_sealed] if reason else []
    commitments = Commitment.objects.filter(leaderboard__in=numbers).defer("document", "leaves") if numbers else []
    by_number = {board.pk: board for board in boards}
    affected = [(commitment, by_number[commitment.leaderboard_id]) for commitment in commitments]
    before = [_rows(board, team) for _, board in affected]
    yield
    for (commitment, board), rows in zip(affected, before, strict=True):
        _publish(commitment, manifest.difference(rows, _rows(board, team)), reason=reason, now=now)


def _rows(board: Leaderboard, team: Team | None) -> manifest.Document:
    """The part of a board that a change of this team may change; without a team, all of it.

    Those are its rows, or all rows where ranks are averaged over datasets.
    """
    if team is None:  # read anew, because its columns may have changed
        return board_document(Leaderboard.objects.select_related("phase__competition").get(pk=board.pk))
    is_relative = any(column.is_relative for column in board.columns.all())
    return {"entries": entry_documents(board, None if is_relative else team)}


def _publish(commitment: Commitment, changes: manifest.Changes, *, reason: str, now: datetime) -> Amendment:
    last = commitment.amendments.last()
    content: manifest.AmendmentContent = {
        "number": last.number + 1 if last else 1,
        "made_at": now.isoformat(),
        "reason": printable(reason).strip()[:1000],
        "changes": changes,
    }
    board = Leaderboard.objects.filter(pk=commitment.leaderboard_id)
    board.update(version=F("version") + 1)  # its pages are drawn anew
    digest = manifest.amendment_digest(commitment.salt, last.digest if last else commitment.digest, content)
    return Amendment.objects.create(commitment=commitment, digest=digest, **content | {"made_at": now})


@transaction.atomic
def board_amend(*, board: Leaderboard, reason: str, now: datetime) -> Amendment:
    """Publish all differences from the commitment and its amendments.

    Raises `AMENDMENT_REASON_MISSING` or `NOTHING_CHANGED`.
    """
    if not printable(reason).strip():
        raise AMENDMENT_REASON_MISSING()
    locked = Leaderboard.objects.select_for_update(of=("self",), no_key=True).get(pk=board.pk)
    commitment = Commitment.objects.select_related("leaderboard__phase__competition").get(leaderboard=locked)
    changes = unexplained(commitment)
    if not changes:
        raise NOTHING_CHANGED(board=locked)
    return _publish(commitment, changes, reason=reason, now=now)


@transaction.atomic
def decision_publish(*, board: Leaderboard, reason: str, now: datetime) -> None:
    """Publish a decision that changes no row, such as a winner not confirmed, if there is a commitment."""
    Leaderboard.objects.select_for_update(of=("self",), no_key=True).get(pk=board.pk)
    for commitment in Commitment.objects.filter(leaderboard=board):
        _publish(commitment, {}, reason=reason, now=now)


def unexplained(commitment: Commitment) -> manifest.Changes:
    """The difference between the board now and its commitment with amendments; empty for none."""
    return manifest.difference(manifest.current(_published(commitment)), board_document(commitment.leaderboard))


def changed_since(commitment: Commitment) -> list[str]:
    """Changes without an amendment, in words. They name submissions and tell no score."""
    return manifest.changes_in_words(unexplained(commitment))


def commitment_manifest(commitment: Commitment) -> manifest.Manifest:
    """The committed board, every amendment and the rows now, so that any other change shows."""
    document, changes = _published(commitment), unexplained(commitment)
    return {
        "format": manifest.FORMAT,
        "digest": commitment.digest,
        "committed_at": commitment.made_at.isoformat(),
        "salt": commitment.salt,
        "leaves": commitment.leaves,
        **document,
        "unexplained": changes,
        "rows": manifest.rebuilt(manifest.amend(manifest.current(document), changes)),
    }


def _published(commitment: Commitment) -> manifest.Amended:
    """The document as committed, with all amendments since."""
    amendments: list[manifest.Amendment] = [
        {
            "number": amendment.number,
            "made_at": amendment.made_at.isoformat(),
            "reason": amendment.reason,
            "changes": amendment.changes,
            "digest": amendment.digest,
        }
        for amendment in commitment.amendments.all()
    ]
    document: manifest.Document = commitment.document
    return {**document, "amendments": amendments}
