"""The contents of Podium's own images, for pages, advice and `podium image describe`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

from workers.protocol.images import ImageNameInvalid, parse_image

PYTHON: Final = "Python 3.11"
RUNTIME: Final = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "rdkit",
    "pyyaml",
    "polars",
    "zstandard",
    "sacrebleu",
    "matplotlib",
    "psutil",
    "filelock",
)
PACKAGES: Final = {
    "podium/runtime": RUNTIME,
    "podium/runtime-torch": (*RUNTIME, "torch", "torch-geometric", "openbabel-wheel"),
}


def image_contents(image: str) -> str:
    """A sentence on the image's contents; empty for an image that is not Podium's own.

    >>> image_contents("ghcr.io/lab/model:1")
    ''
    """
    try:
        name = parse_image(image)
    except ImageNameInvalid:
        return ""
    packages = () if name.registry else PACKAGES.get(name.repository, ())
    return f"{image} holds {PYTHON} with {', '.join(packages)}, and no network." if packages else ""


def main(arguments: Sequence[str]) -> int:
    """`podium image describe [IMAGE]`: 0 and what it holds, 1 for an image that Podium did not make."""
    parser = argparse.ArgumentParser(prog="podium image", description="What the images hold that submissions run in.")
    parser.add_argument("command", choices=["describe"])
    parser.add_argument("image", nargs="?", help="such as podium/runtime:1; without one: all that Podium makes")
    image = parser.parse_args(arguments).image
    sentences = [image_contents(reference) for reference in ([image] if image else [f"{name}:1" for name in PACKAGES])]
    if not all(sentences):
        print(f"{image} is no image that Podium makes. Ask the organizers who named it what it holds.")
        return 1
    print("\n".join(sentences))
    return 0
