"""Topics and posts of a discussion, who follows them, and what organizers decide on them."""

import uuid
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from competitions.catalog.models import Announcement, Competition, Format
from competitions.resources.models import StoredFile
from core.background.rows import AskedRow, asker_key
from core.fields import LongTextField, OneLineField
from core.markup.rows import WrittenRow

MAX_TITLE: Final = 160
MAX_POST: Final = 20_000  # characters
MAX_REASON: Final = 500
MAX_WORD: Final = 40


class Topic(models.Model):
    """A subject that people discuss. Its first post says what it is about; the others are replies."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="topics")
    title = OneLineField(max_length=MAX_TITLE)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    announcement = models.OneToOneField(
        Announcement,
        on_delete=models.SET_NULL,
        null=True,
        related_name="topic",
        help_text="The announcement that it is about, whose text it shows.",
    )
    by_organizer = models.BooleanField(default=False)
    is_shown = models.BooleanField(default=False, help_text="Written by `topic_show` alone.")
    removed_at = models.DateTimeField(null=True, help_text="By an organizer, with all its posts.")
    pinned_at = models.DateTimeField(null=True)
    locked_at = models.DateTimeField(null=True)
    solution = models.ForeignKey("Post", on_delete=models.SET_NULL, null=True, related_name="+")
    reply_count = models.PositiveIntegerField(default=0, help_text="Shown replies; kept as they come and go.")
    last_post_at = models.DateTimeField()
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(
                fields=["competition", "-last_post_at", "-id"], condition=Q(is_shown=True), name="topic_newest"
            ),
            models.Index(fields=["competition", "-id"], condition=Q(is_shown=True), name="topic_opened"),
            models.Index(
                fields=["competition", "author", "-last_post_at", "-id"],
                condition=Q(is_shown=True),
                name="topic_of_author",
            ),
            models.Index(
                fields=["competition", "-last_post_at", "-id"],
                condition=Q(is_shown=True, solution__isnull=True, announcement__isnull=True),
                name="topic_unsolved",
            ),
            models.Index(
                fields=["competition", "-last_post_at", "-id"],
                condition=Q(is_shown=True, reply_count=0),
                name="topic_unanswered",
            ),
            models.Index(
                fields=["competition", "-last_post_at", "-id"],
                condition=Q(is_shown=True, solution__isnull=False),
                name="topic_solved",
            ),
            models.Index(
                fields=["competition", "-last_post_at", "-id"],
                condition=Q(is_shown=True, announcement__isnull=False),
                name="topic_announced",
            ),
            models.Index(
                fields=["competition", "pinned_at"], condition=Q(pinned_at__isnull=False), name="topic_pinned"
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Post(WrittenRow):
    """The first post of a topic, or a reply."""

    class State(models.TextChoices):
        SHOWN = "shown", "shown"
        WAITING = "waiting", "waiting for an organizer"
        DELETED = "deleted", "deleted by its author"
        REMOVED = "removed", "removed by an organizer"

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="posts")
    is_opening = models.BooleanField(default=False)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="posts")
    by_organizer = models.BooleanField(
        default=False, help_text="Its author organized the competition when it was written."
    )
    body = LongTextField(max_length=MAX_POST)
    state = models.CharField(max_length=10, choices=State, default=State.SHOWN)
    state_reason = models.CharField(max_length=MAX_REASON, blank=True, help_text="What the author is told of it.")
    key = models.UUIDField(default=uuid.uuid4, help_text="Made by the form: a form that is sent twice is one post.")
    version = models.PositiveIntegerField(default=1, help_text="Raised with each edit.")
    created_at = models.DateTimeField()
    edited_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["topic", "id"], name="post_of_topic"),
            models.Index(fields=["topic", "-created_at", "-id"], condition=Q(state="shown"), name="post_shown"),
            models.Index(fields=["author", "-created_at"], name="post_of_author"),
            models.Index(fields=["topic"], condition=Q(state="waiting"), name="post_waiting"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["author", "key"], name="post_once_per_form"),
            models.UniqueConstraint(fields=["topic"], condition=Q(is_opening=True), name="one_opening_per_topic"),
        ]

    def __str__(self) -> str:
        return f"post {self.pk} in {self.topic}"

    def text_and_form(self) -> tuple[str, str]:
        return self.body, Format.MARKDOWN

    @property
    def is_shown(self) -> bool:
        return self.state == self.State.SHOWN

    @property
    def text(self) -> str:
        """The body, or that of the announcement whose topic it opens."""
        announcement = self.topic.announcement if self.is_opening else None
        return announcement.body if announcement else self.body


class PostRevision(models.Model):
    """An earlier text of a post that was shown, and when it was replaced."""

    post = models.ForeignKey(Post, on_delete=models.CASCADE, related_name="revisions")
    version = models.PositiveIntegerField()
    body = LongTextField(max_length=MAX_POST)
    title = OneLineField(max_length=MAX_TITLE, blank=True, help_text="Of the topic, where it changed, too.")
    replaced_at = models.DateTimeField()
    replaced_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["-version"]
        constraints = [models.UniqueConstraint(fields=["post", "version"], name="revision_once_per_version")]
        indexes = [models.Index(fields=["replaced_by", "-replaced_at"], name="revision_of_person")]

    def __str__(self) -> str:
        return f"version {self.version} of post {self.post_id}"


class PostWord(models.Model):
    """A word of a shown post, by which its topic is searched for. What is hidden has none."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="+", db_index=False)
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="+", db_index=False)
    post = models.ForeignKey(Post, on_delete=models.CASCADE, related_name="+", db_index=False)
    word = models.CharField(max_length=MAX_WORD)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["post", "word"], name="word_once_per_post")]
        indexes = [  # the second kind of comparison finds beginnings, on PostgreSQL
            models.Index(
                fields=["competition", "word", "topic"],
                opclasses=["int8_ops", "varchar_pattern_ops", "int8_ops"],
                name="post_word_search",
            ),
            models.Index(fields=["topic"], name="post_word_topic"),
        ]

    def __str__(self) -> str:
        return self.word


