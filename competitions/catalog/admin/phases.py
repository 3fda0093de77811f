"""Phases, and who saw the sealed scores of one."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from competitions.catalog.admin.phase_form import PhaseForm
from competitions.catalog.admin.tasks import rerun_outdated
from competitions.catalog.impact import phase_costs
from competitions.catalog.models import SECTIONS, Phase, SealedUse
from competitions.catalog.organizer_admin import OrganizerAdmin, ReadOnly
from competitions.catalog.presets import PRESETS
from competitions.catalog.readiness import competition_warnings


@admin.register(Phase)
class PhaseAdmin(OrganizerAdmin):
    """A phase: dates, kinds, quotas, budget, split."""

    form = PhaseForm
    list_display = ["name", "competition", "opens_at", "closes_at", "visibility", "accepts_predictions", "accepts_code"]
    list_filter = ["visibility"]
    list_select_related = ["competition"]
    prepopulated_fields = {"slug": ["name"]}
    filter_horizontal = ["tasks"]
    actions = ["reveal", rerun_outdated]
    readonly_fields = ["revealed_at", "cost"]
    fieldsets: ClassVar[Any] = [
        (None, {"fields": ["competition", "name", "slug", "description", "index", "preset"]}),
        ("Scores", {"fields": ["visibility", "reveal_at", "revealed_at"]}),
        *((heading, {"fields": list(names)}) for section in SECTIONS for heading, names in section.form.items()),
        ("Files for participants", {"fields": ["public_data", "starting_kit"]}),
    ]

    @admin.display(description="What filling it costs")
    def cost(self, phase: Phase) -> str:
        return " ".join(phase_costs(phase)) if phase.pk else "-"

    @admin.action(description="Reveal the sealed scores (a preview first)", permissions=["change"])
    def reveal(self, request: HttpRequest, queryset: QuerySet[Phase]) -> HttpResponse | None:
        """To the page that shows what would become public, and asks: a reveal cannot be taken back."""
        phases = list(queryset[:2])
        if len(phases) > 1:
            self.message_user(request, "A reveal is for good: choose one phase at a time.", messages.ERROR)
            return None
        return redirect("web:reveal", phases[0].competition.slug, phases[0].slug)

    def save_model(self, request: HttpRequest, obj: Phase, form: Any, change: bool) -> None:
        if preset := form.cleaned_data.get("preset"):
            PRESETS[preset].apply(obj)
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        for warning in competition_warnings(form.instance.competition):
            self.message_user(request, f"{warning.where}: {warning.text}", messages.WARNING)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (isinstance(obj, Phase) and obj.submissions.exists())


@admin.register(SealedUse)
class SealedUseAdmin(ReadOnly, OrganizerAdmin):
    """Who saw sealed scores, and when."""

    competition_path = "phase__competition"
    list_display = ["last_at", "user", "phase", "uses", "first_at"]
    list_select_related = ["user", "phase__competition"]
