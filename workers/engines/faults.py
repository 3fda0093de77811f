"""Whose fault it is that an engine could not load an image, or create or start a container of it, by the engine's own words."""

from __future__ import annotations

import re
from typing import Final

from workers.errors import SandboxError

# The kernel's word ends what an engine says, and containerd adds the kind of error. Names that an image chooses stand before it.
FULL_OR_BROKEN: Final = re.compile(r"(?:\A|: )(?:no space left on device|input/output error)(?:: unknown)?\s*\Z")
READ_ONLY: Final = re.compile(r"(?:\A|: )read-only file system(?:: unknown)?\s*\Z")
# Names that an image chooses come as a path or in quotation marks, so neither may stand before. The errors that are left out
# come from what the image demands of the GPU, or already has in the place of a file of the driver.
GPU_RUNTIME: Final = re.compile(
    r'\A[^/"]*(?:could not select device driver'
    r"|nvidia-container-cli: (?!requirement error|ldcache error|mount error: file creation failed))"
)


def is_of_host(words: str) -> bool:
    """Whether an engine's words tell of its host: a full or broken disk, or a GPU runtime that does not work."""
    words = words.lower()
    if FULL_OR_BROKEN.search(words) or GPU_RUNTIME.search(words):
        return True
    # What the OCI runtime cannot write lies inside the container: there a link of the image leads into a read-only mount.
    return "oci runtime" not in words and READ_ONLY.search(words) is not None


def is_of_image(error: SandboxError) -> bool:
    """Whether a container could not be created or started because of its image, and so on every host."""
    if error.code == "image_unsuitable":
        return True  # our own words, which quote the image
    return error.code in ("engine_error", "container_missing") and not is_of_host(error.detail)
