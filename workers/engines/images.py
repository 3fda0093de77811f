"""What an image says about itself that decides how it is run: its entrypoint, and the places that it declares volumes."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from dataclasses import dataclass

from workers.errors import SandboxError

MAX_VOLUMES = 16
# An empty place here would take away what every program needs, or cover the kernel's own files.
SYSTEM_FOLDERS = ("/", "/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr", "/usr/bin", "/usr/lib", "/usr/local")
KERNEL_FOLDERS = ("/dev", "/proc", "/sys")


@dataclass(frozen=True)
class ImageFacts:
    """One image of this host. `digest` is the registry's where it has one, else the local id."""

    digest: str
    entrypoint: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    has_shell: bool = False
    size_bytes: int = 0  # on this host, layers that it shares included

    def volumes_beside(self, mounted: Collection[str]) -> list[str]:
        """The declared volumes that are not mounted anyway.

        Raises
        ------
        SandboxError
            `image_unsuitable`: one lies where nothing empty may lie, or within what the platform mounts.
        """
        relative = next((volume for volume in self.volumes if not volume.startswith("/")), None)
        if relative is not None:
            # Engines compare it as it is written, and would make a volume beside whatever is mounted there.
            raise unsuitable(f"declares the volume {relative[:200]!r}, which is no absolute path")
        places = sorted({posixpath.normpath(f"/{volume.lstrip('/')}") for volume in self.volumes} - set(mounted))
        if len(places) > MAX_VOLUMES:
            raise unsuitable(f"declares {len(places)} volumes; at most {MAX_VOLUMES} can be given a limited place")
        for place in places:
            if place in SYSTEM_FOLDERS or _within(place, KERNEL_FOLDERS):
                raise unsuitable(f"declares the system folder {place[:200]} a volume")
            if _within(place, set(mounted) - {"/tmp"}):
                raise unsuitable(f"declares the volume {place[:200]} inside a folder that Podium mounts")
        return places


NO_IMAGE = ImageFacts(digest="")


def _within(place: str, folders: Collection[str]) -> bool:
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)


def unsuitable(what: str) -> SandboxError:
    """The refusal of an image; `what` it does goes on after "it"."""
    return SandboxError(
        "image_unsuitable",
        f"The image cannot be used: it {what}. Build it without that VOLUME, or choose another image.",
    )
