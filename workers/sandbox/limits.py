"""The limits of one stage, as the site asks for them and as this host can grant them."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

MIB = 1 << 20
GIB = 1 << 30
MIN_MEMORY_BYTES = 16 * MIB  # below this the engine cannot even start an interpreter
MIN_OUTPUT_BYTES = 1 * MIB


def host_memory_bytes() -> int:
    """Physical memory of this host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def host_cores() -> int:
    """Cores that this process, and so the engine beside it, may use."""
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Limits:
    """Bounds of one container. `wall_s` in seconds, `cpus` in cores, the rest in bytes or counts."""

    wall_s: float
    memory_bytes: int
    cpus: float
    pids: int
    output_bytes: int
    output_files: int
    tmp_bytes: int
    log_bytes: int

    @classmethod
    def from_json(cls, said: dict[str, Any]) -> Limits:
        """Read the protocol's `limits`. 0 or null means "what the host has" for memory and cores, else the default.

        Raises
        ------
        ValueError
            A number that is negative or no number; the message names the key.
        """
        wall_s = _number(said, "wall_s", 3600.0)
        memory = int(_number(said, "memory_bytes", host_memory_bytes() * 0.9))
        return cls(
            wall_s=wall_s,
            memory_bytes=max(MIN_MEMORY_BYTES, min(memory, host_memory_bytes())),
            cpus=min(_number(said, "cpus", float(host_cores())), float(host_cores())),
            pids=int(_number(said, "pids", 256)),
            output_bytes=max(MIN_OUTPUT_BYTES, int(_number(said, "output_bytes", 1 * GIB))),
            output_files=int(_number(said, "output_files", 1000)),
            tmp_bytes=int(_number(said, "tmp_bytes", 256 * MIB)),
            log_bytes=int(_number(said, "log_bytes", 1 * MIB)),
        )

    def as_json(self) -> dict[str, Any]:
        """The limits that were really set, for the receipt."""
        return asdict(self)


def _number(said: dict[str, Any], key: str, default: float) -> float:
    value = said.get(key)
    if value is None or value == 0:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**62:
        raise ValueError(f"limits.{key} must be a positive number, not {value!r}")
    return value
