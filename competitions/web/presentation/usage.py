"""Charts of the CPU, memory and GPU that a run used: one for each measure, with a line for each stage."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from competitions.catalog.models import Phase
from competitions.disclosure.outputs import visible_streams
from competitions.disclosure.readers import Reader
from competitions.disclosure.streams import LogStream
from competitions.runs.models import Run, RunUsage
from competitions.web.templatetags.podium import duration, size
from core.design.charts import Axis, Chart, Point, Series, Tone

TONES: Final[dict[str, Tone]] = {LogStream.INGESTION: "own", LogStream.SUBMISSION: "best", LogStream.SCORING: "other"}
TITLES: Final = {
    LogStream.INGESTION: "Your program",
    LogStream.SUBMISSION: "Your submission's command",
    LogStream.SCORING: "Scoring",
}
LEAST_POINTS: Final = 2  # a single point is no line; the meters say it
TIME_UNITS: Final = ((3 * 3600, 3600, "hours"), (180, 60, "minutes"))
GIB: Final = 2**30
MIB: Final = 2**20

Line = list[tuple[float, float]]  # seconds since the stage began, value


def run_usages(reader: Reader, phase: Phase, runs: Iterable[Run]) -> dict[Any, list[RunUsage]]:
    """The lines of these runs' newest attempts that this reader may see, by run, in one query.

    They follow the logs: a program can write into how much memory it takes what it prints.
    """
    by_pk = {run.pk: run for run in runs}
    by_run: dict[Any, list[RunUsage]] = {}
    for usage in RunUsage.objects.filter(run__in=by_pk):
        run = by_pk[usage.run_id]
        if usage.attempt in run.attempts_shown and usage.stage in visible_streams(reader, phase, is_smoke=run.is_smoke):
            by_run.setdefault(run.pk, []).append(usage)
    return by_run


def usage_charts(run: Run, phase: Phase, usages: Sequence[RunUsage]) -> list[Chart]:
    """Charts of what was measured; none of what was not, or at fewer than two moments."""
    charts = [_cpu(usages, phase), _memory(usages, phase), _gpu(usages), _gpu_memory(usages)]
    return [
        Chart(f"usage-{key}-{run.pk}", title, summary, x, y, series)
        for key, title, summary, x, y, series in filter(None, charts)
    ]


_Parts = tuple[str, str, str, Axis, Axis, list[Series]]


def _cpu(usages: Sequence[RunUsage], phase: Phase) -> _Parts | None:
    lines = _lines(usages, "cpu_cores")
    if not lines:
        return None
    most = max(value for _, line in lines for _, value in line)
    summary = f"At most {most:.2g} of {phase.cpus:g} cores were busy at a time."
    return _drawn("cpu", "CPU", summary, lines, Axis("Cores"), lambda value: f"{value:.2f} cores")


def _memory(usages: Sequence[RunUsage], phase: Phase) -> _Parts | None:
    lines = _lines(usages, "memory_bytes")
    if not lines:
        return None
    most = max(value for _, line in lines for _, value in line)
    return _bytes("memory", "Memory", f"{size(most)} at most; a program may use {size(phase.memory_bytes)}.", lines)


def _gpu(usages: Sequence[RunUsage]) -> _Parts | None:
    lines = [(usage, [(at, 100 * value) for at, value in line]) for usage, line in _lines(usages, "gpu_share")]
    if not lines:
        return None
    own = [value for _, line in lines for _, value in line]
    summary = f"Busy {sum(own) / len(own):.0f} % of the time on average."
    return _drawn("gpu", "GPU", summary, lines, Axis("Busy (%)", ends=(0, 100)), lambda value: f"{value:.0f} %")


def _gpu_memory(usages: Sequence[RunUsage]) -> _Parts | None:
    lines = _lines(usages, "gpu_memory_bytes")
    if not lines:
        return None
    most = max(value for _, line in lines for _, value in line)
    return _bytes("gpu-memory", "GPU memory", f"{size(most)} at most.", lines)


def _bytes(key: str, title: str, summary: str, lines: list[tuple[RunUsage, Line]]) -> _Parts:
    """In units that keep the numbers short."""
    most = max(value for _, line in lines for _, value in line)
    unit, name = (GIB, "GiB") if most >= GIB else (MIB, "MiB")
    scaled = [(usage, [(at, value / unit) for at, value in line]) for usage, line in lines]
    return _drawn(key, title, summary, scaled, Axis(name, ends=None), lambda value: size(value * unit))


def _drawn(key: str, title: str, summary: str, lines: list[tuple[RunUsage, Line]], y: Axis, text: Any) -> _Parts:
    longest = max(line[-1][0] for _, line in lines)
    unit, name = next(((unit, name) for least, unit, name in TIME_UNITS if longest >= least), (1, "seconds"))
    highest = max(value for _, line in lines for _, value in line)
    series = [
        Series(
            TITLES[LogStream(usage.stage)] if len(lines) > 1 else "",
            [Point(at / unit, round(value, 4), f"after {duration(at)}", text(value)) for at, value in line],
            "line",
            TONES[usage.stage],
        )
        for usage, line in lines
    ]
    x = Axis(f"Since the program began ({name})", ends=(0.0, longest / unit))
    return key, title, summary, x, Axis(y.title, ends=y.ends or (0.0, _round_above(highest))), series


def _round_above(value: float) -> float:
    """The end of a scale that holds the value: 1, 2 or 5 in its first digit, or a half of that.

    >>> _round_above(1.04), _round_above(0.9), _round_above(0.0)
    (1.5, 1.0, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(unit * step for step in (1, 1.5, 2, 3, 4, 5, 7.5, 10) if unit * step >= value)


def _lines(usages: Sequence[RunUsage], measure: str) -> list[tuple[RunUsage, Line]]:
    """Of each stage the moments at which the measure is known."""
    lines = []
    for usage in usages:
        line = [
            (float(at), float(value))
            for at, value in zip(usage.line.get("at_s", ()), usage.line.get(measure, ()), strict=False)
            if at is not None and value is not None
        ]
        if len(line) >= LEAST_POINTS:
            lines.append((usage, line))
    return lines
