"""Folders of code, packed into a zip to run or to send."""

import os
import zipfile
from pathlib import Path
from typing import Final

from podium.errors import InvalidInput

ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)  # the same folder is the same zip
LEFT_OUT: Final = ("__pycache__", ".git", ".venv", ".ipynb_checkpoints")


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
