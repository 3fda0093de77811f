"""The layers of an image's archive: each is read to its end, digested and judged.

Nothing of them is kept.
"""

import gzip
import hashlib
import tarfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Final, cast

from workers.protocol.files.host_faults import raise_host_fault

MAX_ENTRIES: Final = 300_000  # files and folders in all layers together
ENTRY_BYTES: Final = 4096  # of a disk, that each of them takes at least
MAX_RATIO: Final = 200  # unpacked : packed, of all layers together; programs and data reach 10
RATIO_FREE_BYTES: Final = 64 << 20  # what small layers may unpack to whatever their ratio
CHUNK_BYTES: Final = 1 << 20
GZIP: Final = b"\x1f\x8b"
ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
SAVE_AGAIN: Final = "Make it with `docker save IMAGE -o image.tar`, or as an OCI layout, and do not change it."


class ImageArchiveInvalid(ValueError):
    """An archive that is refused. `code` is a stable word; the text says what would be right."""

    def __init__(self, code: str, what: str) -> None:
        super().__init__(what)
        self.code = code


@dataclass(frozen=True)
class Layer:
    """A layer's member of the archive.

    `diff_id` is the digest of its content, `digest` that of the member where one is named.
    """

    member: str
    diff_id: str
    digest: str = ""
    size_bytes: int | None = None


def member_file(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    """A member of the archive to read. Raises `ImageArchiveInvalid` where there is none."""
    try:
        file = archive.extractfile(archive.getmember(name))
    except KeyError:
        file = None
    if file is None:
        raise ImageArchiveInvalid("missing_member", f"The archive names {name[:200]!a}, which it does not have.")
    return file


class _Counted:
    """A stream that digests what is read of it, and asks whether so much of it may be read."""

    def __init__(self, source: Any, judge: Callable[[int], None] | None = None) -> None:
        self._source = source
        self._digest = hashlib.sha256()
        self._judge = judge
        self.count = 0

    def read(self, size: int = CHUNK_BYTES) -> bytes:
        data: bytes = self._source.read(min(size, CHUNK_BYTES) if size >= 0 else CHUNK_BYTES)
        self._digest.update(data)
        self.count += len(data)
        if self._judge is not None:
            self._judge(self.count)
        return data

    @property
    def digest(self) -> str:
        return f"sha256:{self._digest.hexdigest()}"


class LayerReader:
    """Reads the layers of one archive, and counts over all of them."""

    def __init__(self, archive: tarfile.TarFile, max_bytes: int) -> None:
        self._archive = archive
        self._max_bytes = max_bytes
        self._content_bytes = self._packed_bytes = 0
        self.entries = 0

    @property
    def unpacked_bytes(self) -> int:
        """Room on a disk for the layers that were read."""
        return max(self._content_bytes, self.entries * ENTRY_BYTES)

    def check(self, layer: Layer, number: int) -> None:
        """Raise `ImageArchiveInvalid` unless the layer fits the configuration, and stays in the image."""
        packed = _Counted(member_file(self._archive, layer.member))
        content = _Counted(_unpacking(self._archive, layer, packed), lambda count: self._judge(count, packed.count))
        try:
            self._walk(content, number)
            while content.read():
                pass
            while packed.read():
                pass
        except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError, OverflowError, UnicodeError) as error:
            if isinstance(error, ImageArchiveInvalid):
                raise
            raise_host_fault(error)
            raise ImageArchiveInvalid("damaged", f"Layer {number} is damaged. {SAVE_AGAIN}") from error
        self._packed_bytes += packed.count
        self._content_bytes += content.count
        if layer.digest and (packed.digest != layer.digest or packed.count != layer.size_bytes):
            raise ImageArchiveInvalid(
                "wrong_digest", f"Layer {number} is not what the manifest says of it. {SAVE_AGAIN}"
            )
        if content.digest != layer.diff_id:
            raise ImageArchiveInvalid(
                "wrong_digest", f"Layer {number} is not what the configuration says. {SAVE_AGAIN}"
            )

    def _judge(self, unpacked: int, packed: int) -> None:
        """Raise `ImageArchiveInvalid` as soon as more was read of the layers than an image may have."""
        unpacked, packed = unpacked + self._content_bytes, packed + self._packed_bytes
        if unpacked > self._max_bytes:
            raise ImageArchiveInvalid(
                "too_large", "The image's layers, once unpacked, are larger than images may be here."
            )
        if unpacked > RATIO_FREE_BYTES + MAX_RATIO * packed:
            raise ImageArchiveInvalid(
                "too_dense",
                f"The image's layers unpack to more than {MAX_RATIO} times their size, as files of zeros do. Leave such files out, and "
                "make them when the program starts.",
            )

    def _walk(self, content: _Counted, number: int) -> None:
        with tarfile.open(fileobj=cast("IO[bytes]", content), mode="r|") as layer:
            for entry in layer:
                cast("Any", layer).members = []  # else all of them are kept in memory
                self.entries += 1
                if self.entries > MAX_ENTRIES:
                    raise ImageArchiveInvalid(
                        "too_many_files", f"The image has more than {MAX_ENTRIES:,} files and folders. Leave some out."
                    )
                if self.entries * ENTRY_BYTES > self._max_bytes:
                    raise ImageArchiveInvalid(
                        "too_large",
                        f"The image's files and folders, each of which takes {ENTRY_BYTES:,} bytes at least, are larger than images may "
                        f"be here ({self._max_bytes:,} bytes).",
                    )
                if _is_sparse(entry) or layer.pax_headers:
                    raise ImageArchiveInvalid(
                        "sparse",
                        f"Layer {number} has {entry.name[:200]!a} with holes, or headers for all files, which engines and this check may "
                        f"read differently. {SAVE_AGAIN}",
                    )
                if (
                    entry.name.startswith("/")
                    or ".." in entry.name.split("/")
                    or (entry.islnk() and _leaves(entry.linkname))
                ):
                    raise ImageArchiveInvalid(
                        "bad_path", f"Layer {number} has the path {entry.name[:200]!a}, which leaves the image."
                    )


def _is_sparse(entry: tarfile.TarInfo) -> bool:
    """True for a file with holes: engines write them out, so a few bytes may stand for terabytes."""
    is_named = any(key.startswith("GNU.sparse") for key in entry.pax_headers)
    return entry.sparse is not None or entry.type == tarfile.GNUTYPE_SPARSE or is_named


def _leaves(target: str) -> bool:
    return target.startswith("/") or ".." in target.split("/")


def _unpacking(archive: tarfile.TarFile, layer: Layer, packed: _Counted) -> Any:
    """The layer's content, by what its first bytes say of its compression."""
    first = member_file(archive, layer.member).read(4)
    if first[:2] == GZIP:
        return gzip.GzipFile(fileobj=cast("IO[bytes]", packed), mode="rb")
    if first == ZSTANDARD:
        import zstandard  # the site has it; what a worker does needs none

        return zstandard.ZstdDecompressor().stream_reader(cast("IO[bytes]", packed), read_across_frames=True)
    return packed
