"""Names of container images, by the distribution specification's grammar; what is in Podium's own.

No other text reaches an engine.
"""

import re
from dataclasses import dataclass
from typing import Final

MAX_REPOSITORY: Final = 255
DIGEST_LENGTHS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}  # in hexadecimal digits
LABEL: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
HOST: Final = re.compile(rf"(?:{LABEL}(?:\.{LABEL})*|\[[0-9a-fA-F:]+\])")
PORT: Final = re.compile(r"[0-9]+")
COMPONENT: Final = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*")
TAG: Final = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}")
HEXADECIMAL: Final = re.compile(r"[0-9a-f]+")
IMAGE_ID: Final = re.compile(r"[0-9a-f]{64}")
EXAMPLE: Final = "Write it as for `docker pull`: podium/runtime:1, or ghcr.io/lab/model@sha256:… with a digest."
MAX_IMAGES: Final = 1000  # names that a worker reports of its host
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


class ImageNameInvalid(ValueError):
    """A text that names no image; the message says which part is wrong, and how one is written."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} {EXAMPLE}")


@dataclass(frozen=True)
class ImageName:
    """`[registry/]repository[:tag][@digest]`; `str` gives the text that was read."""

    registry: str
    repository: str
    tag: str
    digest: str

    def __str__(self) -> str:
        registry = f"{self.registry}/" if self.registry else ""
        return (
            f"{registry}{self.repository}{f':{self.tag}' if self.tag else ''}{f'@{self.digest}' if self.digest else ''}"
        )


def engine_name(text: str) -> str:
    """The name by which an engine lists the image: with its tag, without Docker Hub's prefixes.

    >>> [engine_name(name) for name in ("docker.io/library/debian", "lab/model:v2")]
    ['debian:latest', 'lab/model:v2']
    """
    name = parse_image(text)
    is_hub = name.registry in ("", "docker.io", "index.docker.io")
    repository = name.repository.removeprefix("library/") if is_hub else f"{name.registry}/{name.repository}"
    return f"{repository}@{name.digest}" if name.digest else f"{repository}:{name.tag or 'latest'}"


def parse_image(text: str) -> ImageName:
    """Read the name of an image.

    Raises `ImageNameInvalid`, which names the part that is wrong: registry, port, repository, tag or digest.

    >>> parse_image("localhost:5000/lab/model:v2").registry
    'localhost:5000'
    """
    name, at, digest = text.partition("@")
    if at:
        _check_digest(digest)
    head, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        head, tag = name, ""
    elif not TAG.fullmatch(tag):
        raise ImageNameInvalid(
            f"The image's tag {_quoted(tag)} is wrong: 1 to 128 letters, digits, dots, dashes and underscores, "
            f"not beginning with a dot or dash."
        )
    registry, repository = _split_registry(head)
    _check_repository(registry, repository)
    return ImageName(registry, repository, tag, digest)


def _split_registry(name: str) -> tuple[str, str]:
    """Registry and repository of a name.

    A first part with a dot or a port, or `localhost`, names a registry; any other belongs to the repository.
    """
    first, slash, rest = name.partition("/")
    if not slash or not (first == "localhost" or "." in first or ":" in first):
        return "", name
    host, colon, port = first.rpartition(":") if not first.endswith("]") else (first, "", "")
    if not colon:
        host = first
    if not HOST.fullmatch(host):
        raise ImageNameInvalid(f"The image's registry {_quoted(host)} is not a host name.")
    if colon and not PORT.fullmatch(port):
        raise ImageNameInvalid(f"The port {_quoted(port)} of the image's registry is not a number.")
    return first, rest


def _check_repository(registry: str, repository: str) -> None:
    if not repository:
        raise ImageNameInvalid("The image has no repository.")
    for part in repository.split("/"):
        if not COMPONENT.fullmatch(part):
            raise ImageNameInvalid(
                f"The image's repository {_quoted(repository)} is wrong{f' at {_quoted(part)}' if part else ''}: "
                f"parts of lower-case letters and digits, joined by single slashes; inside a part dots, dashes or underscores."
            )
    if len(registry) + len(repository) > MAX_REPOSITORY:
        raise ImageNameInvalid(f"The image's repository is longer than {MAX_REPOSITORY} characters.")
    if not registry and IMAGE_ID.fullmatch(repository):
        raise ImageNameInvalid("This is the id of an image on one host, which no other host knows.")


def _check_digest(digest: str) -> None:
    algorithm, _, value = digest.partition(":")
    if algorithm not in DIGEST_LENGTHS:
        raise ImageNameInvalid(f"The image's digest {_quoted(digest)} must begin with sha256:, sha384: or sha512:.")
    if len(value) != DIGEST_LENGTHS[algorithm] or not HEXADECIMAL.fullmatch(value):
        raise ImageNameInvalid(
            f"The image's digest {_quoted(digest)} must have {DIGEST_LENGTHS[algorithm]} hexadecimal digits in lower case."
        )


def _quoted(part: str) -> str:
    return ascii(part if len(part) <= 60 else f"{part[:57]}...")


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
