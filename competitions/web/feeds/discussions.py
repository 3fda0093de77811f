"""Atom feeds of a discussion: its newest topics, and a topic's newest replies."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.syndication.views import Feed
from django.http import HttpRequest
from django.urls import reverse

from accounts.people.blocks import blocked_numbers
from competitions.discussions.models import Post, Topic
from competitions.discussions.reading import shown_topics
from competitions.web.feeds.atom import MOST_ITEMS, SafeAtomFeed
from competitions.web.views.discussions.topics import discussion_visit, read_topic
from competitions.web.visit import Visit
from files.markup import no_images


class DiscussionFeed(Feed[Topic, Visit]):
    """The topics that were opened last."""

    login_required = False
    feed_type = SafeAtomFeed

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Visit:
        return discussion_visit(request, kwargs["slug"])

    def title(self, obj: Visit) -> str:
        return f"{obj.competition.title}: discussion"

    def link(self, obj: Visit) -> str:
        return obj.url("discussion")

    def items(self, obj: Visit) -> list[Topic]:
        return list(shown_topics(obj.competition).select_related("competition", "author").order_by("-pk")[:MOST_ITEMS])

    def item_title(self, item: Topic) -> str:
        return item.title

    def item_description(self, item: Topic) -> str:
        return f"A topic of {item.author or 'the organizers'}."

    def item_pubdate(self, item: Topic) -> datetime:
        return item.created_at

    item_updateddate = item_pubdate

    def item_link(self, item: Topic) -> str:
        return reverse("web:topic", args=[item.competition.slug, item.pk])


@dataclass(frozen=True)
class TopicAtVisit:
    """A topic that the visitor may read."""

    visit: Visit
    topic: Topic

    @property
    def page(self) -> str:
        return reverse("web:topic", args=[self.visit.competition.slug, self.topic.pk])


class TopicFeed(Feed[Post, TopicAtVisit]):
    """The newest posts of a topic, as far as everybody reads them; none of whom the reader blocks."""

    login_required = False
    feed_type = SafeAtomFeed

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> TopicAtVisit:
        visited = discussion_visit(request, kwargs["slug"])
        return TopicAtVisit(visited, read_topic(visited, kwargs["pk"]))

    def title(self, obj: TopicAtVisit) -> str:
        return f"{obj.visit.competition.title}: {obj.topic.title}"

    def link(self, obj: TopicAtVisit) -> str:
        return obj.page

    def items(self, obj: TopicAtVisit) -> list[Post]:
        posts = obj.topic.posts.filter(state=Post.State.SHOWN).select_related("author")
        posts = posts.exclude(author__in=blocked_numbers(obj.visit.user.pk))
        return list(posts.order_by("-created_at", "-pk")[:MOST_ITEMS])  # by its index, not by a walk of all posts

    def item_title(self, item: Post) -> str:
        return f"{item.author or 'The organizers'} in {item.topic.title}"

    def item_description(self, item: Post) -> str:
        return item.rendering.shown(no_images)

    def item_pubdate(self, item: Post) -> datetime:
        return item.created_at

    def item_updateddate(self, item: Post) -> datetime:
        return item.edited_at or item.created_at

    def item_link(self, item: Post) -> str:
        return f"{reverse('web:topic', args=[item.topic.competition.slug, item.topic_id])}?at={item.pk}#post-{item.pk}"
