"""What a compute worker measures while a run is on it, by name."""

from typing import Final

METERED: Final = (
    "wall_s", "cpu_s", "memory_bytes", "memory_peak_bytes", "output_bytes", "bytes_written", "gpu_s", "gpu_memory_peak_bytes",
    "gpu_energy_j",
)  # fmt: skip
