"""Use of compute by month (UTC): hours of slots and GPUs, waiting times, and nodes of clusters.

A slot counts in the month in which it was given back, and one that is used still in the present month, as far as it has come.
"""

import csv
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db.models import Count, DateTimeField, DurationField, ExpressionWrapper, F, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce
from django.http import StreamingHttpResponse

from competitions.compute.models import ClusterJob, Queue
from competitions.runs.models import SlotUse
from core.refusals import RefusalKind
from core.spreadsheets import Echo, csv_download, safe_cell

HOUR: Final = timedelta(hours=1)
WAITS_READ: Final = 10_000  # newest hand-outs that percentiles are made of
PERCENTILES: Final = (50, 90, 99)
GONE: Final = "deleted"  # in place of the name of what is no longer there
NAMES: Final = ("queue", "competition", "phase", "team")
FIELDS: Final = ("month", *NAMES, "runs", "hours", "gpu_hours")
_KEYS: Final = ("queue__name", "competition__slug", "phase__slug", "team__name")


MONTH_INVALID = RefusalKind(
    400, "month_invalid", "{month!r} is not a month. Write the year and the month, such as 2026-11."
)


@dataclass(frozen=True, order=True)
class Month:
    """A month of a year, 1 to 12."""

    year: int
    number: int

    @classmethod
    def at(cls, instant: datetime) -> "Month":
        """The month of this instant."""
        day = instant.astimezone(UTC)
        return cls(day.year, day.month)

    @classmethod
    def parse(cls, text: str) -> "Month":
        """The month that is written like 2026-11. Raises `MONTH_INVALID`."""
        match = re.fullmatch(r"([0-9]{4})-(0[1-9]|1[0-2])", text)
        if match is None or not "1970" <= match[1] < "9999":
            raise MONTH_INVALID(month=text[:60])
        return cls(int(match[1]), int(match[2]))

    @property
    def before(self) -> "Month":
        return Month(self.year - 1, 12) if self.number == 1 else Month(self.year, self.number - 1)

    @property
    def after(self) -> "Month":
        return Month(self.year + 1, 1) if self.number == 12 else Month(self.year, self.number + 1)

    @property
    def begins_at(self) -> datetime:
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def ends_at(self) -> datetime:
        """The first instant of the next month."""
        return self.after.begins_at

    @property
    def title(self) -> str:
        """The month as in a sentence: November 2026."""
        return f"{self.begins_at:%B} {self.year}"

    def __str__(self) -> str:
        return f"{self.year:04}-{self.number:02}"


@dataclass(frozen=True)
class Use:
    """Hours that runs used slots and GPUs; `runs`: how many slots were used."""

    runs: int = 0
    hours: float = 0.0
    gpu_hours: float = 0.0

    def __add__(self, other: "Use") -> "Use":
        return Use(self.runs + other.runs, self.hours + other.hours, self.gpu_hours + other.gpu_hours)


@dataclass(frozen=True)
class UseRow:
    """The use of a competition, a phase or a team.

    `share`: of all GPU hours, or of all hours where there are none; 0 to 1.
    """

    name: str
    key: int | None
    use: Use
    share: float = 0.0


@dataclass(frozen=True)
class ClusterUse:
    """Nodes that launchers brought.

    `idle_share`: of the time that they were given, 0 to 1; None without any.
    """

    nodes: int
    node_hours: float
    gpu_hours: float
    idle_share: float | None
    ends: Sequence[tuple[str, int]]

    @property
    def idle_percent(self) -> int | None:
        return None if self.idle_share is None else round(100 * self.idle_share)


def slots_in(month: Month, *, now: datetime) -> QuerySet[SlotUse]:
    """The slots that count in a month, each with `held`, a duration."""
    return _with_time(SlotUse.objects.filter(_counted(month, now)), now)


def _counted(month: Month, now: datetime) -> Q:
    """The condition of rows that ended in the month; in the present one also of those that go on."""
    ended = Q(ended_at__gte=month.begins_at, ended_at__lt=month.ends_at)
    return ended | Q(ended_at=None) if month == Month.at(now) else ended


def _with_time(slots: QuerySet[SlotUse], now: datetime) -> QuerySet[SlotUse]:
    until = Coalesce("ended_at", Value(now, DateTimeField()))
    return slots.annotate(held=ExpressionWrapper(until - F("started_at"), output_field=DurationField())).order_by()


