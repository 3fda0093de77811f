"""The NVIDIA container toolkit of this host.

Its version decides whether containers of teams' images get GPUs.
"""

import re
import shutil
import subprocess
from typing import Final

# Older ones let an image name a library that a hook loads as root of the host: CVE-2025-23266.
LEAST: Final = (1, 17, 8)
PROGRAMS: Final = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-cli")
VERSION: Final = re.compile(r"version:? v?(\d+\.\d+\.\d+)")
TIMEOUT_S: Final = 30.0


def toolkit_version() -> str:
    """The version of the toolkit, such as `1.17.8`; empty where this process sees none."""
    for program in PROGRAMS:
        path = shutil.which(program)
        if path is None:
            continue
        try:
            done = subprocess.run([path, "--version"], check=False, capture_output=True, text=True, timeout=TIMEOUT_S)
        except (OSError, subprocess.SubprocessError):
            continue
        if match := VERSION.search(done.stdout):
            return match[1]
    return ""


def toolkit_fault(version: str) -> str:
    """A few words on why a toolkit of this version must not be used; else, or if not known, empty."""
    if not version or tuple(map(int, version.split("."))) >= LEAST:
        return ""
    return f"NVIDIA container toolkit {version}, older than {'.'.join(map(str, LEAST))}"
