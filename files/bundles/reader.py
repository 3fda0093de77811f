"""Reading a bundle without a database: its shape, its YAML, its files; all faults at once."""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any, Final, get_args
from uuid import UUID

from pydantic import ValidationError

from files.archives import check_zip
from files.bundles.archive import LIMITS, BundleFiles, is_too_long
from files.bundles.codalab import Legacy, is_legacy
from files.bundles.document import Document, DocumentReader, read_document
from files.bundles.error_messages import error_sentence
from files.bundles.faults import InvalidBundle, Note, Report, Where
from files.bundles.images import BundleImages
from files.bundles.rules import remarks, rule_faults
from files.bundles.schema import IGNORED, PHASE_FILES, TASK_FILES, CompetitionSpec, Spec
from files.refusals import InvalidFile
from files.text import is_placeholder
from workers.protocol.files.plain_yaml import MAX_METADATA_BYTES, METADATA_NAMES, NotPlainYaml, read_plain_yaml

VERSIONS: Final = {"2": "2", "2.0": "2", "1": "1.5", "1.0": "1.5", "1.5": "1.5", "1.8": "1.8"}
KEY_LIKE: Final = re.compile(r"\A[0-9a-fA-F-]{32,40}\Z")
PAGE: Final = "a Markdown or HTML file"
# What names files, by kind of part; "" is the competition itself.
NAMED: Final = {
    "": ("terms", "image"),
    "pages": ("file",),
    "tasks": TASK_FILES,
    "phases": PHASE_FILES,
    "images": ("file",),
    "solutions": ("path",),
    "podium": ("cover",),
}
Part = tuple[str, Where, Mapping[str, object]]  # kind, place, values by key
# Where the parts of version 2 come from in the old shape.
LEGACY_PARTS: Final = {"leaderboards": "leaderboard.", "phases": "phases", "tasks": "phases", "pages": "html"}


