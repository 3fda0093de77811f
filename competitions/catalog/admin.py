"""Competitions and their parts, for administrators to look at."""

from django.contrib import admin
from django.urls import reverse

from competitions.catalog.models import Competition, RulesVersion, SealedUse, Series, Task
from competitions.catalog.readiness import competition_warnings
from core.guarded_admin import GuardedAdmin, ReadOnlyAdmin


@admin.register(Competition)
class CompetitionAdmin(ReadOnlyAdmin):
    """A competition, with the number of things in it that cannot work yet; its own page lists them."""

    list_display = ["title", "is_published", "registration_policy", "queue", "warning_count"]
    list_filter = ["is_published"]
    list_select_related = ["queue"]
    search_fields = ["title", "slug"]
    exclude = ["logo", "cover"]

    def view_on_site(self, obj: Competition) -> str:
        return reverse("web:overview", args=[obj.slug])

    @admin.display(description="Warnings")
    def warning_count(self, competition: Competition) -> int:
        return len(competition_warnings(competition))


@admin.register(Series)
class SeriesAdmin(GuardedAdmin):
    """A series; its owner can be changed here alone."""

    list_display = ["title", "slug", "owner"]
    list_select_related = ["owner"]
    search_fields = ["title", "slug"]


@admin.register(RulesVersion)
class RulesVersionAdmin(ReadOnlyAdmin):
    list_display = ["competition", "number", "published_at"]
    list_select_related = ["competition"]


@admin.register(SealedUse)
class SealedUseAdmin(ReadOnlyAdmin):
    """Uses of the right to see sealed scores."""

    list_display = ["last_at", "user", "phase", "uses", "first_at"]
    list_select_related = ["user", "phase__competition"]


@admin.register(Task)
class TaskAdmin(ReadOnlyAdmin):
    list_display = ["name", "competition", "scoring_program", "ingestion_program"]
    list_select_related = ["competition", "scoring_program", "ingestion_program"]
    search_fields = ["name", "competition__title"]
