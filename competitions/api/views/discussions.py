"""The discussion over the API: topics and posts, read and written as on the pages."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.pagination import IdCursorPagination
from competitions.api.views.base import ApiView, checked
from competitions.catalog.models import Competition
from competitions.discussions.models import Post, Topic
from competitions.discussions.reading import shown_topics
from competitions.discussions.rights import require_discussion
from competitions.discussions.services import Draft, reply_create, topic_create


class TopicOut(serializers.ModelSerializer[Topic]):
    """A topic."""

    author = serializers.SlugField(source="author.username", default=None, read_only=True)
    replies = serializers.IntegerField(source="reply_count")
    solution = serializers.IntegerField(source="solution_id", allow_null=True)
    is_locked = serializers.SerializerMethodField()

    class Meta:
        model = Topic
        fields = [
            "id",
            "title",
            "author",
            "by_organizer",
            "replies",
            "solution",
            "is_locked",
            "created_at",
            "last_post_at",
        ]

    def get_is_locked(self, row: Topic) -> bool:
        return row.locked_at is not None


class PostOut(serializers.ModelSerializer[Post]):
    """A post; the first one of a topic has its text, too."""

    topic = serializers.IntegerField(source="topic_id")
    title = serializers.CharField(source="topic.title")
    author = serializers.SlugField(source="author.username", default=None, read_only=True)
    text = serializers.SerializerMethodField()

    class Meta:
        model = Post
        fields = [
            "id",
            "topic",
            "title",
            "author",
            "by_organizer",
            "is_opening",
            "state",
            "text",
            "created_at",
            "edited_at",
        ]

    def get_text(self, row: Post) -> str:
        announcement = row.topic.announcement if row.is_opening else None
        return announcement.body if announcement else row.body


class PostIn(serializers.Serializer[Any]):
    """A text in Markdown. The same `key` gives the same post again."""

    text = serializers.CharField(trim_whitespace=False)
    key = serializers.UUIDField(required=False, default=None)
    confirm_numbers = serializers.BooleanField(default=False)


class TopicIn(PostIn):
    """A text with a title."""

    title = serializers.CharField()


class DiscussionView(ApiView):
    """A discussion of a competition that the asker sees."""

    write_scope = Scope.TEAM
    pagination_class = IdCursorPagination

    def discussion(self, slug: str) -> Competition:
        competition = self.competition(slug)
        require_discussion(competition)
        return competition

    def draft(self, values: dict[str, Any]) -> Draft:
        draft = Draft(self.person(), values["text"], values["key"], values["confirm_numbers"])
        draft.lay_out()
        return draft


class Topics(DiscussionView):
    """Topics of a discussion, those that were opened last first."""

    serializer_class = TopicOut
    queryset = Topic.objects.none()

    @extend_schema(operation_id="topics_list", responses=TopicOut(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Topics of a discussion, those that were opened last first."""
        page = self.paginate_queryset(shown_topics(self.discussion(slug)).select_related("author"))
        return self.get_paginated_response(TopicOut(page, many=True).data)

    @extend_schema(operation_id="topics_create", request=TopicIn, responses={201: PostOut})
    def post(self, request: Request, slug: str) -> Response:
        """Open a topic with its first post."""
        self.person()
        competition = self.discussion(slug)
        values = checked(TopicIn(data=request.data))
        post = topic_create(
            competition=competition, draft=self.draft(values), title=values["title"], now=timezone.now()
        )
        return Response(PostOut(post).data, status=201)


class OldestFirst(IdCursorPagination):
    """As people read a topic."""

    ordering = "id"


class TopicPosts(DiscussionView):
    """The shown posts of a topic, in the order of time."""

    serializer_class = PostOut
    pagination_class = OldestFirst
    queryset = Post.objects.none()

    def topic(self, slug: str, pk: int) -> Topic:
        return get_object_or_404(shown_topics(self.discussion(slug)).select_related("competition"), pk=pk)

    @extend_schema(operation_id="topic_posts_list", responses=PostOut(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """The shown posts of a topic, in the order of time."""
        posts: QuerySet[Post] = Post.objects.filter(topic=self.topic(slug, pk), state=Post.State.SHOWN)
        page = self.paginate_queryset(posts.select_related("author", "topic__announcement"))
        return self.get_paginated_response(PostOut(page, many=True).data)

    @extend_schema(operation_id="topic_posts_create", request=PostIn, responses={201: PostOut})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Reply to a topic."""
        self.person()
        topic = self.topic(slug, pk)
        values = checked(PostIn(data=request.data))
        post = reply_create(topic=topic, draft=self.draft(values), now=timezone.now())
        return Response(PostOut(post).data, status=201)
