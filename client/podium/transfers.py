"""Files from a site, going on where a connection broke."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock

from podium.errors import InvalidInput, PodiumError, SiteUnreachable
from podium.files import file_digest
from podium.models import DownloadFile
from podium.site import BROKEN, TIMEOUT_S, Site

CHUNK_BYTES: Final = 1024**2
Progress = Callable[[int, int], None]  # bytes so far, bytes in all


def quiet(done: int, total: int) -> None:
    """Show no progress."""


def download(site: Site, file: DownloadFile, folder: Path, progress: Progress = quiet) -> Path:
    """Fetch a file into its folder, checked by its digest; one that is there is left as it is.

    The part of a download that broke off lies beside it as `NAME.part`, and the next one goes on from there. Where another process
    or thread is fetching the same file, this waits for it. Raises `PodiumError` where the content is not the file that the site
    described.
    """
    inner = file.folder.split("/") if file.folder else []
    target = folder.joinpath(*map(_plain_name, [*inner, file.file_name]))
    if not _is_there(target, file):
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.part")
        with _alone(part):
            if not _is_there(target, file):  # which it may be by now
                _fetch(site, file, part, progress)
                _check(part, file)
                part.replace(target)
                return target
    progress(file.size_bytes, file.size_bytes)
    return target


def _is_there(target: Path, file: DownloadFile) -> bool:
    return target.is_file() and target.stat().st_size == file.size_bytes and file_digest(target) == file.sha256


def _check(part: Path, file: DownloadFile) -> None:
    if file_digest(part) != file.sha256:
        part.unlink()
        raise PodiumError(
            f"{file.file_name} arrived damaged and was removed. Download it again.", code="digest_mismatch"
        )


@contextlib.contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Hold a lock while a part is written: two writers would take the file away from each other."""
    lock_file = part.with_name(f"{part.name}.lock")
    with FileLock(lock_file):
        try:
            yield
        finally:
            with contextlib.suppress(PermissionError):  # on Windows an open file stays; its lock removes it
                lock_file.unlink(missing_ok=True)  # who waits with it sees that it is gone, and takes a new one


def _fetch(site: Site, file: DownloadFile, part: Path, progress: Progress) -> None:
    """Fill `part`, however often the connection breaks within the site's patience without a byte arriving."""
    last_byte_at, fruitless = time.monotonic(), 0
    while (have := part.stat().st_size if part.is_file() else 0) < file.size_bytes:
        if time.monotonic() - last_byte_at > site.patience_s:
            raise SiteUnreachable(
                f"{file.file_name} stopped arriving after {have:,} bytes; what has come is kept.", code="unreachable"
            )
        with contextlib.suppress(*BROKEN):
            _fetch_from(site, file, part, have, progress)
        if part.is_file() and part.stat().st_size > have:
            last_byte_at, fruitless = time.monotonic(), 0
        else:
            site.pause(fruitless)
            fruitless += 1
    if not file.size_bytes:
        part.touch()
    if part.stat().st_size > file.size_bytes:
        part.unlink()
        raise PodiumError(f"{file.file_name} is longer than the site said. Download it again.", code="digest_mismatch")


def _fetch_from(site: Site, file: DownloadFile, part: Path, have: int, progress: Progress) -> None:
    headers = {"Range": f"bytes={have}-"} if have else {}
    with site.call("GET", file.url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
        is_rest = answer.status_code == 206
        with part.open("ab" if is_rest else "wb") as sink:
            done = have if is_rest else 0
            for chunk in answer.iter_content(CHUNK_BYTES):
                sink.write(chunk)
                done += len(chunk)
                progress(done, file.size_bytes)


def _plain_name(name: str) -> str:
    """A site names files; it cannot name places outside the folder. Raises `InvalidInput`."""
    if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise InvalidInput(f"The site calls a file {name!r}, which is not a plain name.")
    return name
