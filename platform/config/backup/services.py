"""`backup` and `restore`: the tables at one moment, the files they name, and a list to check both."""

import gzip
import json
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from competitions.resources.models import StoredFile, Upload
from competitions.resources.orphans import removals_held
from competitions.resources.storage import local_copy, store_path
from config.backup import tables as t
from config.backup.archive import (
    FORMAT,
    MANIFEST,
    TABLES,
    Broken,
    Manifest,
    Place,
    Table,
    opened,
    read_lines,
    read_manifest,
    remaining_sha256,
)

OBJECTS = "objects"


class CannotRestore(Exception):
    """This site is not one that the backup can go into; the message says what would be right."""


@dataclass(frozen=True)
class Kept:
    """The size of a backup."""

    rows: int
    files: int
    file_bytes: int


def backup(path: Path, *, now: datetime) -> Kept:
    """Write a backup of this site while it goes on running.

    Objects never change, are written before their rows, and are not removed until the backup is done.
    """
    with removals_held(), opened(path, "w") as place, tempfile.TemporaryDirectory() as name:
        with t.one_moment():
            described = {model._meta.db_table: _put_table(place, model, Path(name)) for model in t.tables()}
            files = dict(StoredFile.objects.order_by("sha256").values_list("sha256", "size_bytes"))
            applied = t.migrations()
        for sha256 in files:
            _put_object(place, sha256)
        manifest: Manifest = {
            "format": FORMAT,
            "made_at": now.isoformat(),
            "migrations": applied,
            "tables": described,
            "objects": files,
        }
        written = Path(name) / MANIFEST
        written.write_text(json.dumps(manifest, indent=1))
        place.put(MANIFEST, written)  # from now on this is the backup, and not the one before
        place.keep_only(TABLES, {table["part"] for table in described.values()})
    return Kept(sum(table["rows"] for table in described.values()), len(files), sum(files.values()))


def _put_table(place: Place, model: type[Any], folder: Path) -> Table:
    packed = folder / "table.jsonl.gz"
    with gzip.open(packed, "wt", encoding="utf-8", newline="\n") as sink:
        lines = (_write_line(sink, line) for line in t.table_lines(model))
        rows, digest = t.digest_of_lines(lines)
    part = f"{TABLES}/{model._meta.db_table}-{digest[:16]}.jsonl.gz"
    place.put(part, packed)
    columns = [str(field.column) for field in t.kept_fields(model)]
    return {"part": part, "rows": rows, "sha256": digest, "columns": columns}


def _write_line(sink: Any, line: str) -> str:
    sink.write(line + "\n")
    return line


def _put_object(place: Place, sha256: str) -> None:
    name = f"{OBJECTS}/{sha256}"
    if not place.has(name):
        with local_copy(StoredFile(sha256=sha256)) as path:
            place.put(name, path)


def restore(path: Path) -> Kept:
    """Fill this empty site from a backup, and compare it with the backup afterwards.

    Raises `CannotRestore` where the site has accounts already, or other migrations than the backup's; `Broken` where a
    part of the backup is missing or damaged. The database is then as it was.
    """
    with opened(path, "r") as place:
        manifest = read_manifest(place)
        _require_fit(manifest)
        for sha256 in manifest["objects"]:
            _take_object(place, sha256)
        with transaction.atomic():
            t.empty_all()
            for model in t.tables():
                if described := manifest["tables"].get(model._meta.db_table):
                    t.insert(model, read_lines(place, described["part"]))
            t.reset_sequences()
            compare(manifest)
            Upload.objects.filter(file=None).delete()  # their parts are in no backup
    rows = sum(table["rows"] for table in manifest["tables"].values())
    return Kept(rows, len(manifest["objects"]), sum(manifest["objects"].values()))


def _require_fit(manifest: Manifest) -> None:
    if get_user_model().objects.exists():
        raise CannotRestore(
            "This site has accounts already. Restore into an empty one: a new database, then `migrate`."
        )
    here, there = set(t.migrations()), set(manifest["migrations"])
    if here != there:
        differing = ", ".join(sorted(here ^ there)[:5])
        raise CannotRestore(
            f"This site's migrations are not those of the backup (they differ in {differing}). "
            "Restore with the release that made it, then upgrade."
        )


def _take_object(place: Place, sha256: str) -> None:
    with tempfile.NamedTemporaryFile() as copy:
        with place.open(f"{OBJECTS}/{sha256}") as source:
            while chunk := source.read(1 << 20):
                copy.write(chunk)
        copy.flush()
        with Path(copy.name).open("rb") as written:
            if remaining_sha256(written) != sha256:
                raise Broken(f"the file {sha256} in the backup is damaged")
        store_path(Path(copy.name))


def compare(manifest: Manifest) -> None:
    """Raise `Broken` unless every table has exactly the rows that the manifest lists."""
    for model in t.tables():
        promised = manifest["tables"].get(model._meta.db_table)
        rows, digest = t.digest_of_lines(t.table_lines(model))
        if promised is None or (rows, digest) != (promised["rows"], promised["sha256"]):
            raise Broken(
                f"the table {model._meta.db_table} came to {rows} rows that are not the"
                f" {promised['rows'] if promised else 0} of the backup"
            )
