"""Writing in a discussion: new topics, replies, edits, deletions, reports, solutions, following."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_http_methods, require_POST

from accounts.views import person, posted
from competitions.catalog.form_fields.images import IMAGE_HELP, store_upload
from competitions.discussions.following import follow_set, post_path
from competitions.discussions.images import image_add
from competitions.discussions.models import Post, Topic
from competitions.discussions.moderation import post_report
from competitions.discussions.refusals import EDITED_MEANWHILE, NOT_YOUR_POST, NUMBERS_UNDER_SEAL
from competitions.discussions.rights import require_may_write, require_preview, require_topic_open, require_writer
from competitions.discussions.services import Draft, post_delete, post_edit, reply_create, topic_create, topic_solve
from competitions.discussions.texts import quoted
from competitions.resources.rooms import takes_images
from competitions.web.forms import cleaned
from competitions.web.refusals import refusal_sentence
from competitions.web.views.competitions import render_tab
from competitions.web.views.discussions import forms
from competitions.web.views.discussions.mentions import mention_links
from competitions.web.views.discussions.topics import TAB, discussion_visit, image_addresses, read_post, read_topic
from competitions.web.visit import Visit
from core.refusals import KnownRefusal, Refusal

Save = Callable[[Draft, forms.ReplyForm], Post]


def may_send(request: HttpRequest, slug: str, **kwargs: Any) -> None:
    """Raise the refusal of somebody who may not write here: their files are not received."""
    visited = discussion_visit(request, slug)
    require_may_write(person(request), visited.competition, is_organizer=visited.is_organizer)


def write_page(
    request: HttpRequest,
    visited: Visit,
    form: forms.ReplyForm,
    save: Save,
    *,
    title: str,
    topic: Topic | None = None,
    **more: object,
) -> HttpResponse:
    """Save what was sent and go to it; else show the form again with what is wrong or a preview."""
    context: dict[str, object] = {"form": form, "title": title, "topic": topic, "image_help": IMAGE_HELP, **more}
    status = 200
    if request.method == "POST":
        try:
            if (post := _act(request, visited, form, save, context)) is not None:
                return redirect(post_path(post))
            status = 422 if form.errors else 200
        except Refusal as refusal:
            status = _show_refusal(form, refusal, context)
    context["key"] = form.form_key
    response = render_tab(request, visited, "web/discussion/write.html", context, tab=TAB)
    response.status_code = status
    return response


def _act(
    request: HttpRequest, visited: Visit, form: forms.ReplyForm, save: Save, context: dict[str, object]
) -> Post | None:
    """Do what the button says; returns the post that was saved, if one was."""
    if not form.is_valid():
        return None
    values = form.cleaned_data
    upload = values["image"]
    if upload is not None:
        values["text"] = _with_image(request, visited, upload, values["text"])
        _show_text(form, values["text"])
    if upload is not None or values["action"] in ("preview", "image"):
        require_preview(person(request))
        preview = Post(body=values["text"])
        html = preview.rendering.shown(image_addresses(visited, [preview]))
        context["preview"] = mark_safe(mention_links(visited, [preview])(html))  # harmless tags alone
        return None
    draft = Draft(person(request), values["text"], values["key"], values["confirm_numbers"])
    draft.lay_out()
    return save(draft, form)


def _with_image(request: HttpRequest, visited: Visit, upload: Any, text: str) -> str:
    """The text with an uploaded image at its end."""
    user = person(request)
    with transaction.atomic():
        require_writer(user, visited.competition, is_organizer=visited.is_organizer)
        image = image_add(competition=visited.competition, author=user, file=store_upload(upload), now=visited.now)
    return f"{text.rstrip()}\n\n![Describe the image](attached/{image.key})\n".lstrip()


def _show_text(form: forms.ReplyForm, text: str) -> None:
    data = form.data.copy()  # type: ignore[attr-defined]  # a QueryDict, as it came
    data["text"] = text
    form.data = data


def _show_refusal(form: forms.ReplyForm, refusal: Refusal, context: dict[str, object]) -> int:
    kind = refusal.kind if isinstance(refusal, KnownRefusal) else None
    if kind is NUMBERS_UNDER_SEAL:
        context["number"] = refusal.extra["number"]
    else:
        form.add_error(None, refusal_sentence(refusal))
    context["is_late"] = kind is EDITED_MEANWHILE
    return refusal.http_status


@takes_images(may_send)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest, slug: str) -> HttpResponse:
    """Open a topic."""
    visited = discussion_visit(request, slug)
    may_send(request, slug)

    def save(draft: Draft, form: forms.ReplyForm) -> Post:
        title = form.cleaned_data["title"]
        return topic_create(competition=visited.competition, draft=draft, title=title, now=timezone.now())

    form = forms.TopicForm(posted(request), request.FILES or None)
    return write_page(request, visited, form, save, title="New topic")


@takes_images(may_send)
@require_http_methods(["GET", "HEAD", "POST"])
def reply(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Reply in a topic; with the text of a post where one is quoted."""
    visited = discussion_visit(request, slug)
    topic = read_topic(visited, pk)
    may_send(request, slug)

    def save(draft: Draft, form: forms.ReplyForm) -> Post:
        return reply_create(topic=topic, draft=draft, now=timezone.now())

    if request.method != "POST":
        require_topic_open(topic, is_organizer=visited.is_organizer)
    form = forms.ReplyForm(posted(request), request.FILES or None, initial={"text": _quote(request, visited)})
    return write_page(request, visited, form, save, title="Reply", topic=topic)


