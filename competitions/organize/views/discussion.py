"""The moderation desk of a competition's discussion, and what organizers do with topics and posts."""

from typing import Final

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.views import person
from competitions.discussions import moderation
from competitions.discussions.models import MAX_REASON, Post, Report, Topic, Writer
from competitions.discussions.rights import require_discussion
from competitions.organize.views.editing.changes import render_page
from competitions.organize.views.workspace import managed_competition
from competitions.web.forms import cleaned
from competitions.web.refusals import came_from
from files.text import quantity

SHOWN: Final = 50


class TopicActionForm(forms.Form):
    """An organizer's decision on a topic."""

    action = forms.ChoiceField(choices=[(name, name) for name in moderation.TOPIC_ACTIONS])


class PostActionForm(forms.Form):
    """An organizer's decision on the shown version of a post; with a reason where its author is told one."""

    action = forms.ChoiceField(choices=[(name, name) for name in (*moderation.POST_ACTIONS, "ban", "ban_and_remove")])
    reason = forms.CharField(required=False, max_length=MAX_REASON)
    version = forms.IntegerField(min_value=1, max_value=2**31 - 1)


@require_safe
def desk(request: HttpRequest, slug: str) -> HttpResponse:
    """Posts that wait, open reports, topics that were removed, and people who may not write."""
    competition = managed_competition(request, slug)
    reports = Report.objects.filter(competition=competition).select_related("reporter", "post__author", "post__topic")
    context = {
        "cases": cases(reports.filter(settled_at=None)),
        "settled": reports.filter(settled_at__isnull=False).select_related("settled_by")[:10],
        "removed": Topic.objects.filter(competition=competition, removed_at__isnull=False).order_by("-removed_at")[
            :SHOWN
        ],
        "banned": Writer.objects.filter(competition=competition, banned_at__isnull=False)
        .select_related("user", "banned_by")
        .order_by("-banned_at")[:SHOWN],
    }
    return render_page(request, competition, "organize/discussion/desk.html", context, tab="discussion")


def cases(reports: QuerySet[Report]) -> list[tuple[Post, list[Report]]]:
    """Open reports by post, newest first."""
    by_post: dict[int, tuple[Post, list[Report]]] = {}
    for report in reports[: 2 * SHOWN]:
        by_post.setdefault(report.post_id, (report.post, []))[1].append(report)
    return list(by_post.values())[:SHOWN]


def _back(request: HttpRequest, slug: str) -> HttpResponse:
    """Go back to the page of this site where the button was, else to the desk."""
    return redirect(came_from(request) or reverse("organize:discussion", args=[slug]))


@require_POST
def topic_act(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Pin, lock or remove a topic, or take that back."""
    competition = managed_competition(request, slug)
    require_discussion(competition)
    topic = get_object_or_404(Topic, pk=pk, competition=competition)
    action, now = cleaned(TopicActionForm(request.POST))["action"], timezone.now()
    moderation.topic_decide(topic=topic, action=action, now=now)
    words = {"pin": "pinned", "unpin": "no longer pinned", "lock": "locked", "unlock": "open again"}
    words |= {"remove": "removed with its replies", "restore": "shown again"}
    messages.success(request, f"“{topic}” is {words[action]}.")
    return _back(request, slug)


@require_POST
def post_act(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show or remove a post, settle its reports, clear its history, or exclude its author."""
    competition = managed_competition(request, slug)
    require_discussion(competition)
    post = get_object_or_404(Post.objects.select_related("author"), pk=pk, topic__competition=competition)
    values = cleaned(PostActionForm(request.POST))
    messages.success(request, _act(post, person(request), **values))
    return _back(request, slug)


def _act(post: Post, by: User, *, action: str, reason: str, version: int) -> str:
    """Do it; returns a sentence on it."""
    if action in ("ban", "ban_and_remove"):
        return _ban(post, action, reason, by)
    cleared = moderation.post_decide(
        post=post, by=by, action=action, reason=reason, now=timezone.now(), seen_version=version
    )
    return {
        "approve": "The post is shown.",
        "remove": "The post is removed. Its author is told why.",
        "dismiss": "The reports are settled; the post stays as it is.",
        "clear": f"{cleared} earlier texts are deleted.",
    }[action]


def _ban(post: Post, action: str, reason: str, by: User) -> str:
    author, now = post.author, timezone.now()
    if author is None:
        return "Its author has no account any more."
    competition = post.topic.competition
    removes = action == "ban_and_remove"
    count = moderation.writer_ban(competition=competition, user=author, by=by, reason=reason, removes=removes, now=now)
    posts = quantity(count, "post is", "posts are")
    return f"{author} may not write here any more.{f' {posts} removed.' if removes else ''}"


@require_POST
def readmit(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Let somebody write again."""
    competition = managed_competition(request, slug)
    user = get_object_or_404(User, pk=pk)
    if moderation.writer_readmit(competition=competition, user=user):
        messages.success(request, f"{user} may write again.")
    return redirect("organize:discussion", slug)
