"""Uploads in parts, which the next program continues where an interrupted one stopped."""

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from filelock import FileLock, Timeout

from podium.errors import InvalidInput, Refused
from podium.files import cache_dir, file_digest, write_whole
from podium.models import UploadState
from podium.site import Site, read_answer
from podium.transfers import Progress, quiet

PART_BYTES: Final = 8 * 1024**2
KEPT_S: Final = 7 * 24 * 3600  # longer than a site keeps what was not finished


@contextlib.contextmanager
def uploaded(site: Site, path: Path, progress: Progress = quiet, *, is_environment: bool = False) -> Iterator[str]:
    """Send a file; gives the key of its upload to the block that uses it.

    An upload that no block has used, because it was broken off or refused, goes on where it stopped, if the file is still the same.
    A deadline is compared with the moment when an upload began. Weights and images (`is_environment`) may be larger than
    submissions. Raises `PodiumError`.
    """
    with _memory(site, path, is_environment=is_environment) as memory:
        key = _key_in(memory)
        if not key or not _is_continued(site, path, key, progress):
            body = {"file_name": path.name, "size_bytes": path.stat().st_size, "is_environment": is_environment}
            key = str(site.post("uploads/", body)["key"])
            if memory is not None:
                write_whole(memory, json.dumps({"key": key, "site": site.url, "file": str(path)}))
            _send_rest(site, path, key, progress)
        yield key
        if memory is not None:
            memory.unlink(missing_ok=True)


@contextlib.contextmanager
def _memory(site: Site, path: Path, *, is_environment: bool) -> Iterator[Path | None]:
    """The file that remembers the upload; None while another program sends the same file."""
    status = path.stat()
    mark = json.dumps([site.url, path.name, status.st_size, status.st_mtime_ns, is_environment])
    folder = cache_dir() / "uploads"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in folder.iterdir():
        with contextlib.suppress(OSError):
            if old.stat().st_mtime < time.time() - KEPT_S:
                old.unlink()
    memory = folder / f"{hashlib.sha256(mark.encode()).hexdigest()}.json"
    lock = FileLock(memory.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield None
        return
    try:
        yield memory
    finally:
        lock.release()


def _key_in(memory: Path | None) -> str:
    try:
        return str(json.loads(memory.read_text("utf-8"))["key"]) if memory is not None else ""
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return ""


def _is_continued(site: Site, path: Path, key: str, progress: Progress) -> bool:
    """Send the rest of an upload. False if the site no longer has it, or has it of other bytes."""
    try:
        upload = _send_rest(site, path, key, progress)
    except InvalidInput:  # it was used, or is somebody else's
        return False
    except Refused as refusal:
        if refusal.code != "upload_expired":
            raise
        return False
    if upload.sha256 in (None, file_digest(path)):  # None: weights and images, which are digested later
        return True
    site.call("DELETE", f"uploads/{key}/")
    return False


def _send_rest(site: Site, path: Path, key: str, progress: Progress) -> UploadState:
    """Send what the site lacks of the file; returns the upload as the site has it then."""
    size = path.stat().st_size
    with path.open("rb") as file:
        upload = UploadState.model_validate(site.get(f"uploads/{key}/"))
        progress(upload.received_bytes, size)
        while upload.received_bytes < size:
            upload = _send_part(site, key, file, upload.received_bytes)
            progress(upload.received_bytes, size)
    return upload


def _send_part(site: Site, key: str, file: BinaryIO, received: int) -> UploadState:
    """Send the next part; returns the upload.

    The site says when a part comes twice, and does not keep it twice.
    """
    file.seek(received)
    headers = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": str(received)}
    try:
        if not (part := file.read(PART_BYTES)):
            raise InvalidInput(
                f"{file.name} became shorter while it was sent. Run this again once nothing writes to it."
            )
        answer = read_answer(site.call("PATCH", f"uploads/{key}/", data=part, headers=headers))
    except Refused as error:
        if error.code != "wrong_offset":
            raise
        answer = site.get(f"uploads/{key}/")
    return UploadState.model_validate(answer)
