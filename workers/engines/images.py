"""Parts of an image that decide how it is run: entrypoint, volumes, labels, variables."""

import posixpath
import re
import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from workers.errors import SandboxError

MAX_VOLUMES = 16
MAX_LABELS: Final = 1000
MAX_LABEL_CHARACTERS: Final = 64 << 10  # of all names together
MAX_VARIABLE_CHARACTERS: Final = 32 << 10
# Variables that loaders, the C library and the hooks of GPU runtimes obey. Such a hook runs as root of the host.
OF_HOOKS: Final = ("LD_", "NVIDIA_", "CUDA_", "GLIBC_", "GCONV_", "MALLOC_", "GODEBUG")
OF_HOOKS_ALONE: Final = "NVIDIA_"
SHELL_NAME: Final = re.compile(r"[A-Z_][A-Z0-9_]*")
# An empty place here would take away what every program needs, or cover the kernel's own files.
SYSTEM_FOLDERS = ("/", "/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr", "/usr/bin", "/usr/lib", "/usr/local")
KERNEL_FOLDERS = ("/dev", "/proc", "/sys")


@dataclass(frozen=True)
class ImageFacts:
    """One image of this host. `digest` is the registry's where it has one, else the local id.

    `labels` are the names of its labels, `hook_variables` those of its variables, as `NAME=value`, that hooks of GPU runtimes obey.
    """

    digest: str
    entrypoint: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    has_shell: bool = False
    size_bytes: int = 0  # on this host, layers that it shares included
    labels: tuple[str, ...] = ()
    hook_variables: tuple[str, ...] = ()

    def emptied_labels(self) -> dict[str, str]:
        """Each label with an empty value. Raises `SandboxError`, `image_unsuitable`, for too many.

        An image's labels become its container's, by which people and their tools find containers.
        """
        if len(self.labels) > MAX_LABELS or sum(map(len, self.labels)) > MAX_LABEL_CHARACTERS:
            raise unsuitable(f"has {len(self.labels)} labels or very long ones", "with fewer labels")
        return dict.fromkeys(self.labels, "")

    def exports(self, variables: Collection[str]) -> str:
        """Shell commands that set the variables that were withheld, but for `variables`.

        Raises `SandboxError`, `image_unsuitable`, for values that are too long.
        """
        pairs = [variable.partition("=")[::2] for variable in self.hook_variables]
        given_back = [
            (name, value)
            for name, value in pairs
            if SHELL_NAME.fullmatch(name) and not name.startswith(OF_HOOKS_ALONE) and name not in variables
        ]
        if sum(len(name) + len(value) for name, value in given_back) > MAX_VARIABLE_CHARACTERS:
            raise unsuitable("sets variables such as LD_LIBRARY_PATH to very long values", "with shorter ones")
        return "".join(f"export {name}={shlex.quote(value)}; " for name, value in given_back)

    def volumes_beside(self, mounted: Collection[str]) -> list[str]:
        """The declared volumes that are not mounted anyway.

        Raises `SandboxError` (`image_unsuitable`) for one where nothing empty may lie, or within what the platform
        mounts.
        """
        relative = next((volume for volume in self.volumes if not volume.startswith("/")), None)
        if relative is not None:
            # Engines compare it as it is written, and would make a volume beside whatever is mounted there.
            raise unsuitable(f"declares the volume {relative[:200]!r}, which is not an absolute path")
        places = sorted({posixpath.normpath(f"/{volume.lstrip('/')}") for volume in self.volumes} - set(mounted))
        if len(places) > MAX_VOLUMES:
            raise unsuitable(f"declares {len(places)} volumes; at most {MAX_VOLUMES} can be given a limited place")
        for place in places:
            if place in SYSTEM_FOLDERS or _within(place, KERNEL_FOLDERS):
                raise unsuitable(f"declares the system folder {place[:200]} a volume")
            if _within(place, set(mounted) - {"/tmp"}):
                raise unsuitable(f"declares the volume {place[:200]} inside a folder that Podium mounts")
        return places


def hook_variables(variables: Iterable[str]) -> tuple[str, ...]:
    """The image's variables that hooks of GPU runtimes obey."""
    return tuple(variable for variable in variables if variable.startswith(OF_HOOKS))


NO_IMAGE = ImageFacts(digest="")


def _within(place: str, folders: Collection[str]) -> bool:
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)


def unsuitable(what: str, instead: str = "without that VOLUME") -> SandboxError:
    """The refusal of an image; `what` it does goes on after "it", what to do `instead` after "Build it"."""
    return SandboxError(
        "image_unsuitable", f"The image cannot be used: it {what}. Build it {instead}, or choose another image."
    )
