"""The list of topics, a topic with its replies, and a post's history and images."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils.safestring import SafeString, mark_safe

from accounts.models import User
from accounts.people.blocks import blocked_numbers
from accounts.views import open_page
from competitions.catalog.models import Competition
from competitions.discussions import reading
from competitions.discussions.following import looked_at
from competitions.discussions.images import attached_key
from competitions.discussions.models import Post, PostImage, Subscription, Topic
from competitions.discussions.rights import require_discussion
from competitions.web.markdown import has_markdown
from competitions.web.views.competitions import image_response, render_tab
from competitions.web.views.discussions.forms import ListForm, PlaceForm
from competitions.web.views.discussions.mentions import Link, mention_links
from competitions.web.visit import Visit, visit
from files.markup import ShownImage

TAB = "discussion"


@dataclass(frozen=True)
class ShownPost:
    """A post as this reader sees it: its text, or why there is none, and what they may do with it."""

    post: Post
    text: SafeString | None
    is_own: bool
    is_solution: bool
    is_folded: bool  # its author is somebody whom this reader blocks


def discussion_visit(request: HttpRequest, slug: str) -> Visit:
    """The visit of a competition that has a discussion here. Raises `NO_DISCUSSION`."""
    visited = visit(request, slug)
    require_discussion(visited.competition)
    return visited


def read_topic(visited: Visit, pk: int) -> Topic:
    """A topic that this person may read; any other does not exist."""
    return reading.find_topic(visited.competition, pk, visited.user, is_organizer=visited.is_organizer)


def read_post(visited: Visit, pk: int) -> Post:
    """A post whose text this person may read; any other does not exist."""
    return reading.find_post(visited.competition, pk, visited.user, is_organizer=visited.is_organizer)


def may_write(visited: Visit) -> bool:
    """The person takes part or organizes; a ban is said when they write."""
    return visited.user.is_authenticated and (visited.is_registered or visited.is_organizer)


@open_page
@has_markdown
def discussion(request: HttpRequest, slug: str) -> HttpResponse:
    """The list of topics; where the forum is elsewhere, it leads there."""
    visited = visit(request, slug)
    if visited.competition.discussion == Competition.Discussion.ELSEWHERE:
        return redirect(visited.competition.discussion_url)
    require_discussion(visited.competition)
    form = ListForm(request.GET)
    values = form.cleaned_data if form.is_valid() else {"show": "", "q": "", "before": ""}
    page = reading.topic_page(
        visited.competition, visited.user, show=values["show"], words=values["q"], before=values["before"]
    )
    filters = [
        (key, label)
        for key, label in reading.FILTERS.items()
        if visited.user.is_authenticated or key not in ("own", "followed")
    ]
    context = {
        "page": page,
        "values": values,
        "filters": filters,
        "is_narrowed": bool(values["show"] or values["q"]),
        "may_write": may_write(visited),
        "follows": _follows(visited, None),
    }
    return render_tab(request, visited, "web/discussion/topics.html", context, tab=TAB)


def _follows(visited: Visit, topic: Topic | None) -> bool:
    """The person's choice; organizers follow new topics unless they chose not to. Who looks waits no more."""
    if not isinstance(visited.user, User):
        return False
    subscription = Subscription.objects.filter(user=visited.user, competition=visited.competition, topic=topic).first()
    if subscription is None:
        return visited.is_organizer and topic is None
    if subscription.waits:
        looked_at(subscription)
    return subscription.is_on


@open_page
@has_markdown
def topic(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """A topic: its first post, and a page of replies."""
    visited = discussion_visit(request, slug)
    shown = read_topic(visited, pk)
    place = PlaceForm(request.GET)
    values = place.cleaned_data if place.is_valid() else {}
    posts = reading.readable_posts(shown, visited.user, is_organizer=visited.is_organizer)
    opening = posts.filter(is_opening=True).first()
    page = reading.reply_page(posts, at=values.get("at"), until=values.get("until"))
    texts = shown_posts(visited, shown, [*([opening] if opening else []), *page.posts])
    context = {
        "topic": shown,
        "opening": texts[0] if opening else None,
        "replies": texts[1:] if opening else texts,
        "page": page,
        "may_write": may_write(visited),
        "may_solve": shown.announcement_id is None
        and (visited.is_organizer or shown.author_id == (visited.user.pk or 0)),
        "follows": _follows(visited, shown),
        "form_key": uuid4(),
    }
    return render_tab(request, visited, "web/discussion/topic.html", context, tab=TAB)


def shown_posts(visited: Visit, topic: Topic, posts: Iterable[Post]) -> list[ShownPost]:
    """Posts with their texts, as far as this person may read them."""
    rows = list(posts)
    readable = [post for post in rows if reading.may_read_text(post, visited.user, is_organizer=visited.is_organizer)]
    image_url, link = image_addresses(visited, readable), mention_links(visited, readable)
    blocked = blocked_numbers(visited.user.pk)
    return [_shown_post(visited, topic, post, image_url, link, blocked, is_readable=post in readable) for post in rows]


def _shown_post(
    visited: Visit,
    topic: Topic,
    post: Post,
    image_url: Callable[[str], ShownImage | None],
    link: Link,
    blocked: frozenset[int],
    *,
    is_readable: bool,
) -> ShownPost:
    post.topic = topic
    text = None
    if is_readable:
        announcement = topic.announcement if post.is_opening else None
        html = announcement.rendering.shown(image_url) if announcement else link(post.rendering.shown(image_url))
        text = mark_safe(html)  # only harmless tags are left in it
    is_own = post.author_id is not None and post.author_id == visited.user.pk
    return ShownPost(post, text, is_own, topic.solution_id == post.pk, post.author_id in blocked)


def image_addresses(visited: Visit, posts: Iterable[Post]) -> Callable[[str], ShownImage | None]:
    """The addresses of images that these posts show: their own, and the competition's."""
    keys = [key for post in posts for source in post.image_sources if (key := attached_key(source)) is not None]
    rows = PostImage.objects.filter(key__in=keys, competition=visited.competition, file__isnull=False) if keys else ()
    images = {image.key: image for image in rows}

    def address(source: str) -> ShownImage | None:
        key = attached_key(source)
        if key is None:
            return visited.image_url(source)
        image = images.get(key)
        if image is None:
            return None
        url = f"{visited.url('discussion')}images/{image.key}/"
        return ShownImage(url, f"{url}?size=small" if image.small_id else "", image.width, image.height)

    return address


@open_page
def history(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The earlier texts of a post, newest first."""
    visited = discussion_visit(request, slug)
    post = read_post(visited, pk)
    context = {"post": post, "topic": post.topic, "revisions": post.revisions.select_related("replaced_by")}
    return render_tab(request, visited, "web/discussion/history.html", context, tab=TAB)


@open_page
def image(request: HttpRequest, slug: str, key: UUID) -> HttpResponseBase:
    """An image of a post, for whoever reads the post; of none, for its author."""
    visited = discussion_visit(request, slug)
    rows = PostImage.objects.select_related("file", "small", "post__topic")
    image = get_object_or_404(rows, key=key, competition=visited.competition, file__isnull=False)
    if image.post is not None:
        read_post(visited, image.post.pk)
    elif image.author_id is None or image.author_id != visited.user.pk:
        raise Http404
    stored = image.small if request.GET.get("size") == "small" and image.small else image.file
    assert stored is not None, "asked for above"
    return image_response(request, stored, is_public=False)
