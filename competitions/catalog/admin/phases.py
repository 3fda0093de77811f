"""Phases, and who saw the sealed scores of one."""

from typing import Any, ClassVar, Final

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from competitions.catalog.admin.phase_form import PhaseForm
from competitions.catalog.admin.tasks import rerun_outdated
from competitions.catalog.models import SECTIONS, Competition, Phase, SealedUse
from competitions.catalog.organizer_admin import (
    OrganizerAdmin,
    ReadOnly,
    managed_competitions,
    named_competition,
)
from competitions.catalog.phases.changes import change_phase
from competitions.catalog.phases.impact import phase_costs
from competitions.catalog.phases.presets import PRESETS
from competitions.catalog.readiness import competition_warnings

EXPLAINED: Final = {
    "Dates": "In UTC. What a change of a phase that has begun does is listed first, and saved once you save again.",
    "What is submitted": "Which kinds of files teams send, what they are checked against, and on which tasks they are run.",
    "A board that grows by datasets": "Leave it empty unless teams submit datasets, too.",
    "Smoke run": "Code runs on it before anything hidden is touched; teams may download all of its files, labels included.",
    "Quota of a team": "What fails by a fault of the site or of the organizers is not counted.",
    "Budget of a code submission": "What one run may use at most; prediction files need none of it.",
    "Own environment": "What teams may bring for their code. Images and requirements need settings of the queue, too.",
    "Scoring and queue": "What the scoring program may use, and whose turn comes first.",
    "Outputs and network": "What teams read of their runs, and what programs may reach.",
}


@admin.register(Phase)
class PhaseAdmin(OrganizerAdmin):
    """A phase: dates, kinds, quotas, budget, split."""

    form = PhaseForm
    list_display = ["name", "competition", "opens_at", "closes_at", "visibility", "accepts"]
    list_filter = ["visibility"]
    list_select_related = ["competition"]
    prepopulated_fields = {"slug": ["name"]}
    filter_horizontal = ["tasks"]
    actions = ["reveal", rerun_outdated]
    readonly_fields = ["revealed_at", "cost"]
    fieldsets: ClassVar[Any] = [
        (None, {"fields": ["competition", "name", "slug", "description", "index", "preset", "confirmed"]}),
        ("Scores", {"fields": ["visibility", "reveal_at", "revealed_at"]}),
        *(
            (heading, {"fields": list(names), "description": EXPLAINED[heading]})
            for section in SECTIONS
            for heading, names in section.form.items()
        ),
        ("Files for participants", {"fields": ["public_data", "starting_kit", "sample_submission"]}),
    ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Which competition it is for decides what tasks it can have, so that is asked first."""
        if request.method == "POST" or named_competition(request) is not None:
            return super().add_view(request, form_url, extra_context)
        competitions = list(managed_competitions(request).order_by("title"))
        if len(competitions) == 1:
            return redirect(self._add_url(request, competitions[0]))
        choices = [(competition, self._add_url(request, competition)) for competition in competitions]
        context = self.admin_site.each_context(request) | {
            "title": "Add a phase", "opts": self.opts, "choices": choices, "is_popup": "_popup" in request.GET,
        }  # fmt: skip
        return TemplateResponse(request, "admin/catalog/choose_competition.html", context)

    @staticmethod
    def _add_url(request: HttpRequest, competition: Competition) -> str:
        query = request.GET.copy()
        query["competition"] = str(competition.pk)
        return f"{request.path}?{query.urlencode()}"

    def get_fieldsets(self, request: HttpRequest, obj: Phase | None = None) -> Any:
        """A new phase has no reveal and no costs to show."""
        left_out = {"revealed_at"} if obj is None else set()
        left_out |= set() if obj is not None and obj.grows else {"cost"}
        return [
            (heading, options | {"fields": [name for name in options["fields"] if name not in left_out]})
            for heading, options in self.fieldsets
        ]

    @admin.display(description="Accepts")
    def accepts(self, phase: Phase) -> str:
        return ", ".join(phase.accepted_kinds)

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
        entered = form.cleaned_data
        change_phase(obj, tasks=entered["tasks"], now=timezone.now(), confirmed=entered["confirmed"])

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
