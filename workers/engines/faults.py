"""Blame for an image that cannot be loaded or started, by the engine's own words."""

import re
from collections.abc import Iterable
from typing import Final

from workers.errors import SandboxError

# The kernel's word ends what an engine says. containerd adds the kind of error, and containers/storage, which unpacks a layer
# in a process of its own, how that ended. Names that an image chooses stand before it.
FULL_OR_BROKEN: Final = re.compile(
    r"(?:\A|: )(?:no space left on device|input/output error)(?:: unknown|\): exit status \d+)?\s*\Z"
)
# Podman tries to load an image in each of these formats, and says in a line each why that failed. No name may stand before.
FORMATS: Final = re.compile(
    r'[^/"\n]*payload does not match any of the supported image formats[^\n]*:\n( \* .*)', re.DOTALL
)
FORMAT: Final = re.compile(r" \* (oci|oci-archive|docker-archive|dir): [^\n]*")
READ_ONLY: Final = re.compile(r"(?:\A|: )read-only file system(?:: unknown)?\s*\Z")
# Names that an image chooses come as a path or in quotation marks, so neither may stand before. The errors that are left out
# come from what the image demands of the GPU, or already has in the place of a file of the driver.
GPU_RUNTIME: Final = re.compile(
    r'\A[^/"]*(?:could not select device driver|unresolvable cdi devices'
    r"|nvidia-container-cli: (?!requirement error|ldcache error|mount error: file creation failed))"
)
HIDDEN: Final = "(a path of the host)"
REST: Final = r"[^\s\"',;:)]*"
# Where an engine sees the root of a container; from the beginning of the path.
MERGED: Final = re.compile(r"(?<![\w./-])/[^\s\"',;:)]{0,400}/merged(?=/)")
HOST_PATH: Final = re.compile(rf"(?<![^\s\"'(=:])/(?:var/lib|var/run|run|proc|sys|root|home|srv|mnt)/{REST}")


def is_of_host(words: str) -> bool:
    """True if an engine's words tell of its host: a full or broken disk, or a broken GPU runtime."""
    words = words.lower()
    if any(FULL_OR_BROKEN.search(line) for line in _reasons(words)) or GPU_RUNTIME.search(words):
        return True
    # What the OCI runtime cannot write lies inside the container: there a link of the image leads into a read-only mount.
    return "oci runtime" not in words and READ_ONLY.search(words) is not None


def _reasons(words: str) -> list[str]:
    """The engine's words, or its words on each format.

    A name with line breaks can add no format: each may come once.
    """
    formats = FORMATS.fullmatch(words)
    lines = formats[1].rstrip().split("\n") if formats else []
    names = [name[1] for line in lines if (name := FORMAT.fullmatch(line))]
    return lines if lines and len(lines) == len(names) == len(set(names)) else [words]


def without_host_paths(words: str, roots: Iterable[str]) -> str:
    """An engine's words as a team may read them: paths of the container, and none of the host.

    `roots` are further folders of the host: the worker's, and the engine's.

    >>> without_host_paths('mounting "/data/w/cache/1" to rootfs at "/app": mkdir /d/overlay2/1/merged/app: a file', ["/data/w"])
    'mounting "(a path of the host)" to rootfs at "/app": mkdir /app: a file'
    """
    words = MERGED.sub("", words)
    for root in sorted({root.rstrip("/") for root in roots} - {""}, key=len, reverse=True):
        words = re.sub(rf"{re.escape(root)}{REST}", HIDDEN, words)
    return HOST_PATH.sub(HIDDEN, words)


def is_of_image(error: SandboxError) -> bool:
    """True if a container could not be created or started because of its image, so on every host."""
    if error.code == "image_unsuitable":
        return True  # our own words, which quote the image
    return error.code in ("engine_error", "container_missing") and not is_of_host(error.detail)
