"""Discussions, for administrators to look at; organizers moderate in the workspace."""

from django.contrib import admin

from competitions.discussions.models import Post, Report, Topic, Writer
from core.guarded_admin import ReadOnlyAdmin


@admin.register(Topic)
class TopicAdmin(ReadOnlyAdmin):
    list_display = ["title", "competition", "author", "reply_count", "is_shown", "last_post_at"]
    list_filter = ["is_shown"]
    list_select_related = ["competition", "author"]
    search_fields = ["title", "competition__title"]


@admin.register(Post)
class PostAdmin(ReadOnlyAdmin):
    list_display = ["id", "topic", "author", "state", "created_at"]
    list_filter = ["state"]
    list_select_related = ["topic", "author"]
    search_fields = ["author__username"]


@admin.register(Report)
class ReportAdmin(ReadOnlyAdmin):
    list_display = ["post", "competition", "reporter", "created_at", "settled_at", "settled_by"]
    list_select_related = ["post__topic", "competition", "reporter", "settled_by"]


@admin.register(Writer)
class WriterAdmin(ReadOnlyAdmin):
    list_display = ["user", "competition", "is_trusted", "banned_at", "banned_by"]
    list_filter = ["is_trusted"]
    list_select_related = ["user", "competition", "banned_by"]
    search_fields = ["user__username"]
