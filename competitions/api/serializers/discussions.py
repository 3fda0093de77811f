"""Topics and posts of a discussion, and what organizers' programs read and send about them."""

from typing import Any, Final

from rest_framework import serializers

from competitions.discussions.models import MAX_REASON, Post, Report, Topic, Writer
from competitions.discussions.moderation import POST_ACTIONS, TOPIC_ACTIONS

REASON: Final = "Why; the author reads it. At most 500 characters."


class TopicOut(serializers.ModelSerializer[Topic]):
    """A topic."""

    author = serializers.SlugField(source="author.username", default=None, read_only=True)
    replies = serializers.IntegerField(source="reply_count")
    solution = serializers.IntegerField(source="solution_id", allow_null=True)
    is_locked = serializers.SerializerMethodField()
    is_pinned = serializers.SerializerMethodField()

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
            "is_pinned",
            "created_at",
            "last_post_at",
        ]

    def get_is_locked(self, row: Topic) -> bool:
        return row.locked_at is not None

    def get_is_pinned(self, row: Topic) -> bool:
        return row.pinned_at is not None


class PostOut(serializers.ModelSerializer[Post]):
    """A post; the first one of a topic has its text, too."""

    topic = serializers.IntegerField(source="topic_id")
    title = serializers.CharField(source="topic.title")
    author = serializers.SlugField(source="author.username", default=None, read_only=True)
    text = serializers.CharField(read_only=True)
    version = serializers.IntegerField(help_text="Sent back with an edit or a decision, so that it is about this text.")

    class Meta:
        model = Post
        fields = [
            "id", "topic", "title", "author", "by_organizer", "is_opening", "state", "text", "version", "created_at", "edited_at",
        ]  # fmt: skip


class PostIn(serializers.Serializer[Any]):
    """A text in Markdown. The same `key` gives the same post again."""

    text = serializers.CharField(trim_whitespace=False)
    key = serializers.UUIDField(required=False, default=None)
    confirm_numbers = serializers.BooleanField(default=False)


class TopicIn(PostIn):
    """A text with a title."""

    title = serializers.CharField()


class PostEditIn(serializers.Serializer[Any]):
    """A new text of a post, with the version that its author has seen."""

    text = serializers.CharField(trim_whitespace=False)
    version = serializers.IntegerField(min_value=1, max_value=2**31 - 1, help_text="Of the text that you changed.")
    title = serializers.CharField(required=False, default=None)
    confirm_numbers = serializers.BooleanField(default=False)


class SolutionIn(serializers.Serializer[Any]):
    """The reply that solves a topic; null: none does."""

    reply = serializers.IntegerField(allow_null=True, min_value=1, max_value=2**63 - 1)


class ReportIn(serializers.Serializer[Any]):
    """A note to the organizers on a post."""

    text = serializers.CharField(help_text="What is wrong with it. At most 500 characters; the organizers read it.")


class ReportedOut(serializers.Serializer[Any]):
    """The answer to a report."""

    is_new = serializers.BooleanField(help_text="False: you had reported the post before.")


class ReportOut(serializers.ModelSerializer[Report]):
    """A report to the organizers; without a reporter it is the site's."""

    post = PostOut()
    reporter = serializers.SlugField(source="reporter.username", default=None, read_only=True)
    settled_by = serializers.SlugField(source="settled_by.username", default=None, read_only=True)

    class Meta:
        model = Report
        fields = ["id", "post", "reporter", "text", "created_at", "settled_at", "settled_by"]


class ReportFilter(serializers.Serializer[Any]):
    """Filters of a list of reports."""

    settled = serializers.BooleanField(default=False)


class TopicDecisionIn(serializers.Serializer[Any]):
    """An organizer's decision on a topic."""

    action = serializers.ChoiceField(choices=TOPIC_ACTIONS)


class PostDecisionIn(serializers.Serializer[Any]):
    """An organizer's decision on a post; the reason is needed to remove it."""

    action = serializers.ChoiceField(choices=POST_ACTIONS)
    reason = serializers.CharField(required=False, default="", allow_blank=True, help_text=REASON)
    version = serializers.IntegerField(
        required=False,
        default=None,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Of the text that you read. If the post has been edited since, nothing is decided.",
    )


class ExclusionIn(serializers.Serializer[Any]):
    """Somebody who may not write in the discussion any more, and why."""

    username = serializers.CharField(max_length=150)
    reason = serializers.CharField(help_text=REASON)
    remove_posts = serializers.BooleanField(default=False, help_text="Remove their 200 newest posts, too.")


class ExclusionOut(serializers.ModelSerializer[Writer]):
    """Somebody who may not write in the discussion."""

    username = serializers.SlugField(source="user.username", read_only=True)
    reason = serializers.CharField(source="ban_reason", max_length=MAX_REASON)
    excluded_at = serializers.DateTimeField(source="banned_at")
    excluded_by = serializers.SlugField(source="banned_by.username", default=None, read_only=True)

    class Meta:
        model = Writer
        fields = ["username", "reason", "excluded_at", "excluded_by"]
