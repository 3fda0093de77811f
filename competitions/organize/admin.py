"""Admin pages of hosting: phases by the workspace's form, and requests to host."""

from typing import Any, ClassVar, cast
from urllib.parse import parse_qs

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from accounts.models import User
from competitions.catalog.changes.change import phase_costs, require_agreement
from competitions.catalog.models import Competition, Phase
from competitions.catalog.readiness import competition_warnings
from competitions.organize.editing.phases import EXPLAINED, PhaseForm, new_phase_values
from competitions.organize.hosts import host_request_decide
from competitions.organize.models import HostRequest
from core.confirmations import NeedsConfirmation
from core.guarded_admin import GuardedAdmin, ReadOnlyAdmin
from files.text import is_number


class AdminPhaseForm(PhaseForm):
    """The admin has no button to confirm: the same form sent once more agrees to what it says."""

    confirmation_sent = forms.CharField(required=False, widget=forms.HiddenInput)

    @property
    def confirmed(self) -> str:
        return str(self.data.get("confirmation_sent", ""))

    def clean(self) -> dict[str, object]:
        cleaned = super().clean()
        if self.instance.pk and not self.errors:
            self._ask_for_confirmation(cleaned)
        return cleaned

    def _ask_for_confirmation(self, cleaned: dict[str, object]) -> None:
        stored = Phase.objects.get(pk=self.instance.pk)
        try:
            require_agreement(stored, cleaned, confirmed=self.confirmed, now=timezone.now())
        except NeedsConfirmation as refusal:
            data = cast("QueryDict", self.data).copy()
            data["confirmation_sent"] = refusal.confirmation
            self.data = data
            sentences = format_html_join("", "<li>{}</li>", ((sentence,) for sentence in refusal.impact))
            text = "Nothing is saved yet. This phase has begun, and this is what the change does:<ul>{}</ul>Save again to confirm it."
            self.add_error(None, format_html(text, sentences))


def form_for(competition: Competition, by: User) -> type[forms.ModelForm[Phase]]:
    """The form of this competition's phases, called as the admin calls its forms."""

    class Form(AdminPhaseForm):
        def __init__(self, data: Any = None, files: Any = None, **options: Any) -> None:
            if options.get("instance") is None:
                options["initial"] = new_phase_values(competition, timezone.now()) | options.get("initial", {})
            super().__init__(competition, data, by=by, **options)

    return Form


def managed_competitions(request: HttpRequest) -> QuerySet[Competition]:
    """The competitions that the asker organizes."""
    return Competition.objects.managed_by(request.user) if request.user.is_staff else Competition.objects.none()


def named_competition(request: HttpRequest) -> Competition | None:
    """The person's competition named in the address, or in the filter of the list they came from."""
    filters = parse_qs(request.GET.get("_changelist_filters", ""))
    named = request.GET.get("competition") or filters.get("competition", [""])[0]
    return managed_competitions(request).filter(pk=int(named)).first() if is_number(named) else None


class CompetitionFilter(admin.SimpleListFilter):
    """Phases of one competition; not shown to somebody who has one alone."""

    title, parameter_name = "competition", "competition"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        competitions = managed_competitions(request).order_by("title").values_list("pk", "title")
        return [(str(pk), title) for pk, title in competitions] if len(competitions) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Phase]) -> QuerySet[Phase]:
        chosen = self.value() or ""
        return queryset.filter(competition=int(chosen)) if is_number(chosen) else queryset


@admin.register(Phase)
class PhaseAdmin(GuardedAdmin):
    """A phase: dates, kinds, quotas, budget, split; the only admin page that organizers have."""

    list_display = ["name", "competition", "opens_at", "closes_at", "visibility", "accepts"]
    list_filter = [CompetitionFilter, "visibility"]
    list_select_related = ["competition"]
    actions = ["reveal"]
    readonly_fields = ["revealed_at", "cost"]
    fieldsets: ClassVar[Any] = [
        (None, {"fields": ["confirmation_sent", "seen", "revealed_at", "cost"]}),
        *(
            (heading, {"fields": list(names), "description": EXPLAINED.get(heading, "")})
            for heading, names in PhaseForm.groups
        ),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Phase]:
        return Phase.objects.filter(competition__in=managed_competitions(request))

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        user = request.user
        return (
            user.is_active and user.is_staff and (obj is None or self.get_queryset(request).filter(pk=obj.pk).exists())
        )

    has_module_permission = has_add_permission = has_change_permission = has_view_permission

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_view_permission(request, obj) and not (isinstance(obj, Phase) and obj.submissions.exists())

    def get_form(self, request: HttpRequest, obj: Phase | None = None, change: bool = False, **kwargs: Any) -> Any:
        """The form of the workspace, for the competition of the phase, or for the one that the address names."""
        competition = obj.competition if obj is not None else named_competition(request)
        if competition is None:
            raise Http404
        assert isinstance(request.user, User), "the admin lets nobody else in"
        return form_for(competition, request.user)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Ask first which competition it is for: that decides what tasks it can have."""
        if request.method == "POST" or named_competition(request) is not None:
            return super().add_view(request, form_url, extra_context)
        competitions = list(managed_competitions(request).order_by("title"))
        if len(competitions) == 1:
            return redirect(self._add_url(request, competitions[0]))
        choices = [(competition, self._add_url(request, competition)) for competition in competitions]
        context = self.admin_site.each_context(request) | {
            "title": "Add a phase",
            "opts": self.opts,
            "choices": choices,
            "is_popup": "_popup" in request.GET,
        }
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
        """Go to the page that shows what would become public, and asks: a reveal cannot be taken back."""
        phases = list(queryset[:2])
        if len(phases) > 1:
            self.message_user(request, "A reveal is for good: choose one phase at a time.", messages.ERROR)
            return None
        return redirect("web:reveal", phases[0].competition.slug, phases[0].slug)

    def save_model(self, request: HttpRequest, obj: Phase, form: Any, change: bool) -> None:
        """Store what the form has had confirmed; a refusal here is a bug in this code."""
        form.write(timezone.now())

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Tasks were stored with the phase; say what cannot work yet."""
        for warning in competition_warnings(form.competition):
            self.message_user(request, f"{warning.where}: {warning.text}", messages.WARNING)


@admin.register(HostRequest)
class HostRequestAdmin(ReadOnlyAdmin):
    """Granting makes the person an organizer."""

    list_display = ["user", "purpose", "state", "created_at", "decided_by"]
    list_filter = ["state"]
    list_select_related = ["user", "decided_by"]
    search_fields = ["user__username", "user__email"]
    actions = ["grant", "decline"]

    @admin.action(description="Grant: they become organizers", permissions=["decide"])
    def grant(self, request: HttpRequest, queryset: QuerySet[HostRequest]) -> None:
        self._decide(request, queryset, grant=True)

    @admin.action(description="Decline", permissions=["decide"])
    def decline(self, request: HttpRequest, queryset: QuerySet[HostRequest]) -> None:
        self._decide(request, queryset, grant=False)

    def _decide(self, request: HttpRequest, queryset: QuerySet[HostRequest], *, grant: bool) -> None:
        assert isinstance(request.user, User), "the admin lets nobody else in"
        rows, now = queryset.select_related("user"), timezone.now()
        done = sum(host_request_decide(request=row, grant=grant, by=request.user, now=now) for row in rows)
        self.message_user(request, f"{done} of {len(rows)} {'granted' if grant else 'declined'}.")
