"""A competition's folder: the files that belong to it, and its memory of the site."""

import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from podium.errors import InvalidInput
from podium.files import is_left_out, write_whole, zip_name

YAML_NAME: Final = "competition.yaml"
STATE: Final = ".podium"
IMAGES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)


class _Loader(yaml.SafeLoader):
    """Reads each value as text: 2024 may be the name of a file, and 2026-09-31 is for the site to refuse."""


def _as_written(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


for _name in ("bool", "int", "float", "timestamp", "binary"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_name}", _as_written)


class Folder:
    """The folder, and `state`: site and version.

    The state is this checkout's alone, and not for git. Raises `InvalidInput` for a file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        if self.path.is_file():
            raise InvalidInput(f"{path} is a file. Name the folder of the competition: {path.parent}", code="no_folder")
        self._state_file = self.path / STATE / "state.json"
        self.state = _state_in(self._state_file)

    def remember(self, **state: Any) -> None:
        """Keep this beside what is known already."""
        self.state |= state
        self._state_file.parent.mkdir(exist_ok=True)
        (self._state_file.parent / ".gitignore").write_text("*\n")
        write_whole(self._state_file, json.dumps(self.state, indent=1))

    def known_version(self, site: str) -> str:
        """The version of the competition that the folder was made from; empty where that is not known."""
        return str(self.state.get("version", "")) if self.state.get("site") == site else ""

    @property
    def document(self) -> Any:
        """The content of `competition.yaml`, each value as text. Raises `InvalidInput`."""
        try:
            return yaml.load((self.path / YAML_NAME).read_text("utf-8-sig"), _Loader)
        except FileNotFoundError as error:
            raise InvalidInput(
                f"There is no {YAML_NAME} in {self.path}. Begin one: podium competition init."
            ) from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{self.path / YAML_NAME} cannot be read: {error}") from error

    @property
    def slug(self) -> str:
        """The address that the folder names. Raises `InvalidInput` where it names none."""
        document = self.document
        extra = document.get("podium") if isinstance(document, dict) else None
        slug = extra.get("slug") if isinstance(extra, dict) else None
        if not slug:
            raise InvalidInput(f"{YAML_NAME} names no address; write it as `podium: {{slug: my-competition}}`.")
        return str(slug)

    def files(self) -> dict[str, Path]:
        """The files to send: the YAML, the files that it names, and images for pages; no links."""
        files = {YAML_NAME: self.path / YAML_NAME}
        for text in sorted(_texts(self.document)):
            if (path := self._named_path(text)) is not None:
                files |= dict(self._inside(path))
        images = (path for path in self.path.rglob("*") if path.suffix.lower() in IMAGES)
        return files | {name: path for image in images for name, path in self._inside(image)}

    def _named_path(self, text: str) -> Path | None:
        """The file or folder inside this one that a text names; None where it names none."""
        try:
            path = (self.path / text).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # not there, too long for a name, links in a circle, a NUL
            return None
        return path if path != self.path and path.is_relative_to(self.path) else None

    def _inside(self, path: Path) -> Iterator[tuple[str, Path]]:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            relative = file.relative_to(self.path)
            if file.is_file() and not file.is_symlink() and not is_left_out(relative):
                yield zip_name(relative), file


def _state_in(path: Path) -> dict[str, object]:
    """The state; empty where the file is damaged, as in a checkout without one."""
    try:
        state = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _texts(document: Any) -> set[str]:
    """Every text in it; a value that is named again by an alias, perhaps inside itself, is read once."""
    texts: set[str] = set()
    seen: set[int] = set()
    values = [document]
    while values:
        value = values.pop()
        if isinstance(value, str):
            texts.add(value)
        elif id(value) not in seen:
            seen.add(id(value))
            values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return texts


def packed(folder: Path) -> bytes:
    """The folder as the site packs it: the same content gives the same bytes."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            relative = file.relative_to(folder)
            if file.is_file() and not file.is_symlink() and not is_left_out(relative):
                info = zipfile.ZipInfo(zip_name(relative), ZIP_TIME)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (0o755 if file.stat().st_mode & 0o111 else 0o644) << 16
                with archive.open(info, "w", force_zip64=True) as sink:
                    sink.write(file.read_bytes())
    return target.getvalue()


def unpack(archive: Path, folder: Path) -> bool:
    """Unpack a zip, unless packing the folder would give another zip: then nothing is left, and False.

    The folder is there once it is whole, whenever this is broken off.
    """
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(part)  # names that lead outside are bent back inside, and so are not the same zip
            for info in opened.infolist():
                if info.external_attr >> 16 & 0o111 and not info.is_dir():
                    (part / info.filename).chmod(0o755)
        if packed(part) == archive.read_bytes():
            part.replace(folder)
            return True
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError):
        pass
    shutil.rmtree(part, ignore_errors=True)
    return False