def _quote(request: HttpRequest, visited: Visit) -> str:
    """The post that the address names, quoted; nothing of one that is not shown."""
    place = forms.PlaceForm(request.GET)
    number = place.cleaned_data.get("at") if place.is_valid() else None
    if number is None:
        return ""
    post = read_post(visited, number)
    name = post.author.get_username() if post.author else "Somebody"
    return quoted(post.text, name) if post.is_shown else ""


@takes_images(may_send)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Edit an own post. Who saves second sees the other text beside theirs."""
    visited = discussion_visit(request, slug)
    post = read_post(visited, pk)
    if post.author_id != visited.user.pk:
        raise NOT_YOUR_POST()
    has_title = post.is_opening and post.topic.announcement_id is None

    def save(draft: Draft, form: forms.ReplyForm) -> Post:
        seen, title = form.cleaned_data["version"] or 0, form.cleaned_data.get("title")
        return post_edit(post=post, draft=draft, seen_version=seen, title=title, now=timezone.now())

    initial = {"text": post.body, "title": post.topic.title, "version": post.version}
    form = (forms.TopicForm if has_title else forms.ReplyForm)(posted(request), request.FILES or None, initial=initial)
    return write_page(request, visited, form, save, title="Edit", topic=post.topic, post=post)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Delete an own post, once that is confirmed."""
    visited = discussion_visit(request, slug)
    post = read_post(visited, pk)
    if post.author_id != visited.user.pk:
        raise NOT_YOUR_POST()
    if request.method == "POST":
        post_delete(post=post, by=person(request))
        messages.success(request, "Your post is deleted.")
        post.topic.refresh_from_db(fields=["is_shown"])
        return redirect("web:topic", slug, post.topic_id) if post.topic.is_shown else redirect("web:discussion", slug)
    return render_tab(request, visited, "web/discussion/delete.html", {"post": post, "topic": post.topic}, tab=TAB)


@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Report a post to the organizers."""
    visited = discussion_visit(request, slug)
    post = read_post(visited, pk)
    may_send(request, slug)
    form = forms.ReasonForm()
    if request.method == "POST":
        values = cleaned(forms.ReasonForm(request.POST))
        is_new = post_report(post=post, by=person(request), text=values["text"], now=timezone.now())
        messages.success(request, "The organizers look at it." if is_new else "You have reported it already.")
        return redirect(post_path(post))
    context = {"post": post, "topic": post.topic, "form": form}
    return render_tab(request, visited, "web/discussion/report.html", context, tab=TAB)


@require_POST
def solve(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Mark a reply as the solution of its topic, or take the mark off."""
    topic = read_topic(discussion_visit(request, slug), pk)
    topic_solve(topic=topic, by=person(request), reply=cleaned(forms.SolutionForm(request.POST))["reply"])
    return redirect("web:topic", slug, pk)


@require_POST
def follow(request: HttpRequest, slug: str, pk: int | None = None) -> HttpResponse:
    """Follow a topic, or all new topics, or no longer."""
    visited = discussion_visit(request, slug)
    topic = None if pk is None else read_topic(visited, pk)
    is_on = cleaned(forms.FollowForm(request.POST))["follow"] == "yes"
    follow_set(user=person(request), competition=visited.competition, topic=topic, is_on=is_on)
    return redirect("web:topic", slug, pk) if pk else redirect("web:discussion", slug)
