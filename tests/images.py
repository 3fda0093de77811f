"""Small images for tests, most of them made by hand: what their headers announce is ours to choose."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def png_bytes(width: int = 2, height: int = 1, *, announced: tuple[int, int] | None = None) -> bytes:
    """A grey PNG; `announced` is what its header says instead, as a decompression bomb does."""
    header = struct.pack(">IIBBBBB", *(announced or (width, height)), 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x80" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, (b"IHDR", b"IDAT", b"IEND"), (header, pixels, b"")))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def gif_bytes(width: int, height: int, *, frame: tuple[int, int] | None = None) -> bytes:
    """A GIF of one pixel value, whose frame may be larger than its screen."""
    screen = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    comment = b"\x21\xfe\x05hello\x00"
    return (
        screen
        + comment
        + b"\x2c"
        + struct.pack("<HHHHB", 0, 0, *(frame or (width, height)), 0)
        + b"\x02\x02\x4c\x01\x00\x3b"
    )


def jpeg_head(width: int, height: int) -> bytes:
    """The headers of a JPEG up to the start of its frame."""
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0\1\1\0\0\1\0\1\0\0"
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    return b"\xff\xd8" + app + b"\xff\xff\xfe\0\4hi" + frame


def webp_bytes(width: int, height: int, *, lossless: bool = False, frames: int = 1) -> bytes:
    """A black WebP image; one of several frames is `VP8X`, the extended form."""
    written = io.BytesIO()
    images = [Image.new("RGB", (width, height), (number, 0, 0)) for number in range(frames)]
    images[0].save(written, "WEBP", lossless=lossless, save_all=frames > 1, append_images=images[1:])
    return written.getvalue()
