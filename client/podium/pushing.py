"""Competitions as code: a folder is sent to a site and applied, or written from the live one."""

import hashlib
import os
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from podium.errors import InvalidInput, PodiumError, Refused, SiteUnreachable
from podium.files import file_digest
from podium.folders import STATE, YAML_NAME, Folder, packed, unpack
from podium.models import Document, DocumentFile, DownloadFile, Export, Push
from podium.site import BROKEN, Site
from podium.transfers import CHUNK_BYTES, Progress, download
from podium.uploads import uploaded

SMALL_BYTES: Final = 256 * 1024  # files up to this size travel together in one zip, larger ones by their digest
UNPACKED_BYTES: Final = 16 * 1024**2  # zips up to this size are written as folders
POLL_S: Final = 1.0
Bars = Callable[[str], AbstractContextManager[Progress]]
Notify = Callable[[str], None]


def compare(site: Site, folder: Folder, *, is_forced: bool, bars: Bars, notify: Notify) -> Push:
    """Send the files that the site lacks, and get the differences.

    Raises `Refused` with every fault of the folder.
    """
    files = folder.files()
    large = {name: path for name, path in files.items() if path.stat().st_size > SMALL_BYTES}
    digests = {name: file_digest(path) for name, path in large.items()}
    body = {
        "bundle": _small_sent(site, {name: path for name, path in files.items() if name not in large}, bars),
        "files": digests,
        "base": folder.known_version(site.url),
        "force": is_forced,
    }
    try:
        answer = site.post("pushes/", body)
    except PodiumError as error:
        if error.code != "files_missing":
            raise
        paths = {digests[name]: path for name, path in large.items()}
        for digest in error.extra["missing"]:
            with bars(paths[digest].name) as progress, uploaded(site, paths[digest], progress):
                pass  # the site has it by its digest
        answer = site.post("pushes/", body)
    return _wait_until_over(site, Push.model_validate(answer), notify)


def apply(site: Site, folder: Folder, push: Push, *, notify: Notify) -> Push:
    """Have the site do what it compared. Raises `Refused`."""
    answer = site.post(f"pushes/{push.id}/apply/")
    applied = _wait_until_over(site, Push.model_validate(answer), notify)
    folder.remember(site=site.url, version=applied.result)
    return applied


def _small_sent(site: Site, files: dict[str, Path], bars: Bars) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Path(scratch) / "folder.zip"
        # A zip knows no time before 1980, which files out of archives and image layers may have.
        with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for name, path in files.items():
                archive.write(path, name)
        newest_ns = max(path.stat().st_mtime_ns for path in files.values())
        os.utime(bundle, ns=(newest_ns, newest_ns))  # the same files are the same zip for an upload that goes on
        with bars("small files") as progress, uploaded(site, bundle, progress) as key:
            return key


def _wait_until_over(site: Site, push: Push, notify: Notify) -> Push:
    step = ""
    while push.state in ("comparing", "applying"):
        if push.step and push.step != step:
            step = push.step
            notify(step)
        time.sleep(POLL_S)
        push = Push.model_validate(site.get(f"pushes/{push.id}/"))
    if push.state == "failed":
        raise Refused(push.fault, code="push_refused")
    return push


