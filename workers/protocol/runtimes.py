"""The contents of Podium's own images, for pages, advice and `podium image describe`."""

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
