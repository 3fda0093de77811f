"""Reading a bundle folder: its YAML checked against the schema, its paths kept inside it, all faults at once."""

import zipfile
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from competitions.bundles.schema import CompetitionSpec
from competitions.refusals import Refusal

YAML_NAME = "competition.yaml"
ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the same folder gives the same bytes, so it is stored once


class InvalidBundle(Refusal):
    """`extra["faults"]` lists every fault; nothing was created."""

    code, http_status = "invalid_bundle", 422

    def __init__(self, faults: list[str]) -> None:
        super().__init__(
            "The bundle cannot be imported:\n" + "\n".join(f"- {fault}" for fault in faults), faults=faults
        )


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML's safe loader that refuses a key given twice instead of keeping the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = key_node.value
            if key in seen:
                raise InvalidBundle(
                    [f"{YAML_NAME}, line {key_node.start_mark.line + 1}: the key {key!r} is given twice."]
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


class BundleReader:
    """A bundle in a folder. Raises `InvalidBundle` with all faults of its YAML and all missing files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.spec = self._read_spec()
        faults = list(self._faults_of_references())
        if faults:
            raise InvalidBundle(faults)

    def _read_spec(self) -> CompetitionSpec:
        path = self.folder / YAML_NAME
        if not path.is_file():
            raise InvalidBundle([f"There is no {YAML_NAME} at the top level of the bundle."])
        try:
            raw = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=_UniqueKeyLoader)  # a SafeLoader
            return CompetitionSpec.model_validate(raw)
        except yaml.YAMLError as error:
            raise InvalidBundle([f"{YAML_NAME} is not valid YAML: {error}"]) from error
        except ValidationError as error:
            raise InvalidBundle([_fault(item) for item in error.errors()]) from error

    def _faults_of_references(self) -> Iterator[str]:
        """Missing files, and numbers that point at nothing."""
        for where, relative in self._named_paths():
            if not self.path(relative).exists():
                yield f"{YAML_NAME}, {where}: the bundle has no {relative!r}."
        indexes = [task.index for task in self.spec.tasks]
        if len(set(indexes)) < len(indexes):
            yield f"{YAML_NAME}, tasks: two tasks have the same index."
        for number, phase in enumerate(self.spec.phases):
            for index in phase.tasks:
                if index not in indexes:
                    yield f"{YAML_NAME}, phases[{number}].tasks: there is no task with index {index}; there are {indexes}."

    def _named_paths(self) -> Iterator[tuple[str, str]]:
        yield "terms", self.spec.terms
        if self.spec.image:
            yield "image", self.spec.image
        for number, page in enumerate(self.spec.pages):
            yield f"pages[{number}].file", page.file
        named: list[tuple[str, object, tuple[str, ...]]] = [
            *((f"tasks[{n}]", task, ("scoring_program", "ingestion_program", "input_data", "reference_data"))
              for n, task in enumerate(self.spec.tasks)),
            *((f"phases[{n}]", phase, ("public_data", "starting_kit")) for n, phase in enumerate(self.spec.phases)),
        ]  # fmt: skip
        for where, part, names in named:
            for name in names:
                if (relative := getattr(part, name)) is not None:
                    yield f"{where}.{name}", relative

    def path(self, relative: str) -> Path:
        """A path of the bundle. Raises `InvalidBundle` when it leads outside."""
        path = (self.folder / relative).resolve()
        if not path.is_relative_to(self.folder):
            raise InvalidBundle([f"{YAML_NAME}: the path {relative!r} leads outside the bundle."])
        return path

    def text(self, relative: str) -> str:
        return self.path(relative).read_text(encoding="utf-8-sig")

    def zipped(self, relative: str, into: Path) -> tuple[Path, str]:
        """A zip of a folder of the bundle, or a file of it as it is; returns path and download name."""
        path = self.path(relative)
        if path.is_file():
            return path, path.name
        target = into / f"{relative.strip('/').replace('/', '-')}.zip"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(path.rglob("*")):
                if file.is_file() and not file.is_symlink() and "__pycache__" not in file.parts:
                    info = zipfile.ZipInfo(str(file.relative_to(path)), ZIP_TIME)
                    info.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(info, file.read_bytes())
        return target, target.name


def _fault(item: Any) -> str:
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in item["loc"]).lstrip(".")
    return f"{YAML_NAME}, {where or 'top level'}: {item['msg']} (found {str(item['input'])[:80]!r})"