class Writer(models.Model):
    """A person's standing in one discussion: the row under whose lock they write."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    is_trusted = models.BooleanField(default=False, help_text="An organizer has let a post of theirs be shown.")
    banned_at = models.DateTimeField(null=True)
    ban_reason = models.CharField(max_length=MAX_REASON, blank=True)
    banned_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["competition", "user"], name="writer_once_per_competition"),
            models.CheckConstraint(
                name="writer_banned_with_a_reason",
                condition=Q(banned_at=None, ban_reason="") | (Q(banned_at__isnull=False) & ~Q(ban_reason="")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in the discussion of {self.competition}"


class Subscription(models.Model):
    """A person's choice to follow a topic, or all new topics of a competition; off: they want none."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="+")
    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, null=True, related_name="subscriptions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    is_on = models.BooleanField(default=True)
    waits = models.BooleanField(default=False, help_text="Told of a reply, and has not looked at the topic since.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["topic", "user"], condition=Q(topic__isnull=False), name="follows_a_topic_once"
            ),
            models.UniqueConstraint(
                fields=["competition", "user"], condition=Q(topic=None), name="follows_a_discussion_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} {'follows' if self.is_on else 'does not follow'} {self.topic or self.competition}"


class Report(models.Model):
    """A note to the organizers on a post: by a reader, or by the site (nobody)."""

    post = models.ForeignKey(Post, on_delete=models.CASCADE, related_name="reports")
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="+")
    reporter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    text = LongTextField(max_length=MAX_REASON)
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)
    settled_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["-pk"]
        constraints = [models.UniqueConstraint(fields=["post", "reporter"], name="report_once_per_person_and_post")]
        indexes = [models.Index(fields=["competition", "-id"], condition=Q(settled_at=None), name="report_open")]

    def __str__(self) -> str:
        return f"report of post {self.post_id}"


class PostNotice(AskedRow):
    """A post of which people are to be told; it goes once they are."""

    post = models.OneToOneField(Post, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["asker", "id"], name="post_notice_of_asker")]

    def __str__(self) -> str:
        return f"notice of post {self.post_id}"

    def asked_by(self) -> str:
        return asker_key("competition", self.post.topic.competition_id)


class PostImage(AskedRow):
    """An image in posts: shown once it is written anew, to those who see the post that shows it."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="+")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    post = models.ForeignKey(Post, on_delete=models.SET_NULL, null=True, related_name="images")
    source = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, related_name="+")
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, related_name="+")
    small = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, related_name="+")
    width = models.PositiveIntegerField(null=True)
    height = models.PositiveIntegerField(null=True)
    fault = models.TextField(blank=True)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["asker", "id"], condition=Q(file=None, fault=""), name="post_image_waiting"),
            models.Index(fields=["author", "-created_at"], name="post_image_of_author"),
        ]

    def __str__(self) -> str:
        return str(self.key)

    def asked_by(self) -> str:
        return asker_key("person", self.author_id)
