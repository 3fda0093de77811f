"""A board as plain values: the document that a commitment covers and an amendment changes."""

from competitions.catalog.models import Column, Leaderboard, Task
from competitions.leaderboards.models import Entry as EntryRow
from competitions.leaderboards.ranking.values import primary_column
from competitions.teams.models import Team
from files.manifest import Column as CommittedColumn
from files.manifest import Document, Entry


def board_document(board: Leaderboard) -> Document:
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


def entry_documents(board: Leaderboard, team: Team | None = None) -> list[Entry]:
    """The board's rows, or one team's, each as it is committed to."""
    columns, rows = _columns(board), EntryRow.objects.filter(leaderboard=board)
    rows = rows.filter(team=team) if team else rows
    entries = rows.select_related("team", "score__submission").order_by("score__submission")
    return [_entry(entry, columns, shows_tasks=board.shows_tasks) for entry in entries.iterator(chunk_size=5000)]


def _columns(board: Leaderboard) -> list[Column]:
    """Those that the board shows, and the one that it is ranked by."""
    columns = list(board.columns.all())
    primary = primary_column(columns)
    return [column for column in columns if not column.is_hidden or column == primary]


def _column(column: Column) -> CommittedColumn:
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


def _entry(entry: EntryRow, columns: list[Column], *, shows_tasks: bool) -> Entry:
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