class BundleReader(DocumentReader):
    """A bundle that was read. `report` has every fault; `spec` is None where no YAML could be read."""

    def __init__(self, files: BundleFiles) -> None:
        self.files = files
        self.report = Report()
        self.spec: CompetitionSpec | None = None
        self.images: BundleImages | None = None
        self.document = Document(None)
        try:
            self.document = read_document(files.yaml())
        except InvalidBundle as error:
            self.report.faults += error.report.faults
            return
        self.report.faults += self.document.faults
        self.report.warnings += self.document.warnings
        self._read()

    def valid_spec(self) -> CompetitionSpec:
        """The content of the bundle. Raises `InvalidBundle` with all faults."""
        if self.report.faults or self.spec is None:
            raise InvalidBundle(self.report)
        return self.spec

    @property
    def usable_images(self) -> BundleImages:
        """The images of a bundle that was read without faults."""
        assert self.images is not None, "read with the rest, or the bundle was refused"
        return self.images

    def _read(self) -> None:
        data = self.document.data
        if not isinstance(data, dict) or not data:
            description = "is empty" if not data else f"holds {'a list' if isinstance(data, list) else 'a text'}"
            self.add_fault(
                (), f"the file {description}; it must be a mapping of keys such as title, phases and leaderboards"
            )
            return
        legacy = is_legacy(data)
        self.report.shape = "1.5" if legacy else "2"
        self._version(data, legacy=legacy)
        raw = Legacy(self.document, self.report).spec() if legacy else self._second(data)
        self.report.title = str(raw.get("title") or "")[:256]
        self._validate(raw, legacy=legacy)

    def _version(self, data: dict[str, object], *, legacy: bool) -> None:
        version = data.get("version")
        if version is None:
            if not legacy:
                self.add_warning((), "there is no `version`; the keys are those of version 2, so it is read as that")
            return
        known = VERSIONS.get(str(version).strip())
        if known is None:
            self.add_fault(("version",), f"version {version!r} is not known; there are 2, and 1.5 or 1.8 of CodaLab")
        elif (known == "2") == legacy:
            self.add_warning(
                ("version",),
                f"version is {version}, but the keys are those of {'1.5' if legacy else '2'}, which is how it is read",
            )

    def _second(self, data: dict[str, object]) -> dict[str, object]:
        raw = dict(data)
        if "leaderboards" not in raw and isinstance(raw.get("leaderboard"), list):
            raw["leaderboards"] = raw.pop("leaderboard")
            self.add_warning(("leaderboard",), "the key is read as `leaderboards`, which is how it is spelt")
        if not raw.get("terms") and "version" not in data:
            raw["terms"] = None
            self.add_warning((), "there are no `terms`; write the rules before publishing")
        elif not raw.get("terms"):
            self.add_fault((), "`terms` is missing; name a file with the rules that participants accept")
        if not raw.get("image"):
            self.add_warning((), "there is no `image`; the competition gets no logo")
        self._strange(CompetitionSpec, raw, ())
        return raw

    def _strange(self, model: type[Spec], data: Any, where: Where) -> None:
        """Keys that the schema does not have: known ones that lead to nothing, and unknown ones."""
        if not isinstance(data, dict):
            return
        ignored = IGNORED.get(model, {})
        for key, value in data.items():
            place = (*where, key)
            if key in ignored:
                self.report.ignored.append(self.document.note(place, ignored[key]))
            elif key not in model.model_fields or key == "where":
                near = get_close_matches(key, [name for name in model.model_fields if name != "where"], n=1)
                hint = f"; is it `{near[0]}`?" if near else ""
                self.add_warning(place, f"the key {key!r} is not known here and is left out{hint}")
            else:
                self._strange_inside(model.model_fields[key].annotation, value, place)

    def _strange_inside(self, annotation: Any, value: Any, where: Where) -> None:
        inner = next(iter(_models_in(annotation)), None)
        if inner is None:
            return
        if isinstance(value, list):
            for number, item in enumerate(value):
                self._strange(inner, item, (*where, number))
        elif inner.__name__ == "QuestionSpec" and isinstance(value, dict):
            for key, item in value.items():
                self._strange(inner, item, (*where, key))
        else:
            self._strange(inner, value, where)

    def _validate(self, raw: dict[str, object], *, legacy: bool) -> None:
        try:
            spec = CompetitionSpec.model_validate(raw)
        except ValidationError as error:
            paths = [fault.path for fault in self.report.faults]
            for item in error.errors():
                old = LEGACY_PARTS.get(str(item["loc"][0])) if legacy and item["type"] == "too_short" else None
                if old is not None and any(path.startswith(old) for path in paths):
                    continue  # it is empty because of what was said of the old keys
                where = self._origin(raw, tuple(item["loc"]), legacy=legacy)
                note = self.document.note(where, error_sentence(item))
                if not any(fault.path == note.path and fault.line == note.line for fault in self.report.faults):
                    self.report.faults.append(note)
            self.report.faults += self._faults_of_files(_document_parts(raw))
            return
        _place(spec)
        self.spec = spec
        self.report.faults += rule_faults(spec, self.document, legacy=legacy)
        for task in spec.tasks:
            if task.key is not None:
                self._key(task.key, ("tasks", "key"))
        for solution in spec.solutions:
            if solution.path is None and solution.key is not None:
                self._key(solution.key, (*solution.where, "key"))
        self.report.faults += self._faults_of_files(_parts(spec))
        self.images = BundleImages(spec, self.files, self.document)
        notes = [*self._remarks_of_terms(spec), *self._remarks_of_pages(spec), *self.images.notes]
        self.report.warnings += [*remarks(spec, self.document), *notes]

    @staticmethod
    def _origin(raw: dict[str, object], loc: Where, *, legacy: bool) -> Where:
        """The place of a part of version 2's keys in an old document."""
        if not legacy:
            return loc
        at: Any = raw
        for depth, step in enumerate(loc):
            at = _below(at, step)
            if isinstance(at, dict) and "where" in at and depth + 1 < len(loc):
                inner = BundleReader._origin(at, loc[depth + 1 :], legacy=True)
                return inner if inner and inner[0] in ("phases", "leaderboard", "html") else (*at["where"], *inner)
        return loc

    def _faults_of_files(self, parts: Iterable[Part]) -> Iterator[Note]:
        """Paths that lead to nothing, or to what they cannot lead to."""
        known: dict[tuple[str, str], str] = {}
        for kind, where, values in parts:
            for name in NAMED[kind]:
                relative = values.get(name)
                if not isinstance(relative, str) or not relative:
                    continue
                place = self._file_place(kind, where, name)
                fault = self._missing(relative)
                if not fault and self.files.exists(relative):
                    if (kind, relative) not in known:
                        known[kind, relative] = self._content_fault(kind, name, relative)
                    fault = known[kind, relative]
                    is_program = kind == "tasks" and name.endswith("program")
                    if not fault and is_program and (missing := command_fault(self.files, relative)):
                        self.add_warning(place, missing)  # it scores nothing, and the first submission would fail
                if fault:
                    yield self.document.note(place, fault)

    def _file_place(self, kind: str, where: Where, name: str) -> Where:
        if name == "terms" and self.report.shape != "2":
            return ("html", "terms")
        return where if kind == "pages" and where[0] == "html" else (*where, name)

    def _content_fault(self, kind: str, name: str, relative: str) -> str:
        """A sentence on the fault of a file that is there; else empty."""
        if kind == "tasks":
            return self._fault_of_part(relative) or self._no_archive(relative)
        if kind in ("phases", "solutions"):
            return self._fault_of_part(relative)
        if name in ("image", "cover") or kind == "images":
            return self._folder_fault(relative, "a file")
        return self._terms_fault(relative) if name == "terms" else self._folder_fault(relative, PAGE)

    def _missing(self, relative: str) -> str:
        """A sentence on a path to nothing; empty when it leads to a file or folder, or may be a key."""
        if is_too_long(relative):
            return (
                f"{relative[:40]!r} is too long for a path; write such a text into a file of the bundle, and name that"
            )
        if self.files.path(relative) is None:
            return f"the path {relative!r} leads outside the bundle; name a file or folder in it"
        if self.files.exists(relative) or is_key(relative):
            return ""
        if KEY_LIKE.match(relative):
            return f"{relative!r} has {len(relative)} characters; the key of a dataset has 36, or name a file of the bundle"
        near = self.files.similar(relative)
        return f"the bundle has no {relative!r}" + (f"; there is {near!r}" if near else "")

    def _folder_fault(self, relative: str, right: str) -> str:
        return "" if self.files.file(relative) else f"{relative!r} is a folder; name {right}"

    def _terms_fault(self, relative: str) -> str:
        """The fault of the rules, as of a page; empty ones are accepted in CodaLab's old shape alone."""
        fault = self._folder_fault(relative, PAGE)
        if fault or self.report.shape != "2" or self.files.text(relative).strip():
            return fault
        return f"the file {relative!r} is empty; write the rules into it"

    def _remarks_of_terms(self, spec: CompetitionSpec) -> Iterator[Note]:
        if spec.terms and self.files.file(spec.terms) and is_placeholder(self.files.text(spec.terms)):
            message = f"the file {spec.terms!r} holds no rules, so nobody is asked to accept it; write the rules before publishing"
            yield self.document.note(self._file_place("", (), "terms"), message)
        if spec.terms and self.files.file(spec.terms) and (fault := self.files.wrong_byte(spec.terms)):
            yield self.document.note(self._file_place("", (), "terms"), f"the file {spec.terms!r}: {fault}")

    def _remarks_of_pages(self, spec: CompetitionSpec) -> Iterator[Note]:
        for page in spec.pages:
            if not self.files.file(page.file):
                continue
            where = page.where if page.where[0] == "html" else (*page.where, "file")
            if not self.files.text(page.file).strip():
                yield self.document.note(where, f"the file {page.file!r} is empty; write the page into it")
            if fault := self.files.wrong_byte(page.file):
                yield self.document.note(where, f"the file {page.file!r}: {fault}")

    def _fault_of_part(self, relative: str) -> str:
        """A program or dataset: a folder, or a zip that the worker can unpack."""
        path = self.files.path(relative)
        if path is None or path.is_dir():
            return "" if path is None or any(path.rglob("*")) else f"the folder {relative!r} is empty"
        if path.suffix.lower() != ".zip":
            return ""  # public data may be any file
        try:
            check_zip(path, limits=LIMITS, what=f"The file {relative!r}")
        except InvalidFile as error:
            return error.detail
        return ""

    def _no_archive(self, relative: str) -> str:
        """A sentence on a task's program or dataset that the worker cannot unpack; else empty."""
        path = self.files.path(relative)
        if path is None or path.is_dir() or zipfile.is_zipfile(path):
            return ""
        return f"{relative!r} is a single file that is not a zip; put it into a folder, and name the folder or a zip of what is in it"

    def _key(self, key: str, where: Where) -> None:
        if not is_key(key):
            self.add_fault(where, f"{key!r} is not a key; a key has 36 characters, such as 7f6e…-…")


