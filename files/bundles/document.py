"""A YAML text as plain data, with lines; repeated keys are faults, and dates stay text."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from files.bundles.faults import YAML_NAME, Note, Report, Where, dotted, invalid
from files.bundles.schema import PHASE_FILES, TASK_FILES

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_NODES: Final = 200_000  # after aliases are followed: a few lines of them can stand for gigabytes
MAX_DEPTH: Final = 60
TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"
MERGE: Final = "tag:yaml.org,2002:merge"
TEXT: Final = "tag:yaml.org,2002:str"
NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
FILES: Final = frozenset((*TASK_FILES, *PHASE_FILES, "terms", "image", "file", "cover"))  # keys whose values name files
LAST_WINS: Final = ("solutions",)  # given twice in bundles that are in use, and nothing rests on it


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, except that a date stays text: its time and offset are read later."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass
class Document:
    """The data, and where each part of it stands."""

    data: Any
    lines: dict[Where, int] = field(default_factory=dict)
    faults: list[Note] = field(default_factory=list)
    warnings: list[Note] = field(default_factory=list)
    name: str = YAML_NAME

    def line(self, where: Where) -> int | None:
        """The line of this place, or of the nearest one around it."""
        for end in range(len(where), -1, -1):
            if (line := self.lines.get(where[:end])) is not None:
                return line
        return None

    def note(self, where: Where, message: str) -> Note:
        return Note(message, path=dotted(where), line=self.line(where), file=self.name)


class DocumentReader:
    """Base of what reads a document: a remark on a place in it goes to the report."""

    document: Document
    report: Report

    def add_fault(self, where: Where, message: str) -> None:
        self.report.faults.append(self.document.note(where, message))

    def add_warning(self, where: Where, message: str) -> None:
        self.report.warnings.append(self.document.note(where, message))


def read_document(path: Path, name: str = YAML_NAME) -> Document:
    """Read a YAML file of a bundle, with its faults. Raises `InvalidBundle` when it is not YAML at all."""
    if path.stat().st_size > MAX_BYTES:
        raise invalid(f"The file is larger than {MAX_BYTES:,} bytes. Keep data in files beside it.", file=name)
    return parse_document(_decode(path.read_bytes(), name), name)


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise invalid(
            f"The byte 0x{content[error.start]:02x} is not UTF-8 text. Save the file in the encoding UTF-8.",
            file=name,
            line=line,
        ) from error


def parse_document(text: str, name: str = YAML_NAME) -> Document:
    """Parse a YAML text. Raises `InvalidBundle` with the line where it stops being YAML."""
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        builder = _Builder(loader, Document(None, name=name))
        builder.document.data = builder.build(root, (), 0) if root is not None else None
    except yaml.YAMLError as error:
        raise _no_yaml(error, name) from error
    except RecursionError as error:
        raise invalid("The YAML is nested too deeply to be read.", file=name) from error
    finally:
        if loader is not None:
            loader.dispose()
    return builder.document


def _no_yaml(error: yaml.YAMLError, name: str) -> Exception:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    hint = " Indent with blanks, not with tabs." if "\\t" in str(problem) else ""
    if "mapping values are not allowed" in str(problem):
        hint = ' Put a text that contains a colon in quotes, such as title: "Molecules: energy", and check the indentation.'
    line = mark.line + 1 if mark is not None else None
    return invalid(f"This is not valid YAML: {' '.join(str(problem).split())[:300]}.{hint}", file=name, line=line)


class _Builder:
    """Turns YAML's nodes into plain data, noting lines on the way."""

    def __init__(self, loader: _Loader, document: Document) -> None:
        self.loader, self.document = loader, document
        self.nodes = 0
        self.open: set[int] = set()  # nodes being built: an alias to one of them would never end

    def build(self, node: yaml.Node, where: Where, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH or id(node) in self.open:
            raise yaml.MarkedYAMLError(
                problem="too many or too deep values (are there aliases that contain each other?)",
                problem_mark=node.start_mark,
            )
        self.document.lines.setdefault(where, node.start_mark.line + 1)
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, where, depth)
            if isinstance(node, yaml.SequenceNode):
                return [self.build(item, (*where, number), depth + 1) for number, item in enumerate(node.value)]
            return self._scalar(node)
        finally:
            self.open.discard(id(node))

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            return self.loader.construct_object(node, deep=True)
        except ValueError as error:  # a number of thousands of digits
            raise yaml.MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from error

    def _mapping(self, node: yaml.MappingNode, where: Where, depth: int) -> dict[str, object]:
        mapping: dict[str, object] = {}
        merged: dict[str, object] = {}
        for key_node, value_node in node.value:
            if key_node.tag == MERGE:
                merged |= self._merge(value_node, where, depth)
                continue
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else str(key_node.value)
            place = (*where, key)
            if key in mapping:
                self._twice(key, key_node, place)
            self.document.lines[place] = key_node.start_mark.line + 1
            if key in FILES and value_node.tag in NUMBERS:
                value_node.tag = TEXT  # a folder may be called 007
            mapping[key] = self.build(value_node, place, depth + 1)
        return merged | mapping

    def _merge(self, node: yaml.Node, where: Where, depth: int) -> dict[str, object]:
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        values = [self.build(part, where, depth + 1) for part in parts]
        return {key: value for part in reversed(values) if isinstance(part, dict) for key, value in part.items()}

    def _twice(self, key: str, node: yaml.Node, place: Where) -> None:
        first, line = self.document.lines.get(place), node.start_mark.line + 1
        message = f"the key {key!r} is given twice (first on line {first})"
        if key in LAST_WINS:
            note = Note(f"{message}; the last one is read.", dotted(place), line, self.document.name)
            self.document.warnings.append(note)
        else:
            note = Note(f"{message}. Keep one of them.", dotted(place), line, self.document.name)
            self.document.faults.append(note)
