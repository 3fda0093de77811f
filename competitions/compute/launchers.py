"""Launchers of clusters: their tokens, and the jobs that they report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from competitions.compute.models import (
    LAUNCHER_SILENT_AFTER_S,
    ClusterJob,
    ComputeWorker,
    Launcher,
    Queue,
    cluster_job_ended,
    digest,
)
from core.refusals import RefusalKind
from workers.protocol.launching import JobReport, JobState, LauncherReport

# The ends that no report told of: one that names the job after all is believed.
SUPPOSED_ENDS: Final = (ClusterJob.End.UNKNOWN, ClusterJob.End.KIND_REMOVED)
ANOTHER_REPORTS_S: Final = 120  # so long after the last report of one, another with the same token is refused
GONE_WORKERS_KEPT: Final = timedelta(days=7)

QUEUE_NOT_ALLOWED: Final = RefusalKind(
    403,
    "queue_not_allowed",
    "The launcher “{launcher}” may not see the queue {queue!r}; its queues are: {queues}. An administrator adds one in the admin, under "
    "Launchers.",
)

LAUNCHER_IN_USE: Final = RefusalKind(
    409,
    "launcher_in_use",
    "A launcher with this token reports as {source}, {ago} seconds ago, and this one is {other}. Two of them would each start jobs for the "
    "same runs. Stop one, or make a launcher of its own for it.",
)


def launcher_by_token(secret: str) -> Launcher | None:
    """The launcher whose token this is."""
    return Launcher.objects.filter(token_digest=digest(secret)).first() if secret else None


def launcher_queue(launcher: Launcher, name: str) -> Queue:
    """The launcher's queue of this name. Raises `QUEUE_NOT_ALLOWED`, also where there is none."""
    queues = {queue.name: queue for queue in launcher.queues.all()}
    if name not in queues:
        raise QUEUE_NOT_ALLOWED(launcher=launcher.name, queue=name[:63], queues=", ".join(sorted(queues)) or "none")
    return queues[name]


def launcher_report(launcher: Launcher, report: LauncherReport, *, now: datetime) -> int:
    """Keep what a launcher says of its jobs and problems; returns how many jobs have ended.

    A complete report names all jobs that the cluster knows of the kinds in the launcher's file. One that it names no more has ended, and
    nobody knows how; the launcher looks after no job whose kind left its file.

    `cluster_job_ended` follows when all that is written down. Where that was cut short, the next report that names the job makes up for
    it, else the end of the leases.
    """
    ended = _keep_report(launcher, report, now)
    for job in ended:
        cluster_job_ended.send(sender=ClusterJob, job=job, now=now)
    for job in _unsettled(launcher, report):
        cluster_job_ended.send(sender=ClusterJob, job=job, now=now)
    return len(ended)


@transaction.atomic
def _keep_report(launcher: Launcher, report: LauncherReport, now: datetime) -> list[ClusterJob]:
    """Write a report down; returns the jobs that have ended since the last."""
    launcher = Launcher.objects.select_for_update().get(pk=launcher.pk)
    _require_one_source(launcher, report, now)
    queues = {name: launcher_queue(launcher, name) for name in _queue_names(report)}
    launcher.last_seen_at, launcher.source, launcher.version = now, report.source, report.version
    launcher.problems = [problem.model_dump(mode="json") for problem in report.problems]
    launcher.save(update_fields=["last_seen_at", "source", "version", "problems"])
    reported = launcher.jobs.filter(job__in=[each.id for each in report.jobs]).select_for_update()
    known = {(job.job, job.submitted_at): job for job in reported}
    jobs = [
        _keep(launcher, queues[each.queue], each, known.get((each.id, _instant(each.submitted_at))), now)
        for each in report.jobs
    ]
    ended = [job for job in jobs if job is not None]
    return [*ended, *_end_unnamed(launcher, report, now)] if report.is_complete else ended


def _unsettled(launcher: Launcher, report: LauncherReport) -> list[ClusterJob]:
    """Jobs that a report names as ended and whose workers still hold runs."""
    named = [each.id for each in report.jobs if each.state == JobState.ENDED]
    holding = ComputeWorker.objects.filter(queue=OuterRef("queue"), job=OuterRef("job"), runs__lease_id__isnull=False)
    return list(launcher.jobs.filter(Exists(holding), job__in=named, state=ClusterJob.State.ENDED))


def _require_one_source(launcher: Launcher, report: LauncherReport, now: datetime) -> None:
    if launcher.last_seen_at is None or report.source == launcher.source:
        return
    ago = (now - launcher.last_seen_at).total_seconds()
    if ago < ANOTHER_REPORTS_S:
        raise LAUNCHER_IN_USE(source=launcher.source, ago=round(ago), other=report.source)


