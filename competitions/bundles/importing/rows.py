"""Rows of a bundle: stored files, existing rows to change, new ones, and the site's own, by key."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic

from accounts.models import User
from competitions.catalog.models import Competition, ImageUpload, Task
from competitions.catalog.queue_rights import task_fault
from competitions.catalog.texts.images import Encoded
from competitions.compute.models import Queue
from competitions.resources.models import Resource, StoredFile
from core.refusals import Refusal
from core.rows import RowT
from files.bundles.faults import Where
from files.bundles.reader import BundleReader, is_key
from files.bundles.schema import PHASE_FILES, TASK_FILES, CompetitionSpec


class Existing(Generic[RowT]):
    """Rows that are there already, each taken once, by the value of one field."""

    def __init__(self, rows: Iterable[RowT], field: str) -> None:
        self._rows: dict[Hashable, list[RowT]] = defaultdict(list)
        for row in rows:
            self._rows[getattr(row, field)].append(row)

    def take(self, value: Hashable, otherwise: RowT) -> RowT:
        """The first row with this value, else the other one, which is new."""
        return self._rows[value].pop(0) if self._rows[value] else otherwise

    def remove_others(self) -> None:
        """Delete the rows that were not taken."""
        for rows in self._rows.values():
            for row in rows:
                row.delete()


def fill(row: RowT, **fields: Any) -> RowT:
    """Give the row these values, without saving it."""
    for name, value in fields.items():
        setattr(row, name, value)
    return row


def write(row: RowT, *, is_checked: bool = True, **fields: Any) -> RowT:
    """Set these values and save the row if any differs. Raises `ValidationError` from its model."""
    if row.pk and all(getattr(row, name) == value for name, value in fields.items()):
        return row
    fill(row, **fields)
    if is_checked:
        row.full_clean()
    row.save()
    return row


@dataclass(frozen=True)
class Part:
    """A stored file, its name for downloads, and if its content was new to the site.

    `encoded`: what pages show of an image, by its places.
    """

    file: StoredFile
    file_name: str
    is_new: bool
    encoded: dict[ImageUpload.Place, Encoded] = field(default_factory=dict)


DEFAULT_QUEUE = "default"


class NoSuchQueue(Refusal):
    code, http_status = "no_such_queue", 422

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(
            f"There is no queue {name!r} here that you may use; there are {', '.join(known) or 'none'}. Name one of them."
        )


def queue_named(name: str, user: User) -> Queue:
    """The queue of this name, in any case of letters, that the organizer may use. Raises `NoSuchQueue`."""
    usable = Queue.objects.usable_by(user)
    queue = usable.filter(name=name.strip().lower()).first()
    if queue is None:
        raise NoSuchQueue(name, usable.values_list("name", flat=True)[:10])
    return queue


class References:
    """The rows behind a bundle's keys; faults go into its report. `live`: the competition to change."""

    def __init__(
        self, reader: BundleReader, *, owner: User, queue: Queue | None, live: Competition | None = None
    ) -> None:
        self.reader, self.owner, self.live = reader, owner, live
        self.queue = queue
        self.resources: dict[tuple[str, str], Resource] = {}  # by key and kind
        self.tasks: dict[str, Task] = {}  # by key

    def look_up(self) -> None:
        """Find everything, or say what is not there. Does nothing for a bundle that could not be read."""
        spec = self.reader.spec
        if spec is None:
            return
        self._slug(spec)
        self._queue(spec)
        for task in spec.tasks:
            if task.key is not None:
                self._task(task.key, (*task.where, "key"))
                continue
            for name in TASK_FILES:
                self._resource(getattr(task, name), name, (*task.where, name))
        for phase in spec.phases:
            for name in PHASE_FILES:
                self._resource(getattr(phase, name), name, (*phase.where, name))

        for solution in spec.solutions:
            self._resource(
                solution.reference, Resource.Kind.SOLUTION, (*solution.where, "path" if solution.path else "key")
            )

    def _slug(self, spec: CompetitionSpec) -> None:
        slug = spec.podium.slug
        others = Competition.objects.exclude(pk=self.live.pk) if self.live else Competition.objects.all()
        if slug and others.filter(slug=slug).exists():
            self.reader.add_fault(("podium", "slug"), f"a competition with the slug {slug!r} exists; give another one")

    def _queue(self, spec: CompetitionSpec) -> None:
        if self.queue is not None:
            return
        usable = Queue.objects.usable_by(self.owner)
        if self.live is not None and spec.queue in (None, "", self.live.queue.name):
            self.queue = self.live.queue
            return
        if spec.queue:
            try:
                self.queue = queue_named(spec.queue, self.owner)
            except NoSuchQueue as refusal:
                self.reader.add_fault(("queue",), f"{refusal} Remove the line, or choose a queue when you import")
            return
        shared = usable.filter(owner=None)
        self.queue = shared.filter(name=DEFAULT_QUEUE).first() or shared.first() or usable.first()
        if self.queue is None:
            self.reader.add_fault(
                (), "this site has no queue that you may use; make one first, or ask its administrators"
            )

    def _task(self, key: str, where: Where) -> None:
        if not is_key(key):
            return  # said already
        usable = Task.objects.usable_by(self.owner)
        if self.live is not None:  # what it uses already may stay
            usable = usable | Task.objects.filter(pk__in=self.live.phases.values("tasks"))
        task = usable.filter(key=key).first()
        if task is None:
            self.reader.add_fault(where, f"there is no task with the key {key} that you may use")
        elif self.live is None and self.queue is not None and (fault := task_fault(task, self.queue)):
            self.reader.add_fault(where, fault)
        else:
            self.tasks[key] = task

    def _resource(self, reference: str | None, kind: str, where: Where) -> None:
        """A value that is not a file of the bundle but a key."""
        if reference is None or self.reader.files.exists(reference) or not is_key(reference):
            return
        resource = Resource.objects.usable_by(self.owner).filter(key=reference).first()
        if resource is None:
            self.reader.add_fault(where, f"there is no dataset with the key {reference} that you may use")
        elif resource.kind != kind:
            self.reader.add_fault(
                where, f"the dataset {reference} is {resource.get_kind_display()}, not {Resource.Kind(kind).label}"
            )
        else:
            self.resources[reference, kind] = resource
