"""Images that people sent, re-encoded in a process with bounds."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from django.conf import settings

from competitions.resources.models import StoredFile
from competitions.resources.storage import local_copy, store_path
from core.background.bounded import Bounds, Call, OverBounds, run_bounded
from core.background.rows import RENEWALS

ENCODE: Final = "competitions.resources.image_encoding:encode"


def encode_image(
    file: StoredFile, sizes: Mapping[str, object], *, is_wanted: Callable[[], bool]
) -> tuple[dict[str, object], str]:
    """The fields `file`, `small`, `width` and `height` of the re-encoded image, or none and its fault.

    `sizes` are arguments of `encode`. Raises `Stopped`.
    """
    bounds = Bounds(wall_s=60, cpu_s=60, memory_bytes=settings.CHECK_MEMORY_BYTES)
    with tempfile.TemporaryDirectory(prefix="image-") as folder, local_copy(file) as path:
        work = Call(ENCODE, {"source": str(path), "folder": folder, **sizes})
        try:
            outcome = run_bounded(work, bounds, is_wanted=is_wanted, every_s=settings.BACKGROUND_LEASE_S / RENEWALS)
        except OverBounds as error:
            return {}, f"It took more {error.what} to read than this site allows. Save it smaller."
        if "fault" in outcome:
            return {}, str(outcome["fault"])
        large = store_path(Path(folder) / "large.webp")
        small = store_path(Path(folder) / "small.webp") if outcome["has_small"] else None
    return {"file": large, "small": small, "width": outcome["width"], "height": outcome["height"]}, ""