def _queue_names(report: LauncherReport) -> list[str]:
    named = [*(job.queue for job in report.jobs), *(problem.queue for problem in report.problems)]
    return [name for name in dict.fromkeys(named) if name]


def _instant(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def _instant_if(seconds: float | None) -> datetime | None:
    return None if seconds is None else _instant(seconds)


def _keep(
    launcher: Launcher, queue: Queue, report: JobReport, known: ClusterJob | None, now: datetime
) -> ClusterJob | None:
    """Write one job down; returns it if it has ended since the last report. What has ended stays as it is."""
    if known is not None and known.state == ClusterJob.State.ENDED and known.end_reason not in SUPPOSED_ENDS:
        return None
    has_ended = report.state == JobState.ENDED
    fields: dict[str, object] = {
        "queue": queue,
        "kind": report.kind,
        "state": ClusterJob.State(report.state),
        "detail": report.detail[:300],
        "nodes": report.nodes[:200],
        "gpus": report.gpus,
        "memory_bytes": report.memory_bytes,
        "time_limit_s": report.time_limit_s,
        "expected_start_at": _instant_if(report.expected_start_at),
        "started_at": _instant_if(report.started_at),
        "ended_at": (_instant_if(report.ended_at) or now) if has_ended else None,
        "end_reason": ClusterJob.End(report.end or "unknown") if has_ended else "",
        "reported_at": now,
    }
    job, _ = ClusterJob.objects.update_or_create(
        launcher=launcher, job=report.id, submitted_at=_instant(report.submitted_at), defaults=fields
    )
    return job if has_ended else None


def _end_unnamed(launcher: Launcher, report: LauncherReport, now: datetime) -> list[ClusterJob]:
    named = [each.id for each in report.jobs]
    gone = launcher.jobs.exclude(state=ClusterJob.State.ENDED).exclude(job__in=named).select_for_update()
    for job in gone:
        is_removed = bool(report.kinds) and job.kind not in report.kinds  # an older launcher names no kinds
        end = ClusterJob.End.KIND_REMOVED if is_removed else ClusterJob.End.UNKNOWN
        job.state, job.end_reason, job.ended_at = ClusterJob.State.ENDED, end, now
        job.save(update_fields=["state", "end_reason", "ended_at"])
    return list(gone)


@dataclass(frozen=True)
class ExpectedNode:
    """A node that is being started for a queue; `starts_at` where the cluster says when."""

    starts_at: datetime | None


def expected_nodes(queues: Iterable[Queue], *, now: datetime) -> Mapping[int, ExpectedNode]:
    """For each queue the next node to come, of launchers that have reported lately."""
    heard = now - timedelta(seconds=LAUNCHER_SILENT_AFTER_S)
    jobs = ClusterJob.objects.filter(
        queue__in=list(queues), state=ClusterJob.State.PENDING, launcher__last_seen_at__gte=heard
    )
    nodes: dict[int, ExpectedNode] = {}
    for queue, starts_at in jobs.order_by().values_list("queue", "expected_start_at"):
        before = nodes.get(queue)
        earliest = [at for at in (starts_at, before.starts_at if before else None) if at is not None and at > now]
        nodes[queue] = ExpectedNode(min(earliest, default=None))
    return nodes


def queue_problems(queue: Queue) -> Sequence[tuple[Launcher, Mapping[str, str]]]:
    """Reasons that keep launchers from starting jobs for a queue, each with its launcher."""
    launchers = list(queue.launchers.all())
    return [
        (launcher, problem)
        for launcher in launchers
        for problem in launcher.problems
        if problem.get("queue") in ("", queue.name)
    ]


def problem_words(problem: Mapping[str, str]) -> str:
    """A problem as a sentence, with the setting of the launcher's file that is to be changed."""
    setting, kind = problem.get("setting"), problem.get("kind")
    where = f" (jobs “{kind}”)" if kind else ""
    change = f" Change the setting “{setting}”{where} of the launcher's file." if setting else ""
    detail = problem.get("detail", "").rstrip(".")
    return f"{detail}.{change}"


def queue_jobs(queue: Queue) -> QuerySet[ClusterJob]:
    """Jobs for a queue that have not ended, newest first."""
    return queue.jobs.exclude(state=ClusterJob.State.ENDED).select_related("launcher")


def remove_gone_workers(*, now: datetime) -> int:
    """Remove workers that were jobs of a cluster and are long gone.

    Each job registers as a worker of its own. Runs and attempts keep what they say of them; receipts hold the hardware.
    """
    gone = ComputeWorker.objects.exclude(job="").filter(last_seen_at__lt=now - GONE_WORKERS_KEPT)
    count, _ = gone.filter(runs__isnull=True).delete()
    return count
