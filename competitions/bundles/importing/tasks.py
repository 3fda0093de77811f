"""A single task: a zip with a `task.yaml` that names programs and data, as zips inside or by key."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Task
from competitions.catalog.organizers import require_host
from competitions.resources.models import Resource, StoredFile
from competitions.resources.storage import store_path
from competitions.resources.versions import require_room
from core.refusals import InvalidFile
from files.archives import check_zip
from files.bundles.archive import LIMITS, open_bundle
from files.bundles.document import Document, DocumentReader, read_document
from files.bundles.faults import InvalidBundle, Report, invalid
from files.bundles.reader import command_fault, is_key
from files.bundles.schema import TASK_FILES

TASK_YAML: Final = "task.yaml"
KNOWN: Final = {"name", "description", "is_public", "ingestion_only_during_scoring", *TASK_FILES}


def task_import(*, source: Path, owner: User, record: Callable[[Task], None] = lambda task: None) -> Task:
    """Make a task of the zip or folder, all of it or nothing; it belongs to no competition yet.

    `record` is called inside the transaction that makes it; if it raises, nothing was made.
    Raises `HostsOnly`, or `InvalidBundle` with every fault.
    """
    require_host(owner)
    with open_bundle(source) as files, tempfile.TemporaryDirectory() as scratch:
        path = files.folder / TASK_YAML
        if not path.is_file():
            raise invalid(f"There is no {TASK_YAML} at the top level of the zip.", file=TASK_YAML)
        reader = _TaskReader(read_document(path, TASK_YAML), files, owner)
        reader.check()
        require_room(owner, sum(part.stat().st_size for part in files.folder.rglob("*") if part.is_file()))
        parts = reader.store(Path(scratch))
        with transaction.atomic():
            task = reader.create(parts)
            record(task)
    return task


class _TaskReader(DocumentReader):
    """One `task.yaml`: what it says, what it names, and its faults."""

    def __init__(self, document: Document, files: Any, owner: User) -> None:
        self.document, self.files, self.owner = document, files, owner
        self.report = Report(faults=list(document.faults))
        self.data: dict[str, Any] = document.data if isinstance(document.data, dict) else {}
        self.existing: dict[str, Resource] = {}

    def check(self) -> None:
        """Raise `InvalidBundle` unless everything is there."""
        for name in ("name", "description"):
            if not isinstance(self.data.get(name), str) or not self.data[name].strip():
                self.add_fault((name,), f"`{name}` is missing; give it as text")
        if self.data.get("scoring_program") is None:
            self.add_fault((), "`scoring_program` is missing; give it a `zip` or a `key`")
        for key in self.data:
            if key not in KNOWN:
                self.add_warning((key,), "the key is not known here and is left out")
        for name in TASK_FILES:
            if self.data.get(name) is not None:
                self._part(name, self.data[name])
        if self.report.faults:
            raise InvalidBundle(self.report)

    def _part(self, name: str, part: Any) -> None:
        if not isinstance(part, dict) or not ({"key", "zip"} & set(part)):
            self.add_fault((name,), "must be a mapping with a `zip` of this archive or the `key` of a dataset")
        elif part.get("key") is not None:
            self._key(name, str(part["key"]))
        else:
            self._zip(name, str(part["zip"]))

    def _key(self, name: str, key: str) -> None:
        resource = Resource.objects.usable_by(self.owner).filter(key=key, kind=name).first() if is_key(key) else None
        if resource is None:
            self.add_fault(
                (name, "key"), f"there is no {Resource.Kind(name).label} with the key {key!r} that you may use"
            )
        else:
            self.existing[name] = resource

    def _zip(self, name: str, relative: str) -> None:
        where = (name, "zip")
        path = self.files.file(relative)
        if path is None or not relative.endswith(".zip"):
            self.add_fault(where, f"the archive has no zip {relative[:200]!r}")
            return
        try:
            check_zip(path, limits=LIMITS, what=f"The file {relative!r}")
        except InvalidFile as error:
            self.add_fault(where, error.detail)
            return
        if name.endswith("program") and (missing := command_fault(self.files, relative)):
            self.add_warning(where, missing)

    def store(self, scratch: Path) -> dict[str, tuple[StoredFile, str]]:
        """Store the files of the archive, before the transaction of the rows; with names, by kind."""
        parts = {}
        for name in TASK_FILES:
            if self.data.get(name) is not None and name not in self.existing:
                path, file_name = self.files.zip_part(str(self.data[name]["zip"]), scratch)
                parts[name] = store_path(path), file_name
        return parts

    def create(self, parts: dict[str, tuple[StoredFile, str]]) -> Task:
        """The task's rows. Everything has been checked and stored."""
        own = {name: self._resource(name, *part) for name, part in parts.items()}
        return Task.objects.create(
            owner=self.owner,
            name=self.data["name"][:256],
            description=self.data["description"],
            is_public=self.data.get("is_public") is True,
            ingestion_only_during_scoring=self.data.get("ingestion_only_during_scoring") is True,
            **self.existing,
            **own,
        )

    def _resource(self, name: str, file: StoredFile, file_name: str) -> Resource:
        label = f"{self.data['name']}: {Resource.Kind(name).label}"[:200]
        return Resource.objects.create(owner=self.owner, kind=name, name=label, file=file, file_name=file_name)