def is_key(text: str) -> bool:
    """True for a UUID in its usual form of 36 characters."""
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def program_kind(path: Path) -> str:
    """The kind of a zip's metadata file: `command`, `metadata` without one, or empty."""
    files = BundleFiles(path.parent)
    if _metadata_text(files, path.name)[1] is None:
        return ""
    return "metadata" if command_fault(files, path.name) else "command"


def command_fault(files: BundleFiles, relative: str) -> str:
    """A sentence on why a program of the bundle cannot be run; empty when it has a command."""
    name, text = _metadata_text(files, relative)
    if text is None:
        what = f"the program {relative!r} has no metadata.yaml at its top level, so it cannot be run"
        return (
            f"{what}; there is {name!r}: pack what is in the folder"
            if name
            else f"{what}; add one with a line `command: ...`"
        )
    try:
        metadata = read_plain_yaml(text)
    except NotPlainYaml:
        return f"the file {name} of {relative!r} is not valid YAML, so the program cannot be run"
    if not isinstance(metadata, dict) or not metadata.get("command"):
        return f"the file {name} of {relative!r} has no line `command: ...`, so the program cannot be run"
    if not isinstance(metadata["command"], str):
        return f"the `command` in {name} of {relative!r} must be one line of text, so the program cannot be run"
    return ""


