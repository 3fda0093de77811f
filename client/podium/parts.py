"""Files that are sent in: which kind they look like, and folders packed into a zip."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Final

from podium.errors import InvalidInput
from podium.models import Kind, Phase

RUN_BY: Final = ("metadata.yaml", "metadata")
ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)  # the same folder is the same zip
LEFT_OUT: Final = ("__pycache__", ".git", ".venv", ".ipynb_checkpoints")


def choose_kind(phase: Phase, file: Path) -> Kind:
    """The kind that the phase accepts; of several, the one that the file looks like.

    Raises `InvalidInput` where that is not clear.
    """
    if len(phase.kinds) == 1:
        return phase.kinds[0]
    looks_like = _looks_like(file)
    if looks_like in phase.kinds:
        return looks_like
    raise InvalidInput(
        f"{phase.slug} accepts {', '.join(phase.kinds) or 'nothing'}; say with --kind which of them {file.name} is.",
        code="which_kind",
    )


def _looks_like(file: Path) -> Kind:
    """The kind that a file looks like.

    A zip with a program at its top is code, one with both folders of a dataset is a dataset; all else are predictions.
    """
    if file.suffix.lower() != ".zip" or not zipfile.is_zipfile(file):
        return "prediction"
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    if {"input_data", "reference_data"} <= {name.split("/")[0] for name in names}:
        return "dataset"
    top = [name for name in names if "/" not in name]
    is_program = any(name in RUN_BY or name.endswith((".py", ".sh", ".R", ".jl")) for name in top)
    return "code" if is_program else "prediction"


def packed(path: Path, scratch: Path) -> Path:
    """The zip to run or to send: the file, or a folder with its files at the top.

    Raises `InvalidInput`.
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise InvalidInput(f"There is no file or folder {str(path)!r}.", code="no_file")
    target, newest_ns = scratch / f"{path.resolve().name or 'code'}.zip", 0
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path.rglob("*")):
            inside = file.relative_to(path)
            if file.is_file() and not set(inside.parts) & set(LEFT_OUT):
                info, status = zipfile.ZipInfo(inside.as_posix(), ZIP_TIME), file.stat()
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (status.st_mode & 0o777) << 16
                archive.writestr(info, file.read_bytes())
                newest_ns = max(newest_ns, status.st_mtime_ns)
    os.utime(target, ns=(newest_ns, newest_ns))  # the same folder is the same file for an upload that goes on
    return target
