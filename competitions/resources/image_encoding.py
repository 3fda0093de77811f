"""Images of strangers, written anew: pixels without metadata, in the sizes of pages. No Django."""

from pathlib import Path
from typing import Final

from PIL import Image, ImageOps

READ: Final = ("PNG", "JPEG", "GIF", "WEBP")
QUALITY: Final = 84  # of photographs; what was lossless stays so
MAX_HEIGHT: Final = 4000
LOSSY_HEADS: Final = (b"\xff\xd8\xff", b"VP8 ")
FAULT: Final = "It is damaged, or written in a way that cannot be read. Open it in an image program and save it again."


def encode(source: str, folder: str, large: int, small: int, is_lossless: bool) -> dict[str, object]:
    """Write `large.webp`, and `small.webp` if the image is wider, into the folder. Runs as a `Call`.

    Of a moving image only the first frame is written. `large` and `small` are widths in pixels, at most; 0: there is no small one.
    A lossless image stays lossless. Answers with `width` and `height` of the large one and `has_small`, or with `fault`, a sentence
    for whoever uploaded it.
    """
    try:
        return _encode(Path(source), Path(folder), large, small, is_lossless=is_lossless)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # decoders raise whatever a broken file leads them to
        return {"fault": FAULT}


def _encode(source: Path, folder: Path, width: int, small: int, *, is_lossless: bool) -> dict[str, object]:
    with source.open("rb") as file:
        head = file.read(16)
    is_lossless = is_lossless or not any(mark in head for mark in LOSSY_HEADS)
    large = _pixels(source, width)
    _write(large, folder / "large.webp", is_lossless=is_lossless)
    has_small = 0 < small < large.width
    if has_small:
        _write(_narrow(large, small), folder / "small.webp", is_lossless=is_lossless)
    return {"width": large.width, "height": large.height, "has_small": has_small}


def _pixels(source: Path, width: int) -> Image.Image:
    """The image upright, at most this wide, with nothing beside its pixels."""
    with Image.open(source, formats=READ) as opened:
        opened.draft("RGB", (width, width))  # a JPEG of a camera is decoded at a fraction of its size
        upright = ImageOps.exif_transpose(opened)
        return _narrow(upright.convert("RGBA" if upright.has_transparency_data else "RGB"), width)


def _narrow(image: Image.Image, width: int) -> Image.Image:
    copy = image.copy()
    copy.thumbnail((width, MAX_HEIGHT))
    copy.info = {}  # a colour profile would be written with it
    return copy


def _write(image: Image.Image, path: Path, *, is_lossless: bool) -> None:
    image.save(path, "WEBP", lossless=is_lossless, quality=60 if is_lossless else QUALITY)
