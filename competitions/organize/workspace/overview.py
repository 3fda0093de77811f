"""The organizer's overview: what needs attention, the queue, numbers, and charts of the last weeks."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import QuerySet, Sum
from django.urls import reverse
from django.utils.html import format_html

from competitions.catalog.models import Competition
from competitions.catalog.readiness import competition_warnings
from competitions.compute.launchers import expected_nodes
from competitions.compute.models import ComputeWorker, Queue
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_see_board
from competitions.discussions.models import Report
from competitions.leaderboards.ranking.values import deciding_column
from competitions.leaderboards.reading.board import baseline_entries, best_of_all_over_time
from competitions.leaderboards.reading.results import load_boards
from competitions.organize.models import CompetitionDay
from competitions.runs.accounting.gpu_hours import allowance
from competitions.runs.models import Run
from competitions.runs.queue.positions import queue_wait
from competitions.runs.services import unstarted_submissions
from competitions.submissions.models import Submission
from competitions.submissions.states import HELD, ORGANIZERS_OWN, Reason, State
from competitions.teams.models import Registration
from competitions.web.presentation.charts import baseline_levels, score_chart
from competitions.web.templatetags.podium import ago
from core.design.charts import Axis, Chart, Point, Series, Tone
from files.text import quantity

DAYS: Final = 28
MOST_COUNTED: Final = 100  # of what waits for somebody: more is not told apart
MOST_RUNS: Final = 1000
MOST_WORKERS: Final = 20  # that are listed, those last seen
# Units of compute time, the largest that fits the busiest day is taken.
UNITS: Final = (("Hours", "h", 3600), ("Minutes", "min", 60), ("Seconds", "s", 1))


@dataclass(frozen=True)
class Attention:
    """One thing for the organizer to do, and where."""

    text: str
    url: str = ""
    action: str = ""


def attention_items(competition: Competition, queue: "QueueState", *, now: datetime) -> list[Attention]:
    """Matters that keep teams waiting, most urgent first."""
    return [
        *_idle_workers(queue, now),
        *_waiting_rows(competition, now),
        *_reported_posts(competition),
        *_closed_phases(competition, now),
        *_gpu_hours(competition, now),
        *(Attention(f"{warning.where}: {warning.text}") for warning in competition_warnings(competition)),
    ]


def _idle_workers(queue: "QueueState", now: datetime) -> Iterator[Attention]:
    """A queue none of whose workers takes runs; readiness tells of one that has no worker, or is paused."""
    if queue.answering or not queue.workers or queue.queue.is_paused:
        return
    # A cluster starts a node once runs wait: until then its workers may well be gone.
    if queue.queue.pk in expected_nodes([queue.queue], now=now) or (
        not queue.waiting and queue.queue.launchers.exists()
    ):
        return
    newest, _ = queue.workers[0]
    text = "All workers are silent, drained or in quarantine."
    if newest.is_silent(now):
        text = format_html("No worker is responding (last seen {}).", ago(newest.last_seen_at))
    waiting = "1 run is waiting." if queue.waiting == 1 else f"{queue.waiting:,} runs are waiting."
    yield Attention(format_html("{} {}", text, waiting) if queue.waiting else text)


def _closed_phases(competition: Competition, now: datetime) -> Iterator[Attention]:
    """A competition whose last phase has ended and takes nothing late either."""
    phases = list(competition.phases.all())
    if phases and all(
        phase.closes_at is not None and phase.closes_at <= now and not phase.accepts_late for phase in phases
    ):
        text = "All phases are closed, so teams cannot submit."
        yield Attention(text, reverse("organize:phases", args=[competition.slug]), "See them")


def _waiting_rows(competition: Competition, now: datetime) -> Iterator[Attention]:
    """Submissions and registrations that wait for an organizer, each with the list of them."""

    def listed(name: str, state: str) -> str:
        return f"{reverse(f'organize:{name}', args=[competition.slug])}?state={state}"

    # Scoring that failed by the setup within a week: the teams were told that the organizers know.
    recent = Submission.objects.filter(
        reason__in=ORGANIZERS_OWN, finished_at__gte=now - timedelta(days=7), rescores=None
    )
    if count := recent.filter(phase__competition=competition)[:MOST_COUNTED].count():
        failed = f"{count_words(count, 'submission')} of this week failed by the competition's own setup."
        yield Attention(f"{failed} Fix it, and run them again.", listed("submissions", "failed"), "See them")
    if count := unstarted_submissions(competition)[:MOST_COUNTED].count():
        wait, them = ("waits", "it") if count == 1 else ("wait", "them")
        text = f"{count_words(count, 'submission')} {wait} for you to start {them}."
        yield Attention(text, listed("submissions", State.UNSTARTED), "Start")
    waiting = Registration.objects.filter(competition=competition, state=Registration.State.PENDING)
    if count := waiting[:MOST_COUNTED].count():
        wait = "waits" if count == 1 else "wait"
        text = f"{count_words(count, 'person', 'people')} {wait} for you to approve their registration."
        yield Attention(text, listed("registrations", "pending"), "Decide")


def _reported_posts(competition: Competition) -> Iterator[Attention]:
    """Posts that wait for an organizer, or that somebody reported."""
    if count := posts_to_decide(Report.objects.filter(competition=competition)):
        wait = "waits" if count == 1 else "wait"
        text = f"{count_words(count, 'post')} in the discussion {wait} for your decision."
        yield Attention(text, reverse("organize:discussion", args=[competition.slug]), "Decide")


def posts_to_decide(reports: QuerySet[Report]) -> int:
    """The number of posts with open reports among these, up to `MOST_COUNTED`."""
    open_posts = reports.filter(settled_at=None).order_by().values("post").distinct()
    return open_posts[:MOST_COUNTED].count()


def _gpu_hours(competition: Competition, now: datetime) -> Iterator[Attention]:
    left = allowance(competition, now=now)
    if not left.is_nearly_spent:
        return
    text = f"{left.used:,.0f} of {left.given:,} GPU hours for this month are used."
    if left.is_spent:
        text = f"The {left.given:,} GPU hours for this month are used up: runs with a GPU wait for the next month."
    yield Attention(text, reverse("organize:usage", args=[competition.slug]), "See what used them")


def count_words(count: int, singular: str, several: str = "") -> str:
    """The quantity, of which no more than `MOST_COUNTED` were counted."""
    words = quantity(count, singular, several)
    return words.replace(" ", " or more ", 1) if count == MOST_COUNTED else words


def competition_numbers(
    competition: Competition, days: Sequence[CompetitionDay], now: datetime
) -> list[tuple[str, str]]:
    """A few numbers with their names."""
    total = CompetitionDay.objects.filter(competition=competition).aggregate(
        submitted=Sum("submitted"), scored=Sum("scored")
    )
    week = sum(day.submitted for day in days if day.day > (now - timedelta(days=7)).date())
    queued = Run.objects.filter(submission__phase__competition=competition, state=State.QUEUED)
    waiting = queued[:MOST_RUNS].count()
    return [
        ("Teams", f"{competition.team_count:,}"),
        ("Submissions", f"{total['submitted'] or 0:,}"),
        ("Submissions, last 7 days", f"{week:,}"),
        ("Scored", f"{total['scored'] or 0:,}"),
        ("Runs waiting", f"{waiting:,}{' or more' if waiting == MOST_RUNS else ''}"),
    ]


def shown_days(competition: Competition, now: datetime) -> list[CompetitionDay]:
    """The last weeks, a day each, also those on which nothing came."""
    since = now.date() - timedelta(days=DAYS - 1)
    counted = {row.day: row for row in CompetitionDay.objects.filter(competition=competition, day__gte=since)}
    every = (since + timedelta(days=number) for number in range(DAYS))
    return [counted.get(day) or CompetitionDay(competition=competition, day=day) for day in every]


def overview_charts(days: Sequence[CompetitionDay]) -> list[Chart]:
    """Submissions, failures by reason, waiting and compute; none where nothing came in these weeks."""
    if not any(day.submitted for day in days):
        return []
    charts = [_submissions(days), _failures(days), _waiting(days), _compute(days)]
    return [chart for chart in charts if chart is not None]


def _bars(key: str, title: str, summary: str, y: Axis, *series: Series, x: str = "Day (UTC)") -> Chart:
    return Chart(key=key, title=title, summary=summary, x=Axis(x, "category"), y=y, series=list(series))


def _daily(
    days: Sequence[CompetitionDay],
    value: Callable[[CompetitionDay], float],
    shown: Callable[[float], str],
    tone: Tone,
    name: str = "",
) -> Series:
    """A bar for each day."""
    points = [
        Point(number, value(day), f"{day.day:%b} {day.day.day}", shown(value(day))) for number, day in enumerate(days)
    ]
    return Series(name, points, "bars", tone)


def _submissions(days: Sequence[CompetitionDay]) -> Chart:
    total, scored = sum(day.submitted for day in days), sum(day.scored for day in days)
    return _bars(
        "submissions-a-day",
        "Submissions a day",
        f"{quantity(total, 'submission')} in these four weeks, {scored:,} of them scored.",
        Axis("Submissions", "count"),
        _daily(days, lambda day: day.submitted, _whole, "other", "Received"),
        _daily(days, lambda day: day.scored, _whole, "own", "Scored"),
    )


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _failures(days: Sequence[CompetitionDay]) -> Chart | None:
    counts: Counter[str] = Counter()
    for day in days:
        counts.update(day.failures)
    if not counts:
        return None
    reasons = [(str(Reason(reason).label), count) for reason, count in counts.most_common()]
    points = [Point(place, count, reason, _whole(count)) for place, (reason, count) in enumerate(reasons)]
    most, number = reasons[0]
    summary = f"{sum(counts.values()):,} failed, most often: {most} ({number:,})."
    bars, y = Series("", points, "bars", "bad"), Axis("Submissions", "count")
    return _bars("failures", "Failures by reason", summary, y, bars, x="Reason")


def _waiting(days: Sequence[CompetitionDay]) -> Chart | None:
    def mean_s(day: CompetitionDay) -> float:
        return day.waited_s / day.runs if day.runs else 0.0

    runs = sum(day.runs for day in days)
    if not runs:
        return None
    summary = f"Runs waited {_seconds(sum(day.waited_s for day in days) / runs)} on average."
    return _bars("waiting", "Time in the queue", summary, Axis("Seconds"), _daily(days, mean_s, _seconds, "own"))


def _seconds(value: float) -> str:
    return f"{value:,.1f} s"


def _compute(days: Sequence[CompetitionDay]) -> Chart | None:
    cpu, gpu = sum(day.cpu_s for day in days), sum(day.gpu_s for day in days)
    if not cpu and not gpu:
        return None
    most = max(day.cpu_s + day.gpu_s for day in days)
    name, sign, seconds = next(unit for unit in UNITS if most >= unit[2] or unit == UNITS[-1])

    def shown(value: float) -> str:
        return f"{value:,.1f} {sign}"

    of_gpus = f" and {shown(gpu / seconds)} of GPU time" if gpu else ""
    summary = f"{shown(cpu / seconds)} of processor time{of_gpus} in these four weeks."
    bars = _daily(days, lambda day: (day.cpu_s + day.gpu_s) / seconds, shown, "best")
    return _bars("compute", "Compute time a day", summary, Axis(name), bars)


def _best(competition: Competition, reader: Reader) -> Chart | None:
    """The best score over time on the first open phase's main board, where this person may see it."""
    phases = list(competition.phases.all())
    load_boards(phases)
    boards = [phase.main_board for phase in phases if phase.is_open(reader.now)]
    board = next(
        (candidate for candidate in boards if candidate is not None and may_see_board(reader, candidate)), None
    )
    column = deciding_column(list(board.columns.all())) if board is not None else None
    if board is None or column is None:
        return None
    best = [
        (milestone.received_at, milestone.score.values[column.key], milestone.score.team.name)
        for milestone in best_of_all_over_time(board)
    ]
    return score_chart(best, [], column, until=reader.now, levels=baseline_levels(baseline_entries(board), column))


