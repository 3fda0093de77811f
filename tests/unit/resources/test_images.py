"""A picture's size is read from its header: what would be drawn in no memory is refused before anything decodes it."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from competitions.resources.images import MAX_BYTES, MAX_PIXELS, Picture, picture_fault, read_picture


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 2, 0, 0, 0)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height)


def jpeg(width: int, height: int) -> bytes:
    profile = b"\xff\xe2" + struct.pack(">H", 5000) + bytes(4998)
    return b"\xff\xd8" + profile + b"\xff\xff\xc2" + struct.pack(">HBHH", 17, 8, height, width)


def webp(width: int, height: int) -> bytes:
    return b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", width, height)


def webp_lossless(width: int, height: int) -> bytes:
    return b"RIFF\0\0\0\0WEBPVP8L" + bytes(4) + b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14)


def webp_extended(width: int, height: int) -> bytes:
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + sizes


KINDS = {"PNG": [png], "GIF": [gif], "JPEG": [jpeg], "WebP": [webp, webp_lossless, webp_extended]}
MAKERS = [(kind, make) for kind, makers in KINDS.items() for make in makers]


def written(folder: Path, content: bytes) -> Path:
    path = folder / "logo"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("kind", "make"), MAKERS, ids=[make.__name__ for _, make in MAKERS])
def test_sizes_are_read_and_those_beyond_the_limit_are_refused(
    tmp_path: Path, kind: str, make: Callable[[int, int], bytes]
) -> None:
    assert read_picture(written(tmp_path, make(4000, 3999))) == Picture(kind, 4000, 3999)
    assert picture_fault(written(tmp_path, make(4000, 4000)), "logo") == ""
    fault = picture_fault(written(tmp_path, make(4001, 4000)), "logo")
    assert fault == f"the picture 'logo' has 4,001 x 4,000 pixels; at most {MAX_PIXELS:,} in all. Make it smaller"
    for cut in range(len(make(10, 10))):
        assert read_picture(written(tmp_path, make(10, 10)[:cut])) in (None, Picture(kind, 10, 10))


def test_a_small_file_of_a_billion_pixels_is_refused(tmp_path: Path) -> None:
    assert "40,000 x 25,000 pixels" in picture_fault(written(tmp_path, png(40_000, 25_000)), "logo.png")


@pytest.mark.parametrize("content", [b"", b"<svg/>", b"\x89PNG", b"\xff\xd8\xff\xc4\0\2", b"RIFF1234WAVE"])
def test_what_is_no_picture_is_none(tmp_path: Path, content: bytes) -> None:
    assert read_picture(written(tmp_path, content)) is None


def test_a_picture_of_too_many_bytes_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, png(10, 10))
    with path.open("r+b") as file:
        file.truncate(MAX_BYTES + 1)
    assert "bytes; at most" in picture_fault(path, "logo.png")
