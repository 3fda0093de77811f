"""Matters that wait for an administrator, for the first page of the admin."""

from collections.abc import Iterator

from django import template
from django.urls import reverse
from django.utils import timezone

from accounts.models import ProfileReport
from competitions.discussions.models import Report
from competitions.organize.models import HostRequest
from competitions.organize.workspace.overview import MOST_COUNTED, Attention, count_words, posts_to_decide
from competitions.runs.queue.positions import queues_without_worker

register = template.Library()


@register.simple_tag
def site_attention() -> list[Attention]:
    """Silent queues, requests to host, and reports of posts and profiles."""
    return list(_matters())


def _matters() -> Iterator[Attention]:
    for queue in queues_without_worker(timezone.now()):
        url = reverse("organize:queue", args=[queue.name])
        yield Attention(f"Runs wait on the queue “{queue}”, and no worker is responding.", url, "Start one")
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