def use_by(slots: QuerySet[SlotUse], *fields: str) -> dict[tuple[Any, ...], Use]:
    """The use by the values of these fields, in one query."""
    uses: dict[tuple[Any, ...], Use] = {}
    for *key, gpus, runs, held in slots.values_list(*fields, "gpus").annotate(runs=Count("pk"), time=Sum("held")):
        hours = max(held / HOUR, 0.0)
        uses[tuple(key)] = uses.get(tuple(key), Use()) + Use(runs, hours, gpus * hours)
    return uses


def total_use(slots: QuerySet[SlotUse]) -> Use:
    """The use of all of them."""
    return sum(use_by(slots).values(), Use())


def use_rows(slots: QuerySet[SlotUse], field: str, *names: str) -> list[UseRow]:
    """The use by a relation of a lease, such as "team" with its name at "team__name"; most first.

    Further `names` tell rows of the same name apart.
    """
    uses = use_by(slots, field, *names)
    whole = sum(uses.values(), Use())
    rows = [
        UseRow(" · ".join(filter(None, titles)) or GONE, key, use, _share(use, whole))
        for (key, *titles), use in uses.items()
    ]
    return sorted(rows, key=lambda row: (-row.use.gpu_hours, -row.use.hours, row.name))


def _share(use: Use, whole: Use) -> float:
    if whole.gpu_hours:
        return use.gpu_hours / whole.gpu_hours
    return use.hours / whole.hours if whole.hours else 0.0


def waiting_times(slots: QuerySet[SlotUse]) -> list[tuple[int, float]]:
    """(percentile, seconds) that runs waited for their slots, of the newest 10,000; none below two."""
    rows = slots.order_by("-pk").values_list("waits_since", "started_at")[:WAITS_READ]
    waits = [max((began - since).total_seconds(), 0.0) for since, began in rows]
    if len(waits) < 2:
        return []
    cuts = statistics.quantiles(waits, n=100, method="inclusive")
    return [(percent, cuts[percent - 1]) for percent in PERCENTILES]


def cluster_use(queue: Queue, month: Month, *, now: datetime) -> ClusterUse | None:
    """The jobs of clusters that ended in a month or run now; None where there was none.

    A job counts once for each of its GPUs; one without a GPU, as one slot.
    """
    jobs = queue.jobs.filter(_counted(month, now), started_at__isnull=False)
    rows = list(jobs.values_list("started_at", "ended_at", "gpus", "end_reason"))
    if not rows:
        return None
    hours = [max(((ended or now) - (began or now)) / HOUR, 0.0) for began, ended, _, _ in rows]
    given = sum(each * max(gpus, 1) for each, (_, _, gpus, _) in zip(hours, rows, strict=True))
    used = total_use(_with_time(queue.slot_uses.filter(job__in=jobs.order_by().values("job")), now))
    return ClusterUse(
        nodes=len(rows),
        node_hours=sum(hours),
        gpu_hours=sum(each * gpus for each, (_, _, gpus, _) in zip(hours, rows, strict=True)),
        idle_share=max(1 - used.hours / given, 0.0) if given else None,
        ends=_ends(reason for _, _, _, reason in rows),
    )


def _ends(reasons: Iterable[str]) -> list[tuple[str, int]]:
    counts = Counter(reason for reason in reasons if reason)
    return [(str(ClusterJob.End(reason).label), count) for reason, count in counts.most_common()]


def usage_lines(slots: QuerySet[SlotUse], month: Month) -> Iterator[str]:
    """Lines of CSV with a heading, by name. What was deleted since has no name."""
    writer: Any = csv.writer(Echo())
    yield writer.writerow(FIELDS)
    uses = use_by(slots, *_KEYS)
    for key in sorted(uses, key=lambda key: [name or "" for name in key]):
        use = uses[key]
        names = [safe_cell(name or "") for name in key]
        yield writer.writerow([month, *names, use.runs, f"{use.hours:.4f}", f"{use.gpu_hours:.4f}"])


def usage_csv(slots: QuerySet[SlotUse], month: Month, *, name: str) -> StreamingHttpResponse:
    """The same as a download of this name."""
    return csv_download(usage_lines(slots, month), name)
