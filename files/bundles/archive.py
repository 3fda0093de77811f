"""A bundle's files: a folder, or a zip that is checked and unpacked; its parts as zips."""

import codecs
import hashlib
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Final

from files.archives import MAX_NAME_BYTES, MAX_PATH_BYTES, ArchiveLimits, check_zip
from files.bundles.faults import YAML_NAME, invalid
from files.refusals import InvalidFile

LIMITS: Final = ArchiveLimits(unpacked_bytes=20 * 1024**3, files=20_000)
ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)  # the same folder gives the same bytes, so it is stored once
UTF_16_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
LITTER: Final = {"__pycache__", "__MACOSX", ".DS_Store", ".ipynb_checkpoints", ".git"}


@contextmanager
def open_bundle(source: Path, *, name: str = "") -> Iterator["BundleFiles"]:
    """The files of a bundle given as a folder or a zip.

    Raises `InvalidBundle` for a zip that must not be unpacked. `name` is what people know it by, where the path is not theirs:
    stored files are named by their digest.
    """
    if source.is_dir():
        yield BundleFiles(source)
        return
    if not source.is_file():
        raise invalid("There is no such file or folder.", file=str(source))
    with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
        try:
            unpack(source, Path(folder))
        except InvalidFile as error:
            raise invalid(error.detail, file=name or source.name) from error
        yield BundleFiles(Path(folder))


def unpack(source: Path, into: Path) -> None:
    """Unpack a bundle's zip into an empty folder. Raises `InvalidFile` for one that must not be unpacked.

    Of what the zip says of permissions a file keeps whether it can be run: its program may call it as `./run.sh`.
    """
    check_zip(source, limits=LIMITS, what="The bundle")
    with zipfile.ZipFile(source) as archive:  # nothing in it leads outside: `check_zip` has looked at every name
        for member in archive.infolist():
            path = Path(archive.extract(member, into))
            if member.external_attr >> 16 & 0o111 and path.is_file():
                path.chmod(0o755)


class BundleFiles:
    """The folder of a bundle. Every path is relative to it and cannot lead outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def yaml(self) -> Path:
        """The competition's YAML. Raises `InvalidBundle`, which says where one was found instead."""
        path = self.folder / YAML_NAME
        if path.is_file():
            return path
        raise invalid(f"There is no {YAML_NAME} at the top level of the bundle. {self._instead()}")

    def _instead(self) -> str:
        names = [path.relative_to(self.folder) for path in sorted(self.folder.rglob("*")) if path.is_file()]
        names = [name for name in names if not LITTER & set(name.parts)]
        for name in names:
            if name.name.lower() in (YAML_NAME, "competition.yml"):
                if len(name.parts) > 1:
                    return f"There is {name}: pack what is in the folder {name.parent}, not the folder itself."
                return f"There is {name}: rename it to {YAML_NAME}."
        if len(names) == 1 and names[0].suffix == ".zip":
            return f"There is only {names[0]}, a zip in the zip: upload that one."
        listed = ", ".join(map(str, names[:5])) or "nothing"
        return f"It holds {listed}{' and more' if len(names) > 5 else ''}."

    def path(self, relative: str) -> Path | None:
        """The path below the bundle's folder; None for one that is too long, or leads outside or to a link."""
        if is_too_long(relative) or "\0" in relative or relative[1:2] == ":":
            return None
        parts = PurePosixPath(relative.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts:
            return None
        path = (self.folder / parts).resolve()
        return path if path.is_relative_to(self.folder) else None

    def exists(self, relative: str) -> bool:
        path = self.path(relative)
        return path is not None and path.exists()

    def file(self, relative: str) -> Path | None:
        """The path where it leads to a file, else None."""
        path = self.path(relative)
        return path if path is not None and path.is_file() else None

    def similar(self, relative: str) -> str:
        """A hint to a file of that name elsewhere, or of a similar name; else empty."""
        posix_path = relative.rstrip("/").replace("\\", "/")
        names = [str(path.relative_to(self.folder)) for path in self.folder.rglob("*")][:5000]
        same = [name for name in names if PurePosixPath(name).name.lower() == PurePosixPath(posix_path).name.lower()]
        near = same or get_close_matches(posix_path, names, n=1)
        if not near and "." in posix_path:
            near = [name for name in names if name == posix_path.rsplit(".", 1)[0]]
        return near[0] if near else ""

    def text(self, relative: str) -> str:
        """A page's text; bytes that are no text are shown as such, so a page is always readable."""
        content = self._content(relative)
        return content.decode("utf-16" if content.startswith(UTF_16_MARKS) else "utf-8-sig", errors="replace")

    def wrong_byte(self, relative: str) -> str:
        """A sentence on the first byte of a page that is not UTF-8, with its line; empty for a readable page."""
        content = self._content(relative)
        if content.startswith(UTF_16_MARKS):
            return ""
        try:
            content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content[: error.start].count(b"\n") + 1
            return f"the byte 0x{content[error.start]:02x} in its line {line} is not UTF-8 text and is shown as a sign; save it as UTF-8"
        return ""

    def _content(self, relative: str) -> bytes:
        path = self.path(relative)
        assert path is not None, "checked before"
        return path.read_bytes()

    def zip_part(self, relative: str, into: Path) -> tuple[Path, str]:
        """A zip of a folder of the bundle, or a file of it as it is; returns path and download name.

        Zips of different folders may have one name, so each lies in a folder of its own.
        """
        path = self.path(relative)
        assert path is not None, "checked before"
        if path.is_file():
            return path, path.name
        name = path.name.encode()[: MAX_NAME_BYTES - len(".zip")].decode(errors="ignore") + ".zip"
        target = into / hashlib.sha256(bytes(path.relative_to(self.folder))).hexdigest() / name
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            zip_folder(path, target)
        return target, name


def is_too_long(text: str) -> bool:
    """True if no file can have this path, as for a text in place of the name of its file."""
    path = text.replace("\\", "/").encode(errors="replace")
    return len(path) > MAX_PATH_BYTES or max(map(len, path.split(b"/"))) > MAX_NAME_BYTES


def zip_folder(folder: Path, target: Path) -> None:
    """Pack a folder: the same content gives the same bytes; links and litter are left out."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            relative = file.relative_to(folder)
            if file.is_file() and not file.is_symlink() and not LITTER & set(relative.parts):
                info = zipfile.ZipInfo(relative.as_posix(), ZIP_TIME)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (0o755 if file.stat().st_mode & 0o111 else 0o644) << 16
                with file.open("rb") as source, archive.open(info, "w", force_zip64=True) as sink:
                    while chunk := source.read(1 << 20):
                        sink.write(chunk)