def _metadata_text(files: BundleFiles, relative: str) -> tuple[str, str | None]:
    """Name and text of a program's metadata file. Without a text it is one that lies too deep, or none."""
    path = files.path(relative)
    assert path is not None, "checked before"
    if path.is_dir():
        names = [file.relative_to(path).as_posix() for file in sorted(path.rglob("*")) if file.is_file()]
        name = next((name for name in METADATA_NAMES if name in names), None)
        return (_too_deep(names), None) if name is None else (name, _decode_start((path / name).read_bytes()))
    if not zipfile.is_zipfile(path):
        return "", None
    with zipfile.ZipFile(path) as archive:
        name = next((name for name in METADATA_NAMES if name in archive.namelist()), None)
        if name is None:
            return _too_deep(archive.namelist()), None
        with archive.open(name) as member:
            return name, _decode_start(member.read(MAX_METADATA_BYTES))


def _too_deep(names: list[str]) -> str:
    """A metadata file in a folder of its own, as it is where the folder was packed and not what is in it."""
    return next((name for name in names if PurePosixPath(name).name in METADATA_NAMES and "__MACOSX" not in name), "")


def _decode_start(content: bytes) -> str:
    return content[:MAX_METADATA_BYTES].decode("utf-8-sig", "replace")


def _place(spec: CompetitionSpec) -> None:
    """Remember where the parts stood, where the old shape has not said it already."""
    parts: list[tuple[str, list[Any]]] = [
        ("pages", spec.pages),
        ("tasks", spec.tasks),
        ("phases", spec.phases),
        ("leaderboards", spec.leaderboards),
        ("solutions", spec.solutions),
    ]
    for name, items in parts:
        for number, item in enumerate(items):
            item.where = item.where or (name, number)
    for number, image in enumerate(spec.podium.images):
        image.where = ("podium", "images", number)
    for phase in spec.phases:
        for number, board in enumerate(phase.podium.leaderboards or []):
            board.where = (*phase.where, "podium", "leaderboards", number)
    for board in [*spec.leaderboards, *(board for phase in spec.phases for board in phase.podium.leaderboards or [])]:
        for number, column in enumerate(board.columns):
            column.where = column.where or (*board.where, "columns", number)


def _parts(spec: CompetitionSpec) -> Iterator[Part]:
    """The parts that name files, with their places; those of a task known by key are on the site."""
    yield "", (), dict(spec)
    yield "podium", ("podium",), dict(spec.podium)
    for page in spec.pages:
        yield "pages", page.where, dict(page)
    for image in spec.podium.images:
        yield "images", image.where, dict(image)
    for task in spec.tasks:
        if task.key is None:
            yield "tasks", task.where, dict(task)
    for phase in spec.phases:
        yield "phases", phase.where, dict(phase)
    for solution in spec.solutions:
        yield "solutions", solution.where, dict(solution)


def _document_parts(raw: dict[str, object]) -> Iterator[Part]:
    """The same of a document that is not valid: missing files are said beside what else is wrong."""
    yield "", (), raw
    for kind in ("pages", "tasks", "phases"):
        items = raw.get(kind)
        for number, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict) and item.get("key") is None:
                yield kind, item.get("where") or (kind, number), item


def _models_in(annotation: Any) -> Iterator[type[Spec]]:
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _below(value: Any, step: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    return value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
