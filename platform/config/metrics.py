"""`/metrics` for Prometheus, read from the database, so that every web process answers the same.

Counts and ages alone: no names of teams, no scores, nothing that a sealed board could leak by.
"""

import hmac
from collections.abc import Iterator
from datetime import datetime

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from competitions.compute.models import ComputeWorker, Queue
from competitions.resources.models import Upload, UploadFailures
from competitions.resources.stores import object_store
from competitions.runs.models import Attempt, Run
from competitions.submissions.states import HELD, Reason, State
from core.background.jobs import jobs
from core.models import StepFailures


class SiteCollector(Collector):
    """Reads the state of queues, runs, workers and uploads at one instant."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def collect(self) -> Iterator[Metric]:
        yield from self.queues()
        yield self.runs()
        yield self.lost_attempts()
        yield from self.workers()
        yield from self.uploads()
        yield self.reconciler()
        yield from self.background()
        yield from self.store()

    def queues(self) -> Iterator[Metric]:
        depth = GaugeMetricFamily("podium_queue_depth", "Runs that wait.", labels=["queue"])
        age = GaugeMetricFamily(
            "podium_queue_oldest_age_seconds", "Age of the run that waits longest.", labels=["queue"]
        )
        waiting = (
            Run.objects.filter(state=State.QUEUED).values("queue__name").annotate(n=Count("*"), since=Min("queued_at"))
        )
        rows = {row["queue__name"]: row for row in waiting.order_by()}
        for name in Queue.objects.values_list("name", flat=True):
            row = rows.get(name)
            depth.add_metric([name], row["n"] if row else 0)
            age.add_metric([name], (self.now - row["since"]).total_seconds() if row else 0)
        yield depth
        yield age

    def runs(self) -> Metric:
        runs = GaugeMetricFamily("podium_runs", "Runs by state and reason of failure.", labels=["state", "reason"])
        for row in Run.objects.values("state", "reason").annotate(n=Count("*")).order_by():
            runs.add_metric([row["state"], row["reason"]], row["n"])
        return runs

    def lost_attempts(self) -> Metric:
        # Those that their cluster interrupted have no reason.
        count = Attempt.objects.filter(is_answered=False, reason=Reason.INFRASTRUCTURE).count()
        return CounterMetricFamily("podium_leases_expired", "Attempts whose worker did not report in time.", count)

    def workers(self) -> Iterator[Metric]:
        silent, quarantined, broken = (
            GaugeMetricFamily(name, text, labels=["queue", "worker"])
            for name, text in (
                ("podium_worker_last_seen_seconds", "Seconds since a worker was heard of."),
                ("podium_worker_quarantined", "1 while a worker is quarantined."),
                ("podium_worker_slots_out_of_service", "Slots that a worker took out of service."),
            )
        )
        for worker in ComputeWorker.objects.select_related("queue"):
            labels = [worker.queue.name, worker.name]
            silent.add_metric(labels, (self.now - worker.last_seen_at).total_seconds())
            broken.add_metric(labels, len(worker.slot_faults))
            quarantined.add_metric(labels, int(worker.quarantined_at is not None))
        yield from (silent, quarantined, broken)
        stuck = Run.objects.filter(state__in=HELD, lease_expires_at__lt=self.now).count()
        text = "Held runs whose lease is over; the reconciler takes them back."
        yield GaugeMetricFamily("podium_runs_without_lease", text, stuck)

    def uploads(self) -> Iterator[Metric]:
        unfinished = Upload.objects.filter(file=None).count()
        yield GaugeMetricFamily("podium_uploads_unfinished", "Uploads that have not arrived whole.", unfinished)
        failed = CounterMetricFamily("podium_uploads_failed", "Uploads that came to nothing.", labels=["cause"])
        for row in UploadFailures.objects.all():
            failed.add_metric([row.cause], row.count)
        yield failed

    def reconciler(self) -> Metric:
        failed = CounterMetricFamily(
            "podium_reconciler_step_failures", "Rounds in which a step of the reconciler failed.", labels=["step"]
        )
        for row in StepFailures.objects.all():
            failed.add_metric([row.step], row.count)
        return failed

    def background(self) -> Iterator[Metric]:
        waiting = GaugeMetricFamily(
            "podium_background_waiting", "Rows that ask for background work, or are worked on.", labels=["job", "queue"]
        )
        age = GaugeMetricFamily(
            "podium_background_oldest_age_seconds", "Age of the row that has asked longest.", labels=["job", "queue"]
        )
        for job in jobs():
            totals = job.waiting().aggregate(n=Count("*"), since=Min(job.asked_at))
            labels = [job.name, job.queue.value]
            waiting.add_metric(labels, totals["n"])
            age.add_metric(labels, max((self.now - totals["since"]).total_seconds(), 0) if totals["since"] else 0)
        yield waiting
        yield age

    def store(self) -> Iterator[Metric]:
        """Nothing where the store has no end."""
        if (room := object_store().capacity()) is not None:
            yield GaugeMetricFamily("podium_store_total_bytes", "Size of the object store.", value=room.total_bytes)
            yield GaugeMetricFamily("podium_store_free_bytes", "Free room in the object store.", value=room.free_bytes)


@login_not_required
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics, for requests with `PODIUM_METRICS_TOKEN` as bearer token; 404 for all others."""
    expected = f"Bearer {settings.METRICS_TOKEN}"
    given = request.headers.get("Authorization", "")
    if not settings.METRICS_TOKEN or not hmac.compare_digest(given.encode(), expected.encode()):
        raise Http404
    registry = CollectorRegistry()
    registry.register(SiteCollector(timezone.now()))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
