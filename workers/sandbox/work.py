"""Inputs that a stage may write to: private copies in a file system just large enough."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from workers.engines.spec import DEFAULT_UID, Mount
from workers.errors import SandboxError
from workers.sandbox.output_volume import MakeRoom, OutputVolume, no_room

SPARE_BYTES = 64 << 20  # for lock files, byte code, unpacked helpers
SPARE_FILES = 2000
COPY_TIMEOUT_S = 1800
# Where a target's copy lies in the file system. `/app/input` is one mount, so that a program may write beside ref and res.
PLACES = {
    "/app/program": "program",
    "/app/ingested_program": "ingested_program",
    "/app/input/ref": "input/ref",
    "/app/input/res": "input/res",
}
# A program is also found where its documentation has always said that it is.
ALSO_AT = {"/app/program": "/app/ingestion_program"}


def is_copied(target: str) -> bool:
    """True if a stage with writable inputs gets a copy of this target.

    Datasets stay shared and read-only.
    """
    return target in PLACES


@dataclass
class WritableInputs:
    """The copies of one stage's inputs; `sources` are the folders by target, as the stage starts."""

    folder: Path
    name: str
    quota: bool
    sources: Mapping[str, Path]
    owner: int = DEFAULT_UID
    make_room: MakeRoom = no_room

    @property
    def path(self) -> Path:
        """The root of the copies."""
        return self.folder / self.name

    @cached_property
    def volume(self) -> OutputVolume:
        """The file system of the copies, with room for them and a little more."""
        size = count = 0
        for source in self.sources.values():
            bytes_there, files_there = _measure(source)
            size, count = size + bytes_there, count + files_there
        return OutputVolume(
            self.folder,
            self.name,
            size_bytes=size + SPARE_BYTES,
            files=count + SPARE_FILES,
            quota=self.quota,
            executable=True,
            owner=self.owner,
            make_room=self.make_room,
        )

    def mounts(self) -> tuple[Mount, ...]:
        """The mounts of the container for them."""
        places: dict[str, str] = {}
        for target in self.sources:
            if target.startswith("/app/input/"):
                places["/app/input"] = "input"
            else:
                places[target] = PLACES[target]
                if target in ALSO_AT:
                    places[ALSO_AT[target]] = PLACES[target]
        return tuple(Mount(self.path / place, target, writable=True) for target, place in places.items())

    def reserve(self) -> None:
        """Make the folders that the engine wants to see when it is told about the container."""
        for target in self.sources:
            (self.path / PLACES[target]).mkdir(parents=True, exist_ok=True)

    def fill(self, extra: Mapping[str, bytes]) -> None:
        """Copy everything; `extra` are further small files by their place, such as `input/res/metadata`.

        Raises `SandboxError` (`disk_full`, `staging_failed` or `output_volume`).
        """
        self.destroy()  # what was reserved, or what a predecessor began
        self.volume.create()
        for target, source in self.sources.items():
            copy_tree(source, self.path / PLACES[target])
        for place, content in extra.items():
            _write_anew(self.path / place, content)
        give_to_runner(self.path, self.owner)

    def destroy(self) -> None:
        """Unmount and delete. Safe to call twice, and on what a predecessor made."""
        OutputVolume(self.folder, self.name, size_bytes=0, files=0, quota=self.quota).destroy()


def copy_tree(source: Path, target: Path) -> None:
    """Copy a folder's content into another: links as links, with times, without set-ID and sticky bits.

    Python compares a file's time with that in its byte code, and would compile what is read-only again at each start.
    Raises `SandboxError`: `disk_full` where the target's file system is too small, else `staging_failed`.
    """
    target.mkdir(parents=True, exist_ok=True)
    # Without --preserve=mode no file is ever there with one of these bits; folders may keep the last, which find takes.
    _copy("cp", "-R", "-P", "--preserve=timestamps", "--reflink=auto", "--", f"{source}/.", str(target))
    _copy("find", str(target), "-perm", "/7000", "!", "-type", "l", "-exec", "chmod", "a-st", "--", "{}", "+")


def _copy(*argv: str) -> None:
    done = subprocess.run(
        argv, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=COPY_TIMEOUT_S, umask=0o022
    )
    if done.returncode != 0:
        message = done.stderr.decode(errors="replace").strip()[:300]
        code = "disk_full" if "No space left" in message else "staging_failed"
        raise SandboxError(code, f"an input could not be copied: {message}")


def _write_anew(path: Path, content: bytes) -> None:
    """Write a file in the place of whatever a program left there under its name, be it a folder or a link."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def give_to_runner(path: Path, owner: int) -> None:
    """Let the container's user write everything below a folder."""
    if os.geteuid() == 0:
        _run("chown", "-R", "-h", f"{owner}:{owner}", "--", str(path))
        _run("chmod", "-R", "u+rwX", "--", str(path))
    else:
        _run("chmod", "-R", "a+rwX", "--", str(path))


def _run(*argv: str) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=COPY_TIMEOUT_S)
    except subprocess.SubprocessError as error:
        raise SandboxError("staging_failed", f"the copies of the inputs could not be handed over: {error}") from error


def _measure(folder: Path) -> tuple[int, int]:
    """Bytes, in whole blocks, and the number of files and folders below a folder."""
    size = count = 0
    for root, folders, files in os.walk(folder):
        count += len(folders) + len(files)
        for name in files:
            size += -((Path(root) / name).lstat().st_size // -4096) * 4096
        size += 4096 * (len(folders) + 1)
    return size, count
