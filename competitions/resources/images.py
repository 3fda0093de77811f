"""What a picture's header says, read without decoding it: a few bytes may stand for more pixels than a browser's memory holds."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_PIXELS: Final = 16_000_000
MAX_BYTES: Final = 10 * 1024**2
HEADER_BYTES: Final = 256 * 1024  # a JPEG's size may stand behind its colour profile and a preview
JPEG_SIZES: Final = frozenset(range(0xC0, 0xD0)) - {
    0xC4,
    0xC8,
    0xCC,
}  # markers of frames: their segments begin with the size


@dataclass(frozen=True)
class Picture:
    """The kind of a picture, and how large it is when it is drawn."""

    kind: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        return self.width * self.height


def read_picture(path: Path) -> Picture | None:
    """What a PNG, JPEG, GIF or WebP file says of itself; None for anything else."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    for kind, read in READERS.items():
        try:
            size = read(head)
        except (struct.error, IndexError):  # it ends within its header
            continue
        if size is not None:
            return Picture(kind, *size)
    return None


def picture_fault(path: Path, name: str) -> str:
    """Why a file is too large for a picture on a page; empty where it is not, or is no picture that browsers decode."""
    if path.stat().st_size > MAX_BYTES:
        return f"the picture {name!r} has {path.stat().st_size:,} bytes; at most {MAX_BYTES:,}"
    picture = read_picture(path)
    if picture is not None and picture.pixels > MAX_PIXELS:
        size = f"{picture.width:,} x {picture.height:,} pixels"
        return f"the picture {name!r} has {size}; at most {MAX_PIXELS:,} in all. Make it smaller"
    return ""


def _png(head: bytes) -> tuple[int, int] | None:
    if not head.startswith(b"\x89PNG\r\n\x1a\n") or head[12:16] != b"IHDR":
        return None
    return struct.unpack_from(">II", head, 16)


def _gif(head: bytes) -> tuple[int, int] | None:
    return struct.unpack_from("<HH", head, 6) if head[:6] in (b"GIF87a", b"GIF89a") else None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    if not head.startswith(b"\xff\xd8"):
        return None
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if marker in JPEG_SIZES:
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
        at += 1 if marker == 0xFF else 2 + struct.unpack_from(">H", head, at + 2)[0]
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return None
    if head[12:16] == b"VP8X":
        width_less_1, height_less_1 = struct.unpack_from("<3s3s", head, 24)
        return 1 + int.from_bytes(width_less_1, "little"), 1 + int.from_bytes(height_less_1, "little")
    if head[12:16] == b"VP8L":
        (bits,) = struct.unpack_from("<I", head, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", head, 26)
    return width & 0x3FFF, height & 0x3FFF


READERS: Final[dict[str, Callable[[bytes], tuple[int, int] | None]]] = {
    "PNG": _png, "GIF": _gif, "JPEG": _jpeg, "WebP": _webp,
}  # fmt: skip
