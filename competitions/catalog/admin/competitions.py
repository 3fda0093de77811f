"""The competition with its pages, news, organizers, rules and warnings, and the series it may belong to."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminFileWidget
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.models import User
from competitions.catalog.form_fields.images import IMAGE_HELP, ImageUploadField, Shown, store_upload
from competitions.catalog.models import (
    Announcement,
    Competition,
    CompetitionOrganizer,
    Format,
    ImageUpload,
    Page,
    RulesVersion,
    Series,
)
from competitions.catalog.organizer_admin import OrganizerAdmin, OwnCompetitions
from competitions.catalog.queue_rights import faults_on_queue
from competitions.catalog.readiness import competition_warnings
from competitions.catalog.services import current_rules, rules_publish
from competitions.catalog.texts.images import image_request
from competitions.compute.models import Queue
from competitions.resources.rooms import image_room


class PageInline(OwnCompetitions, admin.StackedInline[Page, Competition]):
    model = Page
    extra = 0


class AnnouncementInline(OwnCompetitions, admin.StackedInline[Announcement, Competition]):
    model = Announcement
    extra = 0


class OrganizerInline(OwnCompetitions, admin.StackedInline[CompetitionOrganizer, Competition]):
    """Who organizes. The right to see sealed scores is an administrator's to give, not one's own to take."""

    model = CompetitionOrganizer
    extra = 0

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [] if request.user.is_superuser else ["can_see_sealed"]

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user":
            mine = Competition.objects.managed_by(request.user)
            organizers = CompetitionOrganizer.objects.filter(competition__in=mine)  # who need not be staff
            people = Q(is_staff=True, is_active=True) | Q(pk__in=organizers.values("user"))
            kwargs["queryset"] = User.objects.filter(people)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class CompetitionForm(forms.ModelForm[Competition]):
    """The competition with its logo and the text of its rules, which is published as a new version when it changed."""

    new_logo = ImageUploadField(label="Logo", required=False, widget=AdminFileWidget, help_text=IMAGE_HELP)

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
        exclude = ("logo", "cover")
        labels = {"slug": "Address"}
        help_texts = {"slug": "The last part of its address: /competitions/…/"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rules = current_rules(self.instance) if self.instance.pk else None
        self.fields["rules_text"].initial = rules.text if rules else ""
        self.fields["rules_format"].initial = rules.format if rules else Format.MARKDOWN
        if self.instance.pk and self.instance.logo_id:
            self.fields["new_logo"].initial = Shown(reverse("web:logo", args=[self.instance.slug]))

    def clean_queue(self) -> Queue:
        """Refuse to move to a queue whose owner may not read what this competition runs."""
        queue: Queue = self.cleaned_data["queue"]
        moves = self.instance.pk and queue.pk != self.instance.queue_id
        faults = list(faults_on_queue(self.instance, queue)) if moves else []
        if faults:
            raise forms.ValidationError(faults, code="queue_not_allowed")
        return queue

    def save(self, commit: bool = True) -> Competition:
        """Without the logo that was cleared; one that was uploaded is shown once it is written anew."""
        if self.cleaned_data["new_logo"] is False:
            self.instance.logo = None
        return super().save(commit)


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
        (None, {"fields": ["warnings", "title", "slug", "subtitle", "host", "new_logo", "series", "is_published"]}),
        (
            "People",
            {
                "fields": [
                    "registration_policy",
                    "allow_robot_submissions",
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

    body_room = staticmethod(image_room)

    @admin.display(description="What cannot work yet")
    def warnings(self, competition: Competition) -> SafeString:
        if not competition.pk:
            return format_html(
                "<p>{}</p>", "It is listed here once the competition is saved; phases and tasks come after that."
            )
        warnings = competition_warnings(competition)
        if not warnings:
            return format_html("<p>{}</p>", "Nothing: participants can register, submit and be scored.")
        rows = format_html_join(
            "", "<li><strong>{}</strong>: {}</li>", ((warning.where, warning.text) for warning in warnings)
        )
        page = reverse("web:overview", args=[competition.slug])
        told = '<ul class="errorlist">{}</ul><p><a href="{}">The competition\'s page</a> has this list with links.</p>'
        return format_html(told, rows, page)

    def view_on_site(self, obj: Competition) -> str:
        return reverse("web:overview", args=[obj.slug])

    @admin.display(description="Warnings")
    def warning_count(self, competition: Competition) -> int:
        return len(competition_warnings(competition))

    def save_model(self, request: HttpRequest, obj: Competition, form: Any, change: bool) -> None:
        obj.is_trial = obj.is_trial and not obj.is_published
        super().save_model(request, obj, form, change)
        if not change:
            assert isinstance(request.user, User), "the admin lets nobody else in"
            CompetitionOrganizer.objects.get_or_create(competition=obj, user=request.user)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if isinstance(logo := form.cleaned_data["new_logo"], TemporaryUploadedFile):
            place, file = ImageUpload.Place.LOGO, store_upload(logo)
            image_request(competition=form.instance, place=place, file=file, now=timezone.now())
        self._publish_rules(request, form.instance, form.cleaned_data)
        for warning in competition_warnings(form.instance):
            self.message_user(request, f"{warning.where}: {warning.text}", messages.WARNING)

    def _publish_rules(self, request: HttpRequest, competition: Competition, values: dict[str, Any]) -> None:
        before, text = current_rules(competition), values.get("rules_text", "").replace("\r\n", "\n")
        if not text.strip():
            return
        written = Format(values.get("rules_format") or (before.format if before else Format.MARKDOWN))
        rules = rules_publish(competition=competition, text=text, form=written, now=timezone.now())
        if rules != before:
            self.message_user(request, f"Version {rules.number} of the rules is in force.")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False  # scores stay reproducible; unpublish it instead


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
