"""Images that pages show: what a file is and how large it would be decoded, by its headers alone. No Django in here."""

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from core.refusals import InvalidFile

MAX_BYTES: Final = 10 * 1024**2
MAX_PIXELS: Final = 40_000_000  # 160 MB decoded
HEAD_BYTES: Final = 16  # as many as tell the type
MAX_STEPS: Final = 200_000  # from block to block; 10 MiB in whole blocks take a fifth
NAME: Final = re.compile(r"[\w-][\w .()-]*(/[\w-][\w .()-]*)*")  # of an image on the site: no part is `..`

PNG, JPEG, GIF, WEBP = "image/png", "image/jpeg", "image/gif", "image/webp"
SUFFIXES: Final = {PNG: ".png", JPEG: ".jpg", GIF: ".gif", WEBP: ".webp"}


@dataclass(frozen=True)
class ImageFacts:
    """What an image's headers say."""

    content_type: str
    width: int
    height: int


def check_image(path: Path, *, what: str) -> ImageFacts:
    """Refuse what is no PNG, JPEG, GIF or WebP image, or would be too large for a page; decodes nothing.

    `what` is how to call it in messages. Raises `InvalidFile`: `image_too_large`, `not_an_image` or `image_too_many_pixels`.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise InvalidFile(
            "image_too_large", f"{what} has {size:,} bytes; an image may have {MAX_BYTES:,}. Save it smaller."
        )
    facts = image_facts(path.read_bytes())
    if facts is None:
        raise InvalidFile("not_an_image", f"{what} is no PNG, JPEG, GIF or WebP image. Save it as one of these.")
    if facts.width * facts.height > MAX_PIXELS:
        raise InvalidFile(
            "image_too_many_pixels",
            f"{what} has {facts.width:,} by {facts.height:,} pixels; an image may have {MAX_PIXELS:,} in all. Scale it down.",
        )
    return facts


def content_type_of(head: bytes) -> str | None:
    """The type of an image by its first bytes; None for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith((b"GIF87a", b"GIF89a")):
        return GIF
    return WEBP if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


def image_facts(content: bytes) -> ImageFacts | None:
    """Type and size in pixels, also of the largest frame; None where the headers are not those of an image."""
    content_type = content_type_of(content[:HEAD_BYTES])
    if content_type is None:
        return None
    try:
        width, height = _READERS[content_type](content)
    except (struct.error, IndexError, StopIteration):  # it ends within its headers, or they do not end
        return None
    return ImageFacts(content_type, width, height) if width and height else None


def _png_size(content: bytes) -> tuple[int, int]:
    if content[12:16] != b"IHDR":
        return 0, 0
    width, height = struct.unpack_from(">II", content, 16)
    return width, height


def _jpeg_size(content: bytes) -> tuple[int, int]:
    """The size that the first start of a frame gives; the segments before it are skipped by their length."""
    at, steps = 2, iter(range(MAX_STEPS))
    while True:
        next(steps)
        if content[at] != 0xFF:
            return 0, 0
        marker = content[at + 1]
        if marker == 0xFF:  # fill
            at += 1
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:  # stands alone
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        else:
            at += 2 + max(2, struct.unpack_from(">H", content, at + 2)[0])


def _gif_size(content: bytes) -> tuple[int, int]:
    """The screen, or the frame that reaches farthest: a frame may be larger than the screen that is announced."""
    width, height, flags = struct.unpack_from("<HHB", content, 6)
    at, steps = 13 + _colours(flags), iter(range(MAX_STEPS))
    while (kind := content[at]) != 0x3B:
        next(steps)
        if kind == 0x21:
            at += 2
        elif kind == 0x2C:
            left, top, frame_width, frame_height, flags = struct.unpack_from("<HHHHB", content, at + 1)
            width, height = max(width, left + frame_width), max(height, top + frame_height)
            at += 11 + _colours(flags)
        else:
            return 0, 0
        while content[at]:
            next(steps)
            at += 1 + content[at]
        at += 1
    return width, height


def _colours(flags: int) -> int:
    """Bytes of a colour table."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _webp_size(content: bytes) -> tuple[int, int]:
    """Of the canvas, which no frame may leave."""
    kind = content[12:16]
    if kind == b"VP8 " and content[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", content, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and content[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", content, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(content) >= 30:
        return int.from_bytes(content[24:27], "little") + 1, int.from_bytes(content[27:30], "little") + 1
    return 0, 0


_READERS: Final = {PNG: _png_size, JPEG: _jpeg_size, GIF: _gif_size, WEBP: _webp_size}


def image_name(source: str) -> str | None:
    """The name that an address in a text means, for instance `plots/loss.png` of `../plots/loss.png`; None for one elsewhere.

    >>> [image_name(source) for source in ("./a%20b.png", "../plots/loss.png", "https://else.where/x.png", "//x/y.png")]
    ['a b.png', 'plots/loss.png', None, None]
    """
    try:
        parts = urlsplit(source.strip())
    except ValueError:
        return None
    if parts.scheme or parts.netloc:
        return None
    name = re.sub(r"^(\.{0,2}/)+", "", unquote(parts.path))
    return name if NAME.fullmatch(name) else None
