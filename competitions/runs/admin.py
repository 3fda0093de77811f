"""Admin pages of submissions and runs, to look at.

Scores and what follows from them are left out: pages ask disclosure.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from competitions.runs.models import Run, RunEvent
from competitions.submissions.models import Submission
from competitions.submissions.states import ORGANIZERS_OWN, Reason, State
from core.guarded_admin import History, ReadOnlyAdmin

HELD = {
    "platform": ("after faults of the platform", Q(reason=Reason.INFRASTRUCTURE)),
    "organizer": ("after a fault of the scoring program or the setup", Q(reason__in=ORGANIZERS_OWN)),
}


class RunInline(History):
    model = Run
    fields = ("id", "task", "state", "attempt", "worker", "reason", "detail")
    show_change_link = True


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = ["id", "status", "reason", "team", "phase", "kind", "received_at"]
    list_filter = ["status", "reason", "kind"]
    list_select_related = ["team", "phase__competition"]
    search_fields = ["team__name", "file_name", "submitted_by__username"]
    inlines = [RunInline]

    def view_on_site(self, obj: Submission) -> str:
        return reverse("web:submission", args=[obj.pk])


class RunEventInline(History):
    model = RunEvent
    fields = ("at", "attempt", "source", "target", "actor", "note")


class HeldFilter(admin.SimpleListFilter):
    """Runs to which nothing happens until a person has looked and runs them again."""

    title, parameter_name = "held for a person", "held"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, words) for name, (words, _) in HELD.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        chosen = HELD.get(self.value() or "")
        return queryset.filter(chosen[1], state=State.FAILED) if chosen else queryset


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ["short_id", "state", "why", "linked", "task", "attempt", "worker", "queued_at"]
    list_filter = ["state", HeldFilter, "queue"]
    list_select_related = ["submission", "task", "worker__queue"]
    ordering = ["-submission_id"]  # the newest first, by an index: the table has millions of rows
    exclude = ["scores", "meters", "receipt", "lease_id"]
    inlines = [RunEventInline]

    def view_on_site(self, obj: Run) -> str:
        return reverse("web:submission", args=[obj.submission_id])

    @admin.display(description="Submission", ordering="submission_id")
    def linked(self, run: Run) -> SafeString:
        """The submission, by a link to its page: its organizers' workspace runs it again."""
        page = reverse("web:submission", args=[run.submission_id])
        return format_html('<a href="{}">{}</a>', page, run.submission)

    @admin.display(description="Run")
    def short_id(self, run: Run) -> str:
        return str(run.pk)[:8]

    @admin.display(description="Reason", ordering="reason")
    def why(self, run: Run) -> str:
        return ": ".join(part for part in (run.get_reason_display() if run.reason else "", run.code) if part)
