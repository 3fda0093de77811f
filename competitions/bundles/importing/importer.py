"""Making a competition from a bundle, or as a clone: all of it or nothing, with a report."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.models import User
from competitions.bundles.importing.creation import Maker
from competitions.bundles.importing.rows import Part, References
from competitions.bundles.unpacking import sample_fault
from competitions.bundles.writer import bundle_write
from competitions.catalog.models import Competition, ImageUpload
from competitions.catalog.texts.images import IMAGES_FULL, MAX_IMAGES, image_encode
from competitions.compute.models import Queue
from competitions.resources.models import StoredFile
from competitions.resources.orphans import mark_unneeded
from competitions.resources.storage import digest_and_size, store_path
from competitions.resources.versions import require_room
from files.bundles.archive import BundleFiles, open_bundle
from files.bundles.faults import InvalidBundle, Report
from files.bundles.images import BundleImages
from files.bundles.reader import BundleReader
from files.bundles.samples import read_samples
from files.bundles.schema import PHASE_FILES, TASK_FILES

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Imported:
    """The new competition, a draft of its owner, and the report."""

    competition: Competition
    report: Report


def bundle_import(
    *,
    source: Path,
    owner: User,
    now: datetime,
    name: str = "",
    queue: Queue | None = None,
    progress: Progress = lambda step: None,
    record: Callable[[Imported], None] = lambda imported: None,
    reads_samples: bool = True,
) -> Imported:
    """Import a bundle from a zip or a folder for its new organizer. `name` is the zip's, for messages.

    Without a `queue` it is the one that the bundle names, else `default`. Raises `InvalidBundle` with every fault at
    once; then nothing was created. Files are stored before the one transaction that makes the rows, so that it is short;
    if that fails they are marked for removal, unless something else has the same content. `record` is called inside that
    transaction, so that what it writes is there exactly when the competition is; if it raises, nothing was created. `reads_samples`:
    sample submissions of tables are read by their schema, which a copy of what is here already needs no more.
    """
    progress("Unpacking")
    with open_bundle(source, name=name) as files, tempfile.TemporaryDirectory() as scratch:
        progress("Reading")
        reader = BundleReader(files)
        references = References(reader, owner=owner, queue=queue)
        references.look_up()
        if reads_samples:
            read_samples(reader, sample_fault)
        reader.valid_spec()
        require_room(owner, new_bytes(files))
        stored = stored_parts(reader, references, Path(scratch), progress)
        try:
            progress("Creating")
            with transaction.atomic():
                imported = Imported(Maker(reader, references, owner, stored).competition(now), reader.report)
                record(imported)
        except BaseException as error:
            forget_parts(stored, now)
            if isinstance(error, ValidationError):
                raise schema_refusal(reader, error) from error
            raise
    return imported


def forget_parts(stored: dict[str, Part], now: datetime) -> None:
    """Remove files that were stored for a failed import, unless something else has the same content."""
    new = [part.file.pk for part in stored.values() if part.is_new]
    shown = [image for part in stored.values() for image, _ in part.encoded.values()]
    new += [file.pk for image in shown for file in image.values() if isinstance(file, StoredFile)]
    mark_unneeded(StoredFile.objects.filter(pk__in=new), now=now)


def schema_refusal(reader: BundleReader, error: ValidationError) -> InvalidBundle:
    """Faults that the site's own rules find and the bundle's rules do not."""
    for name, messages in getattr(error, "message_dict", {"": error.messages}).items():
        where = (name,) if name and name != "__all__" else ()
        reader.report.faults += [reader.document.note(where, text) for text in messages]
    return InvalidBundle(reader.report)


def new_bytes(files: BundleFiles) -> int:
    """At most so much room the bundle's files will take: what is there twice, or already, counts too."""
    return sum(path.stat().st_size for path in files.folder.rglob("*") if path.is_file())


def stored_parts(reader: BundleReader, references: References, scratch: Path, progress: Progress) -> dict[str, Part]:
    """Every file that the bundle names and holds, once; images are encoded, too. Raises `IMAGES_FULL`."""
    spec, files = reader.valid_spec(), reader.files
    named: list[str | None] = [*reader.usable_images.paths]
    named += [getattr(task, name) for task in spec.tasks if task.key is None for name in TASK_FILES]
    named += [getattr(phase, name) for phase in spec.phases for name in PHASE_FILES]
    named += [solution.path for solution in spec.solutions]
    names = sorted({name for name in named if name and files.exists(name)})
    stored: dict[str, Part] = {}
    for number, name in enumerate(names):
        progress(f"Storing {number + 1} of {len(names)}: {name}")
        path, file_name = files.zip_part(name, scratch)
        sha256, _ = digest_and_size(path)
        is_new = not StoredFile.objects.filter(sha256=sha256).exists()
        stored[name] = Part(store_path(path, sha256=sha256), file_name, is_new)
    if len(reader.usable_images.files) > MAX_IMAGES:
        raise IMAGES_FULL()
    for place, name in _image_places(reader.usable_images):
        progress(f"Encoding {name}")
        part = stored[name]
        is_shown = references.live is not None and getattr(references.live, place, None) == part.file
        part.encoded[place] = ({"file": part.file}, "") if is_shown else image_encode(place, part.file)
    return stored


def _image_places(images: BundleImages) -> Iterator[tuple[ImageUpload.Place, str]]:
    """The places of images, with the path of the image that is shown there."""
    places = ImageUpload.Place
    yield from ((place, path) for place, path in ((places.LOGO, images.logo), (places.COVER, images.cover)) if path)
    yield from ((places.PAGE, path) for path in sorted(set(images.files.values())))


def competition_clone(
    *,
    competition: Competition,
    by: User,
    now: datetime,
    progress: Progress = lambda step: None,
    record: Callable[[Imported], None] = lambda imported: None,
) -> Competition:
    """Clone a competition as a draft of `by`, without participants. Its files take no more room."""
    with tempfile.TemporaryDirectory() as folder:
        path = bundle_write(competition=competition, target=Path(folder) / "clone.zip", with_files=True, by=by)
        imported = bundle_import(
            source=path,
            owner=by,
            queue=competition.queue,
            now=now,
            progress=progress,
            record=record,
            reads_samples=False,
        )
    return imported.competition
