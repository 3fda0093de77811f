"""The contents of Podium's own images, for pages, advice and `podium image describe`."""

import argparse
import json
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
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    names = [options.image] if options.image else [f"{name}:1" for name in PACKAGES]
    contents = {name: image_contents(name) for name in names}
    if is_known := all(contents.values()):
        answer: dict[str, object] = dict(contents)
        text = "\n".join(contents.values())
    else:
        text = f"{options.image} is no image that Podium makes. Ask the organizers who named it what it holds."
        answer = {"error": {"code": "unknown_image", "message": text, "exit_status": 1}}
    print(json.dumps(answer, indent=1) if options.json else text)
    return 0 if is_known else 1
