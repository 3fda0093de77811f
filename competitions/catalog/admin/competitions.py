"""Competitions and their rules, to read; and the series that competitions may belong to."""

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.models import User
from competitions.catalog.models import Competition, RulesVersion, Series
from competitions.catalog.organizer_admin import OrganizerAdmin, ReadOnly
from competitions.catalog.readiness import competition_warnings


@admin.register(Competition)
class CompetitionAdmin(ReadOnly, OrganizerAdmin):
    """The competition, with a list of what cannot work yet. It is changed in its workspace, or by the API."""

    competition_path = "pk"
    list_display = ["title", "is_published", "registration_policy", "queue", "warning_count"]
    list_filter = ["is_published"]
    list_select_related = ["queue"]
    search_fields = ["title", "slug"]
    exclude = ["logo", "cover"]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        shown = [name for name in super().get_readonly_fields(request, obj) if name not in self.exclude]
        return ["warnings", "workspace", *shown]

    @admin.display(description="What cannot work yet")
    def warnings(self, competition: Competition) -> SafeString:
        warnings = competition_warnings(competition)
        if not warnings:
            return format_html("<p>{}</p>", "Nothing: participants can register, submit and be scored.")
        rows = format_html_join(
            "", "<li><strong>{}</strong>: {}</li>", ((warning.where, warning.text) for warning in warnings)
        )
        page = reverse("web:overview", args=[competition.slug])
        told = '<ul class="errorlist">{}</ul><p><a href="{}">The competition\'s page</a> has this list with links.</p>'
        return format_html(told, rows, page)

    @admin.display(description="Changed in")
    def workspace(self, competition: Competition) -> SafeString:
        return format_html('<a href="{}">its workspace</a>', reverse("organize:settings", args=[competition.slug]))

    def view_on_site(self, obj: Competition) -> str:
        return reverse("web:overview", args=[obj.slug])

    @admin.display(description="Warnings")
    def warning_count(self, competition: Competition) -> int:
        return len(competition_warnings(competition))


@admin.register(Series)
class SeriesAdmin(OrganizerAdmin):
    """Series of competitions. Whoever makes one owns it, edits it and takes competitions in: its page speaks for all tracks."""

    competition_path = "tracks"

    list_display = ["title", "slug", "owner"]
    list_select_related = ["owner"]
    prepopulated_fields = {"slug": ["title"]}
    search_fields = ["title", "slug"]

    def mine(self, request: HttpRequest) -> QuerySet[Any]:
        rows = Series.objects.all()
        return rows if request.user.is_superuser else rows.filter(owner=request.user.pk)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [] if request.user.is_superuser else ["owner"]

    def save_model(self, request: HttpRequest, obj: Series, form: Any, change: bool) -> None:
        if not change and obj.owner is None:
            assert isinstance(request.user, User), "the admin lets nobody else in"
            obj.owner = request.user
        super().save_model(request, obj, form, change)


@admin.register(RulesVersion)
class RulesVersionAdmin(ReadOnly, OrganizerAdmin):
    """Versions of the rules; a new one is published in the workspace."""

    list_display = ["competition", "number", "published_at"]
    list_select_related = ["competition"]
