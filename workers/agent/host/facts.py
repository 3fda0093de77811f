"""The hardware and the software that runs had, for the receipt and the worker's page."""

import os
import platform
import re
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from workers.engines.base import EngineFacts
from workers.engines.spec import MAX_OPEN_FILES
from workers.protocol.hosts import Gpu, Host
from workers.sandbox.limits import host_cores, host_memory_bytes

MIN_OPEN_FILES = 1024


def host_record(engine: EngineFacts, gpus: Sequence[Gpu], *, quota: bool, runtime: str = "") -> Host:
    """The description of this host that the site gets."""
    return Host(
        hostname=socket.gethostname(),
        os=engine.operating_system,
        kernel=engine.kernel,
        engine=engine.version,
        cpu_model=cpu_model(),
        cores=host_cores(),
        memory_bytes=host_memory_bytes(),
        cgroup=engine.cgroup_version,
        output_quota="loop" if quota else "none",
        seccomp="custom",
        user_namespaces=engine.user_namespaces,
        runtimes=engine.runtimes,
        runtime=runtime or "default",
        isolations=engine.isolations(runtime),
        unheld=engine.unheld,
        gpu_toolkit=toolkit_version() if gpus else "",
        gpus=tuple(gpus),
    )


def open_files(slots: int, pids: int, file_max: Path = Path("/proc/sys/fs/file-max")) -> int:
    """The number of descriptors for each process of a container.

    All runs together, with two containers each, open at most half of the host's. Never fewer than the 1,024 that programs take for granted:
    on a small host with many slots raise `fs.file-max`.
    """
    share = int(file_max.read_text()) // 4 // slots
    return max(MIN_OPEN_FILES, min(MAX_OPEN_FILES, share // pids))


def cpu_model() -> str:
    """The processor's name, as the kernel gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def boot_id() -> str:
    """Changes with every start of the host: monotonic times of another boot mean nothing."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


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


RESERVE: Final = 300_000  # inodes that one image or environment may take
SHARE: Final = 0.1  # of all, on a small disk


def missing_inodes(folder: Path) -> int:
    """The number of inodes that the disk of a folder lacks for its reserve.

    A disk may be full of them while bytes are free. 0 where there are enough, where the file system has no fixed number, and
    for a folder that this process does not see.
    """
    try:
        facts = os.statvfs(folder)
    except OSError:
        return 0
    return max(0, min(RESERVE, int(facts.f_files * SHARE)) - facts.f_favail) if facts.f_files else 0
