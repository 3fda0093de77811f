"""The limits of stages in these tests, where nothing but a few of them matters."""

from __future__ import annotations

from workers.protocol.limits import MIB, Limits


def limits(wall_s: float, *, memory_bytes: int, cpus: float) -> Limits:
    """Limits with 64 processes and 1 MiB and 10 files of everything that is written."""
    return Limits(
        wall_s=wall_s,
        memory_bytes=memory_bytes,
        cpus=cpus,
        pids=64,
        output_bytes=MIB,
        output_files=10,
        tmp_bytes=MIB,
        log_bytes=MIB,
    )
