"""Charts of the CPU, memory and GPU that a run used: one for each measure, with a line for each stage."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Final

from competitions.catalog.models import GIB, MIB, Phase
from competitions.disclosure.outputs import LogStream, visible_streams
from competitions.disclosure.readers import Reader
from competitions.runs.models import Run, RunUsage
from competitions.web.templatetags.podium import duration, size
from core.design.charts import Axis, Chart, Point, Series, Tone

TONES: Final[dict[str, Tone]] = {LogStream.INGESTION: "own", LogStream.SUBMISSION: "best", LogStream.SCORING: "other"}
TITLES: Final = {
    LogStream.INGESTION: "Your program",
    LogStream.SUBMISSION: "Your submission's command",
    LogStream.SCORING: "Scoring",
}
LEAST_POINTS: Final = 2  # a single point is not a line; the meters say it
TIME_UNITS: Final = ((3 * 3600, 3600, "hours"), (180, 60, "minutes"))

Line = list[tuple[float, float]]  # seconds since the stage began, value
Lines = list[tuple[RunUsage, Line]]


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
    charts = []
    if lines := _lines(usages, "cpu_cores"):
        summary = f"At most {max(_values(lines)):.2g} of {phase.cpus:g} core{'' if phase.cpus == 1 else 's'} in use."
        charts.append(_drawn("cpu", "CPU", summary, lines, Axis("Cores"), lambda value: f"{value:.2f} cores"))
    if lines := _lines(usages, "memory_bytes"):
        summary = f"{size(max(_values(lines)))} at most; a program may use {size(phase.memory_bytes)}."
        charts.append(_bytes("memory", "Memory", summary, lines))
    if shares := _lines(usages, "gpu_share"):
        lines = _scaled(shares, 100)
        summary = f"Busy {fmean(_values(lines)):.0f} % of the time on average."
        charts.append(
            _drawn("gpu", "GPU", summary, lines, Axis("Busy (%)", ends=(0, 100)), lambda value: f"{value:.0f} %")
        )
    if lines := _lines(usages, "gpu_memory_bytes"):
        charts.append(_bytes("gpu-memory", "GPU memory", f"{size(max(_values(lines)))} at most.", lines))
    return [replace(chart, key=f"usage-{chart.key}-{run.pk}") for chart in charts]


def _values(lines: Lines) -> list[float]:
    return [value for _, line in lines for _, value in line]


def _scaled(lines: Lines, factor: float) -> Lines:
    return [(usage, [(at, value * factor) for at, value in line]) for usage, line in lines]


def _bytes(key: str, title: str, summary: str, lines: Lines) -> Chart:
    """A chart of bytes, in units that keep the numbers short."""
    unit, name = (GIB, "GiB") if max(_values(lines)) >= GIB else (MIB, "MiB")
    return _drawn(key, title, summary, _scaled(lines, 1 / unit), Axis(name), lambda value: size(value * unit))


def _drawn(key: str, title: str, summary: str, lines: Lines, y: Axis, text: Any) -> Chart:
    longest = max(line[-1][0] for _, line in lines)
    unit, name = next(((unit, name) for least, unit, name in TIME_UNITS if longest >= least), (1, "seconds"))
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
    y = Axis(y.title, ends=y.ends or (0.0, _round_above(max(_values(lines)))))
    return Chart(key, title, summary, x, y, series)


def _round_above(value: float) -> float:
    """The end of a scale that holds the value: 1, 2 or 5 in its first digit, or a half of that.

    >>> _round_above(1.04), _round_above(0.9), _round_above(0.0)
    (1.5, 1.0, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(unit * step for step in (1, 1.5, 2, 3, 4, 5, 7.5, 10) if unit * step >= value)


def _lines(usages: Sequence[RunUsage], measure: str) -> Lines:
    """The moments of each stage at which the measure is known."""
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
