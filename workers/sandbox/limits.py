"""The limits of one stage, as this host can grant them."""

import os

from workers.protocol.limits import MIB, Limits

MIN_MEMORY_BYTES = 16 * MIB  # below this the engine cannot even start an interpreter
MIN_OUTPUT_BYTES = 1 * MIB
SHARE_OF_MEMORY = 0.9  # what a stage gets that asks for what the host has


def host_memory_bytes() -> int:
    """Physical memory of this host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def host_cores() -> int:
    """Cores that this process, and so the engine beside it, may use."""
    return os.cpu_count() or 1


def grant(requested: Limits) -> Limits:
    """The limits that a stage gets: no more than the host has, no less than a container needs."""
    memory = requested.memory_bytes or int(host_memory_bytes() * SHARE_OF_MEMORY)
    return requested.model_copy(
        update={
            "memory_bytes": max(MIN_MEMORY_BYTES, min(memory, host_memory_bytes())),
            "cpus": min(requested.cpus or float(host_cores()), float(host_cores())),
            "output_bytes": max(MIN_OUTPUT_BYTES, requested.output_bytes),
        }
    )
