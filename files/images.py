"""Images that pages show: what a file is and how large it would be decoded, by its headers alone."""

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from PIL import Image

from files.refusals import InvalidFile

MAX_BYTES: Final = 10 * 1024**2
MAX_PIXELS: Final = 40_000_000  # 160 MB decoded
HEAD_BYTES: Final = 16  # as many as tell the type
MAX_READS: Final = 20_000
NAME: Final = re.compile(r"[\w-][\w .()-]*(/[\w-][\w .()-]*)*")  # of an image on the site: no part is `..`

PNG, JPEG, GIF, WEBP = "image/png", "image/jpeg", "image/gif", "image/webp"
TYPES: Final = {"PNG": PNG, "JPEG": JPEG, "GIF": GIF, "WEBP": WEBP}  # as Pillow calls them
SUFFIXES: Final = {PNG: ".png", JPEG: ".jpg", GIF: ".gif", WEBP: ".webp"}


@dataclass(frozen=True)
class ImageFacts:
    """The facts in an image's headers."""

    content_type: str
    width: int
    height: int


class TooManyPixels(Exception):
    """An image is too large to be decoded."""


def check_image(path: Path, *, what: str) -> ImageFacts:
    """Refuse all but PNG, JPEG, GIF and WebP images, and what is too large for a page; decodes nothing.

    `what` is how to call it in messages. Raises `InvalidFile`: `image_too_large`, `not_an_image` or `image_too_many_pixels`.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise InvalidFile(
            "image_too_large", f"{what} has {size:,} bytes; an image may have {MAX_BYTES:,}. Save it smaller."
        )
    try:
        facts = image_facts(path.read_bytes())
    except TooManyPixels as error:
        raise InvalidFile(
            "image_too_many_pixels", f"{what} has more than {MAX_PIXELS:,} pixels in all. Scale it down."
        ) from error
    if facts is None:
        raise InvalidFile("not_an_image", f"{what} is not a PNG, JPEG, GIF or WebP image. Save it as one of these.")
    return facts


def image_type(head: bytes) -> str | None:
    """The type of an image by its first bytes; None for anything else."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith((b"GIF87a", b"GIF89a")):
        return GIF
    return WEBP if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


class _EndlessHeader(Exception):
    """The headers are made of more pieces than those of any image that a program wrote."""


class _Header(io.BytesIO):
    """A file that is read in so many pieces at most: headers of a few bytes could go on for megabytes."""

    reads = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if self.reads > MAX_READS:
            raise _EndlessHeader
        return super().read(size)


def image_facts(content: bytes) -> ImageFacts | None:
    """Type and size in pixels; None where the headers are not those of an image. Raises `TooManyPixels`."""
    try:
        with Image.open(_Header(content), formats=tuple(TYPES)) as image:
            facts = ImageFacts(TYPES[image.format or ""], image.width, image.height)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise TooManyPixels from error
    except Exception:  # noqa: BLE001  # readers of headers raise whatever a broken file leads them to
        return None
    if facts.width * facts.height > MAX_PIXELS:
        raise TooManyPixels
    return facts


def image_name(source: str) -> str | None:
    """The name of an image by its address in a text, as of `../plots/loss.png`; None elsewhere.

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
