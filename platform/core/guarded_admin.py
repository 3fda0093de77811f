"""The bases of the model admins: bounded lookups, refusals on the page, and pages that only show."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import NestedObjects
from django.core.exceptions import FieldDoesNotExist
from django.db import router
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from core.refusals import Refusal
from files.text import is_number

COMPARED_BY: Final = ("exact", "isnull", "gte", "lt")  # what the admin's own filters put into an address


_refusal: ContextVar[Refusal | None] = ContextVar("refusal", default=None)  # of what this request tried to save


@contextmanager
def _with_refusal(refusal: Refusal) -> Iterator[None]:
    token = _refusal.set(refusal)
    try:
        yield
    finally:
        _refusal.reset(token)


class _Refused(forms.BaseForm):
    """Mixin of a form that a service has just refused: it is not valid any more, and says why."""

    refusal: ClassVar[Refusal]

    def clean(self) -> Any:
        cleaned = super().clean()
        self.add_error(None, self.refusal.detail)
        return cleaned


class GuardedAdmin(admin.ModelAdmin[Any]):
    """An admin that allows only declared filters, and whose deletion page counts rows without names.

    Without it, an address such as `?scores__mae__regex=^0` asks any field of the model, whether a page shows it or not.
    """

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """A number that no column holds is not a value either: the database would fail over it."""
        is_too_large = value.lstrip("+-").isdecimal() and not is_number(value.lstrip("+-"))
        return lookup in set(self.declared_lookups(request)) and not is_too_large

    def declared_lookups(self, request: HttpRequest) -> Iterator[str]:
        """The lookups that the list's filters, and the dates above it, put into its address."""
        for declared in self.get_list_filter(request):
            if isinstance(declared, type):
                yield str(getattr(declared, "parameter_name", ""))
            else:
                path = declared[0] if isinstance(declared, tuple | list) else declared
                yield from _lookups(self.model, str(path))
        if self.date_hierarchy:
            yield from (f"{self.date_hierarchy}__{part}" for part in ("year", "month", "day"))

    def has_decide_permission(self, request: HttpRequest) -> bool:
        """Administrators alone: a right to look at rows gives nobody else a say over them."""
        return bool(request.user.is_active and request.user.is_superuser)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *rest: Any) -> HttpResponse | None:
        """Show a service's refusal on the list where the action was chosen."""
        try:
            return super().response_action(request, queryset, *rest)
        except Refusal as refusal:
            self.message_user(request, refusal.detail, messages.ERROR)
            return redirect(request.get_full_path())

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """Show a service's refusal on the form, which keeps all that was entered; nothing was saved."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except Refusal as refusal:
            with _with_refusal(refusal):
                return super().changeform_view(request, object_id, form_url, extra_context)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form, refusal = super().get_form(request, obj, change=change, **kwargs), _refusal.get()
        return form if refusal is None else type("RefusedForm", (_Refused, form), {"refusal": refusal})

    def get_deleted_objects(
        self, objs: Sequence[Any] | QuerySet[Any], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Counts in place of names: what goes with a row may be anything that follows from a score."""
        _, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        listed = [f"{count} {name}" for name, count in sorted(counts.items())]
        return listed, counts, forbidden, _protected_counts(objs) if protected else []


class ReadOnlyAdmin(GuardedAdmin):
    """Shows what a service owns; it is changed in the workspace, by the API or by the page's actions."""

    show_full_result_count = False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        """Every field: the form that Django would make of them asks more of it than showing them does."""
        return [field.name for field in self.opts.fields if field.editable and field.name not in (self.exclude or ())]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class History(admin.TabularInline[Any, Any]):
    """Rows that belong to the one shown, to read."""

    extra = 0
    can_delete = False

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [str(name) for name in self.fields or ()]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def _protected_counts(objs: Sequence[Any] | QuerySet[Any]) -> list[str]:
    """Counts of the rows, by kind, that keep these from being deleted."""
    collector = NestedObjects(using=router.db_for_write(type(objs[0])), origin=objs)
    collector.collect(objs)
    counts = Counter(str(row._meta.verbose_name) for row in collector.protected)
    return [f"{name}: {count}" for name, count in sorted(counts.items())]


def _lookups(model: type[Model], path: str) -> Iterator[str]:
    """A filter's field, and its comparisons; a relation is compared by the key that it points at."""
    key = _relation_key(model, path)
    yield path
    yield from (f"{path}__{comparison}" for comparison in COMPARED_BY)
    if key:
        yield f"{path}__{key}__exact"


def _relation_key(model: type[Model], path: str) -> str:
    """The name of the key that the relation at the end of the path points at; empty for a plain field."""
    for part in path.split("__"):
        try:
            field: Any = model._meta.get_field(part)
        except FieldDoesNotExist:
            return ""
        if not field.is_relation:
            return ""
        model = field.related_model
    return str(field.target_field.name)
