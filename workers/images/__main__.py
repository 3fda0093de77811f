"""`python -m workers.images ensure`: have the engine, the base image and Podium's runtime image ready."""

import argparse
import subprocess
import sys
from collections.abc import Sequence

from workers.images.base import BASE_IMAGE, ensure_base
from workers.images.engine import ImageError, ensure_engine
from workers.images.runtime_image import RUNTIME_IMAGE, TORCH_IMAGE, ensure_runtime, ensure_torch
from workers.protocol.images import ImageNameInvalid, parse_image


def _image_name(text: str) -> str:
    try:
        return str(parse_image(text))
    except ImageNameInvalid as error:
        raise argparse.ArgumentTypeError(str(error).replace("%", "%%")) from error


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0 when the image is there; 1 with the reason on stderr."""
    parser = argparse.ArgumentParser(prog="python -m workers.images", description=__doc__)
    parser.add_argument(
        "command",
        choices=["ensure", "base", "torch"],
        help=f"ensure: engine, base and runtime; base: no runtime; torch: {TORCH_IMAGE} too",
    )
    parser.add_argument(
        "--image", default=RUNTIME_IMAGE, type=_image_name, help=f"tag of the runtime image (default {RUNTIME_IMAGE})"
    )
    chosen = parser.parse_args(argv)
    try:
        ensure_engine()
        if chosen.command == "base":
            ensure_base(BASE_IMAGE)
        elif chosen.command == "torch":
            ensure_torch()
        else:
            ensure_runtime(chosen.image)
    except (ImageError, subprocess.CalledProcessError) as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
