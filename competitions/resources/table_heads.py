"""The first rows of tables of text, read from the beginnings of their files alone.

Those in zips that participants download are read once, in the background.
"""

import csv
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import structlog
from django.conf import settings
from django.db.models import QuerySet

from competitions.resources.models import ArchiveHead, Resource, StoredFile
from competitions.resources.storage import local_copy, open_stored
from competitions.resources.versions import RESOURCE_LIMITS
from core.background import jobs
from core.background.bounded import Bounds, OverBounds, Stopped, run_bounded
from core.background.rows import Claim, asker_key, claims
from core.refusals import InvalidFile
from files.archives import DAMAGED, check_directory
from workers.protocol.texts import printable

log = structlog.get_logger(__name__)
JOB: Final = "archive-head"
# Data that are hidden are no such kinds: nothing of them is kept beside their file.
SHOWN_KINDS: Final = (Resource.Kind.PUBLIC_DATA, Resource.Kind.STARTING_KIT, Resource.Kind.SAMPLE_SUBMISSION)
MOST_TABLES: Final = 4  # of an archive
MOST_ASKED: Final = 100  # in one step of the reconciler
HEAD_BYTES: Final = 4096
ROWS, COLUMNS, CHARACTERS = 5, 8, 40  # of a preview; cells are cut
SEPARATORS: Final = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class TableHead:
    """Names of columns and first rows; `more_columns` are left out. In a zip it has a `name`."""

    columns: list[str]
    rows: list[list[str]]
    more_columns: int
    name: str = ""

    @property
    def names(self) -> list[tuple[str, bool]]:
        """The names of the columns, each with a mark if it holds numbers."""
        return list(zip(self.columns, self._marks, strict=True))

    @property
    def cells(self) -> list[list[tuple[str, bool]]]:
        """The rows, each cell with the mark of its column."""
        return [list(zip(row, self._marks, strict=False)) for row in self.rows]

    @property
    def _marks(self) -> list[bool]:
        places = range(len(self.columns))
        return [all(is_number(row[place]) for row in self.rows if place < len(row)) for place in places]


def is_number(text: str) -> bool:
    """True for a number; an empty cell is as good as one."""
    try:
        float(text or "0")
    except ValueError:
        return False
    return True


def separator_by_name(file_name: str) -> str | None:
    """The separator of a table's columns by the ending of its name; None for another kind of file."""
    return next((sign for suffix, sign in SEPARATORS.items() if file_name.lower().endswith(suffix)), None)


def table_head(resource: Resource) -> TableHead | None:
    """None for a file of another kind, a packed one, or one whose beginning is not a table of UTF-8 text."""
    separator = separator_by_name(resource.file_name)
    if separator is None:
        return None
    with open_stored(resource.file) as file:
        return parse_head(file.read(HEAD_BYTES), separator)


def parse_head(head: bytes, separator: str, name: str = "") -> TableHead | None:
    """The table that begins with these bytes, of which there are `HEAD_BYTES` unless that is all of it."""
    is_whole = len(head) < HEAD_BYTES
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    try:
        rows = list(csv.reader(lines if is_whole else lines[:-1], delimiter=separator))[: ROWS + 1]
    except csv.Error:
        return None
    if len(rows) < 2 or len(rows[0]) < 2:
        return None
    cut = [[printable(cell[:CHARACTERS]) for cell in row[:COLUMNS]] for row in rows]
    return TableHead(cut[0], cut[1:], max(0, len(rows[0]) - COLUMNS), name)


def archives_ask(*, now: datetime) -> int:
    """Step of the reconciler: ask for archives that nobody has read, forget those that are gone."""
    ArchiveHead.objects.exclude(sha256__in=StoredFile.objects.values("sha256")).delete()
    archives = Resource.objects.filter(kind__in=SHOWN_KINDS, file_name__iendswith=".zip")
    unread = archives.exclude(file__in=ArchiveHead.objects.values("sha256")).order_by("pk")
    owners = dict(unread.values_list("file_id", "owner_id")[:MOST_ASKED])
    heads = [
        ArchiveHead(sha256=sha256, asker=asker_key("person", owner), created_at=now) for sha256, owner in owners.items()
    ]
    ArchiveHead.objects.bulk_create(heads, ignore_conflicts=True)
    for pk in waiting_archives().filter(sha256__in=owners).values_list("pk", flat=True):
        jobs.send_after_commit(JOB, pk)
    return len(heads)


def waiting_archives() -> QuerySet[ArchiveHead]:
    """Archives that somebody must read, or is reading."""
    return ArchiveHead.objects.filter(is_read=False)


@claims(waiting_archives)
def archive_perform(head: ArchiveHead, claimed: Claim) -> None:
    """Read one archive and keep the first rows of its tables; none where it cannot be read."""
    file = StoredFile.objects.filter(pk=head.sha256).first()
    if file is None or head.attempts > settings.BACKGROUND_ATTEMPTS:
        claimed.release(is_read=True)
        return
    try:
        claimed.release(is_read=True, tables=_read(file, claimed))
    except Stopped:
        log.info("archive_head_stopped", head=head.pk)


ARCHIVE_HEAD: Final = jobs.Job(JOB, waiting=waiting_archives, perform=archive_perform)


def _read(file: StoredFile, claimed: Claim) -> list[dict[str, object]]:
    bounds = Bounds(wall_s=60, cpu_s=20, memory_bytes=settings.CHECK_MEMORY_BYTES)
    with local_copy(file) as path:
        try:
            tables: list[dict[str, object]] = run_bounded(
                lambda: read_archive(path), bounds, is_wanted=claimed.renew, every_s=claimed.renew_every_s
            )
        except OverBounds as error:
            log.info("archive_head_over_bounds", sha256=file.pk, what=error.what)
            return []
    return tables


def read_archive(path: Path) -> list[dict[str, Any]]:
    """The first tables of a zip by name, each from its first bytes; none of a damaged archive."""
    try:
        names = sorted(check_directory(path, limits=RESOURCE_LIMITS, what="The file"))
    except InvalidFile:
        return []
    tables = [name for name in names if separator_by_name(name) is not None]
    with zipfile.ZipFile(path) as archive:
        heads = (_head(archive, name) for name in tables[:MOST_TABLES])
        return [asdict(head) for head in heads if head is not None]


def _head(archive: zipfile.ZipFile, name: str) -> TableHead | None:
    try:
        with archive.open(name) as member:
            head = member.read(HEAD_BYTES)
    except DAMAGED:
        return None
    return parse_head(head, separator_by_name(name) or ",", printable(name))


def archive_heads(resources: Iterable[Resource]) -> Mapping[str, list[TableHead]]:
    """The tables of zips that were read, by digest of the file; one query, if any of these is a zip."""
    digests = [
        resource.file_id
        for resource in resources
        if resource.kind in SHOWN_KINDS and resource.file_name.lower().endswith(".zip")
    ]
    rows = ArchiveHead.objects.filter(sha256__in=digests, is_read=True) if digests else ArchiveHead.objects.none()
    return {row.sha256: [TableHead(**table) for table in row.tables] for row in rows}
