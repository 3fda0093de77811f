"""Files and folders that a disk can still take: it may be full of them while bytes are free."""

import os
from pathlib import Path
from typing import Final

RESERVE: Final = 300_000  # what one image or environment may take
SHARE: Final = 0.1  # of all, on a small disk


def missing_inodes(folder: Path) -> int:
    """The number of inodes that the disk of a folder lacks for its reserve.

    0 where there are enough, where the file system has no fixed number, and for a folder that this process does not see.
    """
    try:
        facts = os.statvfs(folder)
    except OSError:
        return 0
    return max(0, min(RESERVE, int(facts.f_files * SHARE)) - facts.f_favail) if facts.f_files else 0
