"""What an organizer defines, in the admin: the competition with its warnings, pages, rules, phases and tasks."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.models import User
from competitions.catalog.impact import phase_costs, phase_impact
from competitions.catalog.models import (
    Announcement,
    Competition,
    CompetitionOrganizer,
    Format,
    Page,
    Phase,
    RulesVersion,
    SealedUse,
    Series,
    Task,
)
from competitions.catalog.organizer_admin import OrganizerAdmin, OwnCompetitions, ReadOnly
from competitions.catalog.presets import PRESETS
from competitions.catalog.readiness import competition_warnings
from competitions.catalog.services import current_rules, rules_publish
from competitions.catalog.sizes import SizeField


class PageInline(OwnCompetitions, admin.StackedInline[Page, Competition]):
    model = Page
    extra = 0


class AnnouncementInline(OwnCompetitions, admin.StackedInline[Announcement, Competition]):
    model = Announcement
    extra = 0


class OrganizerInline(OwnCompetitions, admin.TabularInline[CompetitionOrganizer, Competition]):
    """Who organizes. The right to see sealed scores is an administrator's to give, not one's own to take."""

    model = CompetitionOrganizer
    extra = 0

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [] if request.user.is_superuser else ["can_see_sealed"]

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user":
            kwargs["queryset"] = User.objects.filter(is_staff=True, is_active=True)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class CompetitionForm(forms.ModelForm[Competition]):
    """The competition with the text of its rules, which is published as a new version when it changed."""

    rules_text = forms.CharField(
        label="Rules",
        strip=False,  # what comes back untouched must equal what is in force
        widget=forms.Textarea(attrs={"rows": 12, "class": "vLargeTextField"}),
        required=False,
        help_text="A change is published as a new version, which participants must accept again.",
    )
    rules_format = forms.ChoiceField(label="Written in", choices=Format.choices, required=False)

    class Meta:
        model = Competition
        fields = "__all__"
        labels = {"slug": "Address"}
        help_texts = {"slug": "The last part of its address: /competitions/…/"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rules = current_rules(self.instance) if self.instance.pk else None
        self.fields["rules_text"].initial = rules.text if rules else ""
        self.fields["rules_format"].initial = rules.format if rules else Format.MARKDOWN


@admin.register(Competition)
class CompetitionAdmin(OrganizerAdmin):
    """The competition, with a list of what cannot work yet."""

    form = CompetitionForm
    competition_path = "pk"
    list_display = ["title", "is_published", "registration_policy", "queue", "warning_count"]
    list_filter = ["is_published"]
    list_select_related = ["queue"]
    search_fields = ["title", "slug"]
    prepopulated_fields = {"slug": ["title"]}
    inlines = [PageInline, AnnouncementInline, OrganizerInline]
    readonly_fields = ["warnings"]
    fieldsets = [
        (None, {"fields": ["warnings", "title", "slug", "subtitle", "host", "series", "is_published"]}),
        (
            "People",
            {
                "fields": [
                    "registration_policy",
                    "registration_closes_at",
                    "max_team_size",
                    "merges_close_at",
                    "rules_text",
                    "rules_format",
                ]
            },
        ),
        ("Running", {"fields": ["queue", "docker_image"]}),
        (
            "Details and files",
            {
                "fields": [
                    "competition_type",
                    "contact_email",
                    "reward",
                    "enable_detailed_results",
                    "show_detailed_results_in_submission_panel",
                    "show_detailed_results_in_leaderboard",
                    "make_programs_available",
                    "make_input_data_available",
                ]
            },
        ),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Competition | None = None) -> list[str]:
        """Into a series a competition is taken by an administrator: its page speaks for all tracks."""
        return [*self.readonly_fields, *([] if request.user.is_superuser else ["series"])]

    @admin.display(description="What cannot work yet")
    def warnings(self, competition: Competition) -> SafeString:
        if not competition.pk:
            return format_html(
                "<p>{}</p>", "It is listed here once the competition is saved; phases and tasks come after that."
            )
        found = competition_warnings(competition)
        if not found:
            return format_html("<p>{}</p>", "Nothing: participants can register, submit and be scored.")
        rows = format_html_join("", "<li><strong>{}</strong>: {}</li>", ((one.where, one.text) for one in found))
        page = reverse("web:overview", args=[competition.slug])
        told = '<ul class="errorlist">{}</ul><p><a href="{}">The competition\'s page</a> has this list with links.</p>'
        return format_html(told, rows, page)

    def view_on_site(self, obj: Competition) -> str:
        return reverse("web:overview", args=[obj.slug])

    @admin.display(description="Warnings")
    def warning_count(self, competition: Competition) -> int:
        return len(competition_warnings(competition))

    def save_model(self, request: HttpRequest, obj: Competition, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            assert isinstance(request.user, User), "the admin lets nobody else in"
            CompetitionOrganizer.objects.get_or_create(competition=obj, user=request.user)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        self._publish_rules(request, form.instance, form.cleaned_data)
        for warning in competition_warnings(form.instance):
            self.message_user(request, f"{warning.where}: {warning.text}", messages.WARNING)

    def _publish_rules(self, request: HttpRequest, competition: Competition, said: dict[str, Any]) -> None:
        before, text = current_rules(competition), said.get("rules_text", "").replace("\r\n", "\n")
        if not text.strip():
            return
        written = Format(said.get("rules_format") or (before.format if before else Format.MARKDOWN))
        rules = rules_publish(competition=competition, text=text, form=written, now=timezone.now())
        if rules != before:
            self.message_user(request, f"Version {rules.number} of the rules is in force.")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False  # scores stay reproducible; unpublish it instead


@admin.register(Series)
class SeriesAdmin(admin.ModelAdmin[Series]):
    """Series of competitions: administrators make them and take competitions in."""

    list_display = ["title", "slug"]
    prepopulated_fields = {"slug": ["title"]}
    search_fields = ["title", "slug"]


class PhaseForm(forms.ModelForm[Phase]):
    preset = forms.ChoiceField(
        required=False,
        choices=[("", "—"), *((name, preset.title) for name, preset in PRESETS.items())],
        help_text="Overwrites budget, quotas, visibility and prediction format with the rules of a known challenge.",
    )

    impact_read = forms.BooleanField(
        required=False,
        label="I have read what this changes",
        help_text="A phase that has begun is saved only when you have; what would change is listed when you save.",
    )

    class Meta:
        model = Phase
        fields = "__all__"
        field_classes = dict.fromkeys(("memory_bytes", "output_bytes", "scoring_memory_bytes"), SizeField)
        help_texts = {
            "slug": "Its name in addresses: ?phase=…",
            "index": "Phases are listed by it, the lowest first.",
            "pids": "Processes and threads that may be there at once.",
        }
        labels = {
            "slug": "Address",
            "memory_bytes": "Memory",
            "output_bytes": "Output",
            "scoring_memory_bytes": "Scoring memory",
        }
        widgets = dict.fromkeys(("memory_bytes", "output_bytes", "scoring_memory_bytes"), forms.TextInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("tasks", "dataset_check"):
            field = self.fields.get(name)
            if isinstance(field, forms.ModelChoiceField) and field.queryset is not None:
                field.queryset = self._tasks(field.queryset)
                field.label_from_instance = self._task_label  # type: ignore[method-assign]
                field.error_messages["invalid_choice"] = (
                    "The task %(value)s belongs to another competition, or is gone."
                )

    def _tasks(self, tasks: QuerySet[Task]) -> QuerySet[Task]:
        """Those that the phase can have; what a team submitted joins by itself. A new phase names its competition later."""
        tasks = tasks.filter(dataset=None).select_related("competition").order_by("competition__title", "pk")
        phase = self.instance
        if not phase.pk:
            return tasks
        fitting = Q(competition=phase.competition_id) | Q(competition=None) | Q(is_public=True) | Q(phases=phase.pk)
        return tasks.filter(pk__in=Task.objects.filter(fitting).values("pk"))

    def _task_label(self, obj: Task) -> str:
        """Tasks of many competitions have the same names."""
        if self.instance.pk and obj.competition_id == self.instance.competition_id:
            return obj.name
        return f"{obj.name} ({obj.competition or 'of no competition'})"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.instance.pk and not cleaned.get("impact_read"):
            self._show_impact(cleaned)
        competition = cleaned.get("competition")
        check = cleaned.get("dataset_check")
        for field, task in [*(("tasks", task) for task in cleaned.get("tasks") or []), ("dataset_check", check)]:
            if competition and task and self._is_foreign(task, competition):
                self.add_error(field, f"The task “{task}” belongs to another competition.")
        if check is not None and check in (cleaned.get("tasks") or []):
            self.add_error("dataset_check", "The check is run on data sets alone: take it out of the phase's tasks.")
        if check is not None and cleaned.get("preset"):
            self.add_error(
                "preset", "A known challenge has a fixed data set, so its board does not grow. Choose one of the two."
            )
        if self.instance.pk and self.instance.submissions.exists():
            self._keep_what_submissions_rest_on(cleaned)
        return cleaned

    def _is_foreign(self, task: Task, competition: Competition) -> bool:
        """Of another competition, and neither for everybody nor in this phase already, as a bundle may have put it there."""
        elsewhere = task.competition_id is not None and task.competition_id != competition.pk
        return elsewhere and not task.is_public and not (self.instance.pk and task.phases.contains(self.instance))

    def _show_impact(self, cleaned: dict[str, Any]) -> None:
        """Before anything is saved: what it would do to teams and their submissions."""
        stored = Phase.objects.get(pk=self.instance.pk)
        changes = {name: cleaned.get(name) for name in self.changed_data if name in cleaned and hasattr(stored, name)}
        if preset := PRESETS.get(cleaned.get("preset") or ""):  # it overwrites what the form says
            changes |= preset.fields()
            changes = {name: value for name, value in changes.items() if getattr(stored, name) != value}
        sentences = phase_impact(stored, changes, timezone.now())
        if sentences:
            told = format_html_join("", "<li>{}</li>", ((one,) for one in sentences))
            self.add_error(
                None,
                format_html(
                    "Nothing is saved yet. This phase has begun, and this is what the change does:<ul>{}</ul>"
                    'Tick “<a href="#id_impact_read">I have read what this changes</a>” and save again.',
                    told,
                ),
            )

    def _keep_what_submissions_rest_on(self, cleaned: dict[str, Any]) -> None:
        """Teams submitted under these: a form must not unseal their scores, nor hand them to another competition."""
        phase = self.instance  # as stored; the form writes into it after this
        if phase.is_sealed and cleaned.get("visibility") == Phase.Visibility.PUBLIC:
            self.add_error(
                "visibility",
                "This phase has submissions whose scores are sealed. To show them, use the action Reveal in the list of phases.",
            )
        preset = PRESETS.get(cleaned.get("preset") or "")
        if preset is not None and preset.visibility != phase.visibility:
            self.add_error(
                "preset",
                f"This phase has submissions and is {phase.visibility}; the preset would make it {preset.visibility}. "
                "Make a new phase for it, or set its numbers by hand.",
            )
        competition = cleaned.get("competition")
        if competition is not None and competition.pk != phase.competition_id:
            self.add_error("competition", f"This phase has submissions, so it stays with “{phase.competition}”.")


@admin.action(description="Run again what ran with old versions (count and cost first)", permissions=["change"])
def rerun_outdated(model_admin: OrganizerAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
    """To the page that shows which submissions of these tasks or phases ran with programs or data replaced since."""
    chosen = ",".join(str(pk) for pk in queryset.values_list("pk", flat=True))
    name = queryset.model._meta.model_name
    return redirect(f"{reverse('admin:submissions_submission_outdated')}?{name}={chosen}")


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
    fieldsets = [
        (None, {"fields": ["competition", "name", "slug", "description", "index", "preset"]}),
        ("Dates", {"fields": ["opens_at", "closes_at", "accepts_late", "impact_read"]}),
        (
            "What is submitted",
            {
                "fields": [
                    "accepts_predictions",
                    "accepts_code",
                    "accepts_datasets",
                    "as_on_codabench",
                    "prediction_format",
                    "tasks",
                ]
            },
        ),
        (
            "A board that grows by data sets",
            {"fields": ["dataset_check", "max_datasets", "max_datasets_per_team", "cost"]},
        ),
        ("Scores", {"fields": ["visibility", "reveal_at", "revealed_at"]}),
        ("Quota of a team", {"fields": ["max_submissions_per_day", "max_submissions_per_week", "max_submissions"]}),
        (
            "Budget of a code submission",
            {
                "fields": [
                    "time_limit_s",
                    "gpus",
                    "cpus",
                    "memory_bytes",
                    "output_bytes",
                    "output_files",
                    "pids",
                    "docker_image",
                ]
            },
        ),
        ("Scoring and queue", {"fields": ["scoring_time_limit_s", "scoring_memory_bytes", "priority"]}),
        ("Files for participants", {"fields": ["public_data", "starting_kit"]}),
        (
            "Outputs and network",
            {
                "fields": [
                    "hide_output",
                    "hide_prediction_output",
                    "hide_score_output",
                    "allow_network",
                    "auto_migrate_to_this_phase",
                ]
            },
        ),
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


@admin.register(Task)
class TaskAdmin(OrganizerAdmin):
    """A task: which programs and data a run uses."""

    list_display = ["name", "competition", "scoring_program", "ingestion_program"]
    actions = [rerun_outdated]
    list_select_related = ["competition", "scoring_program", "ingestion_program"]

    def mine(self, request: HttpRequest) -> QuerySet[Any]:
        """Also own ones that came as a zip of a task and belong to no competition."""
        return super().mine(request) | Task.objects.filter(competition=None, owner_id=request.user.pk)


@admin.register(SealedUse)
class SealedUseAdmin(ReadOnly, OrganizerAdmin):
    """Who saw sealed scores, and when."""

    competition_path = "phase__competition"
    list_display = ["last_at", "user", "phase", "uses", "first_at"]
    list_select_related = ["user", "phase__competition"]


@admin.register(RulesVersion)
class RulesVersionAdmin(OrganizerAdmin):
    """Versions of the rules; a new one is published on the competition."""

    list_display = ["competition", "number", "published_at"]
    list_select_related = ["competition"]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
