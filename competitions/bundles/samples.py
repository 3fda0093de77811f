"""Reads sample submissions of an import or a push, in a process of its own with the bounds of a check."""

from django.conf import settings

from core.background.bounded import Bounds, Call, OverBounds, run_bounded
from files.bundles.samples import Sample

FIND_FAULT = "scoring.tables.commands:find_sample_fault"


def sample_fault(sample: Sample) -> str:
    """The fault of a sample submission; empty for a right one."""
    solution = None if sample.solution is None else (str(sample.solution), sample.solution.name)
    arguments = {"path": str(sample.path), "file_name": sample.path.name, "schema": sample.schema, "solution": solution}
    bounds = Bounds(wall_s=settings.CHECK_WALL_S, cpu_s=settings.CHECK_CPU_S, memory_bytes=settings.CHECK_MEMORY_BYTES)
    try:
        # The claim on the work is kept by a thread of its own, so nobody has to be asked.
        answer = run_bounded(
            Call(FIND_FAULT, arguments), bounds, is_wanted=lambda: True, every_s=settings.BACKGROUND_LEASE_S
        )
    except OverBounds as error:
        return f"{sample.path.name} took more {error.what} to read than a check may use"
    return str(answer.get("message", ""))
