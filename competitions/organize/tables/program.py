"""Has the tables of a draft read or written, with limits that the kernel keeps."""

from collections.abc import Callable, Mapping

from django.conf import settings

from core.background.bounded import Bounds, Call, run_bounded


def bounds() -> Bounds:
    """The bounds of the check of a submission."""
    return Bounds(wall_s=settings.CHECK_WALL_S, cpu_s=settings.CHECK_CPU_S, memory_bytes=settings.CHECK_MEMORY_BYTES)


def work_on_tables(
    request: Mapping[str, object], *, is_wanted: Callable[[], bool], every_s: float
) -> dict[str, object]:
    """The answer to a request; its `fault` names what is wrong with a file. Raises as `run_bounded`."""
    call = Call("competitions.organize.tables.answers:answer", dict(request))
    answer: dict[str, object] = run_bounded(call, bounds(), is_wanted=is_wanted, every_s=every_s)
    return answer
