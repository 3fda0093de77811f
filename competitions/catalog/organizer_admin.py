"""The admin for organizers: they see and change what belongs to their own competitions, and nothing else.

Rights follow from `CompetitionOrganizer`, not from Django's permission rows, which know no objects.
"""

from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs

from django.contrib import admin
from django.db.models import DateTimeField, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst

from accounts.models import User
from competitions.catalog.models import Competition, Phase, Series, Task
from competitions.compute.models import Queue
from competitions.resources.models import Resource
from competitions.resources.versions import resources_named_by
from core.guarded_admin import GuardedAdmin
from files.text import is_number

if TYPE_CHECKING:
    from django.forms import ModelChoiceField


def is_organizer(request: HttpRequest) -> bool:
    user = request.user
    return isinstance(user, User) and user.is_active and user.is_staff


def choices_for(request: HttpRequest, model: type[Model]) -> QuerySet[Any] | None:
    """The rows that an organizer may point at in a form, or None where there is no such limit."""
    user = request.user
    assert isinstance(user, User), "the admin lets nobody else in"
    if user.is_superuser:
        return None
    mine = Competition.objects.managed_by(user)
    if model is Competition:
        return mine
    if model is Series:
        return Series.objects.filter(Q(owner=user) | Q(pk__in=mine.values("series")))
    if model is Phase:
        return Phase.objects.filter(competition__in=mine)
    if model is Task:
        usable = Task.objects.usable_by(user)
        return Task.objects.filter(Q(pk__in=usable.values("pk")) | Q(phases__competition__in=mine)).distinct()
    if model is Resource:
        usable_files = Resource.objects.usable_by(user)
        return Resource.objects.filter(Q(pk__in=usable_files.values("pk")) | Q(pk__in=_resources_used_by(mine)))
    if model is Queue:
        queues = Queue.objects.usable_by(user)
        return Queue.objects.filter(Q(pk__in=queues.values("pk")) | Q(pk__in=mine.values("queue")))
    return None


def _resources_used_by(competitions: QuerySet[Competition]) -> set[int]:
    """Keys of the resources that these competitions point at already, whoever of their organizers owns them.

    A choice that is missing from a form is blanked when the form is saved.
    """
    tasks, phases = (model.objects.filter(competition__in=competitions) for model in (Task, Phase))
    return resources_named_by(tasks) | resources_named_by(phases)


class OwnCompetitions:
    """Mixin of model admins and inlines. `competition_path` leads from the model to its competition."""

    competition_path: ClassVar[str] = "competition"

    def _is_mine(self, request: HttpRequest, obj: Model | None) -> bool:
        return is_organizer(request) and (
            obj is None or obj.pk is None or self.mine(request).filter(pk=obj.pk).exists()
        )

    def mine(self, request: HttpRequest) -> QuerySet[Any]:
        """Rows of the competitions that the asker organizes."""
        model: Any = self.model  # type: ignore[attr-defined]  # of the admin class that this is mixed into
        rows = model._default_manager.all()
        user = request.user
        if isinstance(user, User) and user.is_superuser:
            return rows  # type: ignore[no-any-return]
        competitions = Competition.objects.managed_by(user) if isinstance(user, User) else Competition.objects.none()
        return rows.filter(**{f"{self.competition_path}__in": competitions})  # type: ignore[no-any-return]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_organizer(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return is_organizer(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._is_mine(request, obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return self.mine(request)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest | None, **kwargs: Any) -> Any:
        """The admin reads and shows instants in UTC: the label says so, and each of its two parts has one."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[misc]
        if isinstance(db_field, DateTimeField) and field is not None:
            field.label = f"{capfirst(db_field.verbose_name)} (UTC)"
            for part, widget in zip(("date", "time"), field.widget.widgets, strict=True):
                widget.attrs["aria-label"] = f"{field.label}, {part}"
        return field

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> "ModelChoiceField[Any]":
        limited = choices_for(request, db_field.related_model)
        if limited is not None and "queryset" not in kwargs:
            kwargs["queryset"] = limited
        field: ModelChoiceField[Any] = super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]
        return field

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        limited = choices_for(request, db_field.related_model)
        if db_field.related_model is User:  # shared with organizers: nobody else could use it
            limited = User.objects.filter(is_staff=True, is_active=True)
        if limited is not None and "queryset" not in kwargs:
            kwargs["queryset"] = limited
        return super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]


class ReadOnly(OwnCompetitions):
    """Shows everything, edits nothing by hand: what happens to these rows goes through services."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        model: Any = self.model  # type: ignore[attr-defined]
        return [field.name for field in model._meta.fields]

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Without buttons that would save nothing."""
        buttons = {"show_save": False, "show_save_and_continue": False}
        shown: HttpResponse = super().changeform_view(request, object_id, form_url, buttons | (extra_context or {}))  # type: ignore[misc]
        return shown


class History(OwnCompetitions):
    """Mixin of inlines: what happened, as services wrote it down."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class CompetitionFilter(admin.SimpleListFilter):
    """Rows of one competition; not shown to somebody who has one alone."""

    title, parameter_name = "competition", "competition"

    def __init__(
        self, request: HttpRequest, params: dict[str, list[str]], model: type[Model], model_admin: Any
    ) -> None:
        super().__init__(request, params, model, model_admin)
        self.path = model_admin.competition_path

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        competitions = managed_competitions(request).order_by("title").values_list("pk", "title")
        return [(str(pk), title) for pk, title in competitions] if len(competitions) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value() or ""
        return queryset.filter(**{self.path: int(chosen)}) if is_number(chosen) else queryset


def managed_competitions(request: HttpRequest) -> QuerySet[Competition]:
    """Those that the asker organizes."""
    assert isinstance(request.user, User), "the admin lets nobody else in"
    return Competition.objects.managed_by(request.user)


def named_competition(request: HttpRequest) -> Competition | None:
    """The asker's competition that the address names, by itself or as the filter of the list that the form was opened from."""
    filters = parse_qs(request.GET.get("_changelist_filters", ""))
    named = request.GET.get("competition") or filters.get("competition", [""])[0]
    return managed_competitions(request).filter(pk=int(named)).first() if is_number(named) else None


class OrganizerAdmin(OwnCompetitions, GuardedAdmin):
    """Base of the admins of what an organizer defines: lists can be narrowed to one competition, and forms keep it."""

    def get_list_filter(self, request: HttpRequest) -> Any:
        is_competition = self.model is Competition
        return [*([] if is_competition else [CompetitionFilter]), *super().get_list_filter(request)]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        competition = named_competition(request)
        named = {"competition": competition.pk} if competition else {}
        return {**super().get_changeform_initial_data(request), **named}