class Pull:
    """The live competition, fetched and ready to be written. `replaced` are the files that differ."""

    def __init__(self, site: Site, folder: Folder, slug: str, *, bars: Bars) -> None:
        self.site, self.folder = site, folder
        folder.remember()  # what is fetched lies beside it, and is not for git
        document = Document.model_validate(site.get(f"competitions/{slug}/document/"))
        self.version, self.texts = document.version, dict(document.texts)
        self._fetched = folder.path / STATE / "fetched"
        self._moves: list[tuple[Path, Path]] = []
        for file in document.files:
            self._fetch(file, bars)
        for name, text in self.texts.items():
            self._text(name, text)

    @property
    def replaced(self) -> list[str]:
        return sorted(target.relative_to(self.folder.path).as_posix() for _, target in self._moves if target.exists())

    def write(self) -> list[str]:
        """Put everything in its place; returns the files of the folder that the competition no longer names.

        Each folder is replaced as a whole, for where this is broken off, a push would take a part of one for all of it.
        """
        before = set(self.folder.files()) if (self.folder.path / YAML_NAME).is_file() else set()
        placed: dict[Path, Path] = {}  # files with the same content were fetched once
        for source, target in self._moves:
            whole = self._copy(placed[source]) if source in placed else source
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists() and (target.is_dir() or whole.is_dir()):
                target.replace(self._free_place())
            placed[source] = whole.replace(target)
        shutil.rmtree(self._fetched, ignore_errors=True)
        self.folder.remember(site=self.site.url, version=self.version)
        return sorted(before - set(self.folder.files()))

    def _copy(self, path: Path) -> Path:
        copy = self._free_place()
        if path.is_dir():
            shutil.copytree(path, copy)
        else:
            shutil.copyfile(path, copy)
        return copy

    def _free_place(self) -> Path:
        """Beside what was fetched, which goes in the end."""
        return Path(tempfile.mkdtemp(dir=self._fetched)) / "place"

    def _fetch(self, file: DocumentFile, bars: Bars) -> None:
        """Fetch a file, unless it is there with this content, unpacked or not."""
        target, digest = self._target(file.path), file.sha256
        may_unpack = target.suffix == ".zip"
        if may_unpack and target.with_suffix("").is_dir() and self._is_packed(target.with_suffix(""), file):
            self._name_folder(file.path)
            return
        if target.is_file() and target.stat().st_size == file.size_bytes and file_digest(target) == digest:
            return
        with bars(target.name) as progress:
            by_digest = DownloadFile(
                phase="", name="", file_name=digest, size_bytes=file.size_bytes, sha256=digest, url=file.url
            )
            source = download(self.site, by_digest, self._fetched, progress)
        unpacked = self._fetched / f"{digest}-unpacked"
        if may_unpack and file.size_bytes <= UNPACKED_BYTES and (unpacked.is_dir() or unpack(source, unpacked)):
            self._name_folder(file.path)
            source, target = unpacked, target.with_suffix("")
        self._moves.append((source, target))

    @staticmethod
    def _is_packed(folder: Path, file: DocumentFile) -> bool:
        return hashlib.sha256(packed(folder)).hexdigest() == file.sha256

    def _name_folder(self, path: str) -> None:
        """Have the YAML name the folder in place of the zip. The site writes each value at the end of a line."""
        pattern = rf"(?m): {re.escape(path)}$"
        self.texts[YAML_NAME] = re.sub(pattern, f": {path.removesuffix('.zip')}", self.texts[YAML_NAME])

    def _text(self, name: str, text: str) -> None:
        target, content = self._target(name), text.encode()
        if target.is_file() and target.read_bytes() == content:
            return
        source = self._fetched / "texts" / str(len(self._moves))  # never by the site's name: nobody has consented yet
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_bytes(content)
        self._moves.append((source, target))

    def _target(self, name: str) -> Path:
        """A place in the folder. Raises `InvalidInput` where a site names one outside, or a hidden one.

        Hidden ones are the state's, and those of git and editors, which run what lies there.
        """
        target = (self.folder.path / name).resolve() if _is_plain_path(name) else None
        if target is None or not target.is_relative_to(self.folder.path) or _is_hidden(target, self.folder.path):
            raise InvalidInput(f"The site calls a file {name!a}, which is not a place in the folder.")
        return target


def _is_plain_path(name: str) -> bool:
    """True for names with slashes in between, none of them hidden, such as `pages/overview.md`."""
    return name.isprintable() and "\\" not in name and not re.search(r"(\A|/)(\.|/|\Z)", name)


def _is_hidden(target: Path, folder: Path) -> bool:
    """True also where a link in the folder leads to it."""
    return any(part.startswith(".") for part in target.relative_to(folder).parts)


def fetch_export(
    site: Site, slug: str, folder: Path, *, with_files: bool, bars: Bars, notify: Notify
) -> tuple[Path, Export]:
    """Have the competition written as a zip and fetch it; returns its path and what the site says of it.

    Raises `Refused` where the site could not write it, and `SiteUnreachable` where it did not arrive.
    """
    answer = site.post(f"competitions/{slug}/bundle/", {"files": "all" if with_files else "keys"})
    export = Export.model_validate(answer)
    notify("The site writes the bundle.")
    while export.state == "waiting":
        time.sleep(POLL_S)
        export = Export.model_validate(site.get(f"exports/{export.id}/"))
    if export.url is None:
        raise Refused(
            "The bundle could not be written because of an error of the site. Try again later.", code="export_failed"
        )
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / Path(export.file_name).name
    part = target.with_name(f"{target.name}.part")
    try:
        with bars(target.name) as progress, site.call("GET", export.url, stream=True) as sent, part.open("wb") as sink:
            total = int(sent.headers.get("Content-Length") or 0)
            for chunk in sent.iter_content(CHUNK_BYTES):
                sink.write(chunk)
                progress(sink.tell(), total)
    except BROKEN as error:
        part.unlink(missing_ok=True)
        raise SiteUnreachable(
            f"The connection broke before all of {target.name} had come. Export it again.", code="unreachable"
        ) from error
    return part.replace(target), export


def difference_lines(push: Push) -> Iterator[str]:
    """The changes of a push, line by line, for people."""
    signs = {"added": "+", "removed": "-", "changed": "~"}
    for change in push.changes:
        values = " -> ".join(value for value in (change.before, change.after) if value)
        yield f"{signs.get(change.change, '?')} {change.path}{f': {values}' if values else ''}"
        yield from (f"    {line}" for line in change.lines)
    if push.impact:
        yield "What this does to teams:"
        yield from (f"  {sentence}" for sentence in push.impact)
