"""The discussion over the API: topics and posts, read and written as on the pages."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.api.framework import IdCursorPagination
from competitions.api.serializers import discussions as s
from competitions.api.views.base import ApiView, checked
from competitions.catalog.models import Competition
from competitions.catalog.organizers import organizes
from competitions.discussions.models import Post, Topic
from competitions.discussions.moderation import post_report
from competitions.discussions.reading import find_post, find_topic, shown_topics
from competitions.discussions.rights import require_discussion
from competitions.discussions.services import Draft, post_delete, post_edit, reply_create, topic_create, topic_solve


class DiscussionView(ApiView):
    """A discussion of a competition that the asker sees."""

    write_scope = Scope.TEAM
    pagination_class = IdCursorPagination

    def discussion(self, slug: str) -> Competition:
        competition = self.competition(slug)
        require_discussion(competition)
        return competition

    def draft(self, values: dict[str, Any]) -> Draft:
        draft = Draft(self.person(), values["text"], values.get("key"), values["confirm_numbers"])
        draft.lay_out()
        return draft

    def topic(self, slug: str, pk: int) -> Topic:
        """A topic that the asker may read; any other does not exist."""
        competition = self.discussion(slug)
        return find_topic(competition, pk, self.request.user, is_organizer=self.reads_as_organizer(competition))

    def readable_post(self, slug: str, pk: int) -> Post:
        """A post whose text the asker may read; any other does not exist."""
        competition = self.discussion(slug)
        return find_post(competition, pk, self.request.user, is_organizer=self.reads_as_organizer(competition))

    def reads_as_organizer(self, competition: Competition) -> bool:
        """True if the asker may read what is hidden from members."""
        return not self.as_member and organizes(self.request.user, competition.pk)


class Topics(DiscussionView):
    """Topics of a discussion, newest first."""

    serializer_class = s.TopicOut
    queryset = Topic.objects.none()

    @extend_schema(operation_id="topics_list", responses=s.TopicOut(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Topics of a discussion, newest first."""
        return self.page_response(shown_topics(self.discussion(slug)).select_related("author"), s.TopicOut)

    @extend_schema(operation_id="topics_create", request=s.TopicIn, responses={201: s.PostOut})
    def post(self, request: Request, slug: str) -> Response:
        """Open a topic with its first post."""
        self.person()
        competition = self.discussion(slug)
        values = checked(s.TopicIn(data=request.data))
        post = topic_create(
            competition=competition, draft=self.draft(values), title=values["title"], now=timezone.now()
        )
        return Response(s.PostOut(post).data, status=201)


class OldestFirst(IdCursorPagination):
    """The order in which people read a topic: oldest first."""

    ordering = "id"


class TopicPosts(DiscussionView):
    """The shown posts of a topic, in the order of time."""

    serializer_class = s.PostOut
    pagination_class = OldestFirst
    queryset = Post.objects.none()

    def shown_topic(self, slug: str, pk: int) -> Topic:
        return get_object_or_404(shown_topics(self.discussion(slug)).select_related("competition"), pk=pk)

    @extend_schema(operation_id="topic_posts_list", responses=s.PostOut(many=True))
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """The shown posts of a topic, in the order of time."""
        posts: QuerySet[Post] = Post.objects.filter(topic=self.shown_topic(slug, pk), state=Post.State.SHOWN)
        return self.page_response(posts.select_related("author", "topic__announcement"), s.PostOut)

    @extend_schema(operation_id="topic_posts_create", request=s.PostIn, responses={201: s.PostOut})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Reply to a topic."""
        self.person()
        topic = self.shown_topic(slug, pk)
        values = checked(s.PostIn(data=request.data))
        post = reply_create(topic=topic, draft=self.draft(values), now=timezone.now())
        return Response(s.PostOut(post).data, status=201)


class TopicDetail(DiscussionView):
    """A topic by its number."""

    serializer_class = s.TopicOut

    @extend_schema(operation_id="topic_retrieve", responses=s.TopicOut)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        return Response(s.TopicOut(self.topic(slug, pk)).data)


class TopicSolution(DiscussionView):
    """Name the reply that solves a topic, or none: for whoever opened it, and organizers."""

    serializer_class = s.SolutionIn

    @extend_schema(operation_id="topic_solve", request=s.SolutionIn, responses=s.TopicOut)
    def put(self, request: Request, slug: str, pk: int) -> Response:
        user = self.person()
        topic = self.topic(slug, pk)
        topic_solve(topic=topic, by=user, reply=checked(s.SolutionIn(data=request.data))["reply"])
        topic.refresh_from_db(fields=["solution"])
        return Response(s.TopicOut(topic).data)


class PostDetail(DiscussionView):
    """A post by its number."""

    serializer_class = s.PostOut

    @extend_schema(operation_id="post_retrieve", responses=s.PostOut)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """A post by its number, with the version that an edit sends back."""
        return Response(s.PostOut(self.readable_post(slug, pk)).data)

    @extend_schema(operation_id="post_edit", request=s.PostEditIn, responses=s.PostOut)
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Edit your own post. If it was edited since the version that you send, nothing is saved."""
        self.person()
        post = self.readable_post(slug, pk)
        values = checked(s.PostEditIn(data=request.data))
        edited = post_edit(
            post=post,
            draft=self.draft(values),
            seen_version=values["version"],
            title=values["title"] if post.topic.announcement_id is None else None,
            now=timezone.now(),
        )
        return Response(s.PostOut(edited).data)

    @extend_schema(operation_id="post_delete", request=None, responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Delete your own post; its place in the topic stays."""
        user = self.person()
        post_delete(post=self.readable_post(slug, pk), by=user)
        return Response(status=204)


class PostReports(DiscussionView):
    """Report a post to the organizers, once; its author does not learn who did."""

    serializer_class = s.ReportIn

    @extend_schema(operation_id="post_report", request=s.ReportIn, responses={200: s.ReportedOut, 201: s.ReportedOut})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        user = self.person()
        post = self.readable_post(slug, pk)
        text = checked(s.ReportIn(data=request.data))["text"]
        is_new = post_report(post=post, by=user, text=text, now=timezone.now())
        return Response(s.ReportedOut({"is_new": is_new}).data, status=201 if is_new else 200)