def overview_context(competition: Competition, reader: Reader) -> dict[str, object]:
    """All that the page shows."""
    days, now = shown_days(competition, reader.now), reader.now
    best, counted = _best(competition, reader), overview_charts(days)
    queue = queue_state(competition.queue, now)
    return {
        "attention": attention_items(competition, queue, now=now),
        "queue": queue,
        "numbers": competition_numbers(competition, days, now),
        "charts": [*counted[:1], *([best] if best is not None else []), *counted[1:]],
    }


@dataclass(frozen=True)
class QueueState:
    """`waiting` is counted up to `MOST_RUNS`. `wait_s`: interval until a run queued now would start.

    That is None with too little data, or where more runs wait than are counted.
    """

    queue: Queue
    workers: list[tuple[ComputeWorker, str]]
    waiting: int
    running: int
    wait_s: tuple[float, float] | None
    answering: int


def queue_state(queue: Queue, now: datetime) -> QueueState:
    """The queue as it is now, with the runs of all competitions that use it."""
    workers = list(ComputeWorker.objects.filter(queue=queue).order_by("-last_seen_at")[:MOST_WORKERS])
    runs = Run.objects.filter(queue=queue)
    waiting = runs.filter(state=State.QUEUED)[:MOST_RUNS].count()
    states = [(worker, worker_state(worker, now)) for worker in workers]
    return QueueState(
        queue=queue,
        workers=states,
        waiting=waiting,
        running=runs.filter(state__in=HELD).count(),
        wait_s=queue_wait(queue, waiting + 1, now=now) if waiting < MOST_RUNS else None,
        answering=sum(state == "online" for _, state in states),
    )


def worker_state(worker: ComputeWorker, now: datetime) -> str:
    """One word for whether it takes runs."""
    if worker.quarantined_at is not None:
        return "quarantined"
    if worker.is_silent(now):
        return "silent"
    return "drained" if worker.drained_at is not None else "online"
