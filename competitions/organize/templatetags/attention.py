"""Matters that wait for an administrator, for the first page of the admin."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django import template
from django.db.models import Exists, Min, OuterRef
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from accounts.models import ProfileReport
from competitions.compute.models import ComputeWorker, Queue
from competitions.discussions.models import Report
from competitions.organize.models import HostRequest
from competitions.organize.workspace.overview import DAYS, MOST_COUNTED, Attention, count_words, posts_to_decide
from competitions.runs.models import Run, TeamTurn
from competitions.runs.queue.positions import queues_without_worker
from competitions.submissions.models import Submission
from competitions.submissions.states import Reason, State
from competitions.web.templatetags.podium import instant

register = template.Library()


@register.simple_tag
def site_attention() -> list[Attention]:
    """List what stands still, requests to host, and reports of posts and profiles."""
    return [*_at_a_standstill(timezone.now()), *_to_decide()]


def _at_a_standstill(now: datetime) -> Iterator[Attention]:
    """Queues that hand out nothing while runs wait, workers in quarantine, and submissions to run again."""
    waiting = TeamTurn.objects.filter(queue=OuterRef("pk"), waiting_since__isnull=False)
    for queue in queues_without_worker(now):
        yield _waiting_on(queue, "and no worker is responding", "Start one")
    for queue in Queue.objects.filter(Exists(waiting), is_paused=True):
        yield _waiting_on(queue, "which is paused", "See it")
    if count := ComputeWorker.objects.exclude(quarantined_at=None)[:MOST_COUNTED].count():
        url = f"{reverse('admin:compute_computeworker_changelist')}?state=quarantined"
        yield Attention(
            f"{count_words(count, 'worker')} {'is' if count == 1 else 'are'} in quarantine.", url, "See them"
        )
    held = Submission.objects.filter(reason=Reason.INFRASTRUCTURE, status=State.FAILED)
    if count := held.filter(finished_at__gte=now - timedelta(days=DAYS))[:MOST_COUNTED].count():
        failed = f"{count_words(count, 'submission')} of the last four weeks failed by the platform's own fault."
        url = f"{reverse('admin:runs_run_changelist')}?held=platform"
        yield Attention(f"{failed} Find out why, then run {'it' if count == 1 else 'them'} again.", url, "See the runs")


def _waiting_on(queue: Queue, why: str, action: str) -> Attention:
    runs = Run.objects.filter(queue=queue, state=State.QUEUED)
    count = runs[:MOST_COUNTED].count()
    text = format_html(
        "{} {} on the queue “{}”, {}; the oldest since {}.",
        count_words(count, "run"),
        "waits" if count == 1 else "wait",
        queue,
        why,
        instant(runs.aggregate(oldest=Min("queued_at"))["oldest"]),
    )
    return Attention(text, reverse("organize:queue", args=[queue.name]), action)


def _to_decide() -> Iterator[Attention]:
    if count := HostRequest.objects.filter(state=HostRequest.State.OPEN)[:MOST_COUNTED].count():
        asks = "asks" if count == 1 else "ask"
        url = f"{reverse('admin:organize_hostrequest_changelist')}?state={HostRequest.State.OPEN.value}"
        yield Attention(f"{count_words(count, 'person', 'people')} {asks} to host competitions.", url, "Decide")
    if count := posts_to_decide(Report.objects.all()):
        wait, url = ("waits" if count == 1 else "wait"), reverse("admin:discussions_report_changelist")
        yield Attention(f"{count_words(count, 'reported post')} {wait} for a decision.", url, "See them")
    if count := ProfileReport.objects.filter(settled_at=None)[:MOST_COUNTED].count():
        wait, url = ("waits" if count == 1 else "wait"), reverse("admin:accounts_profilereport_changelist")
        yield Attention(f"{count_words(count, 'report')} of profiles {wait} for a decision.", url, "Decide")
