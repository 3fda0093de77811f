"""The base of every model admin: what may be asked of a list by its address, and what a page of deletion tells."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.utils import NestedObjects
from django.core.exceptions import FieldDoesNotExist
from django.db import router
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from core.numbers import is_number

COMPARED_BY: Final = ("exact", "isnull", "gte", "lt")  # what the admin's own filters put into an address


class GuardedAdmin(admin.ModelAdmin[Any]):
    """Answers the filters that a list declares and no other lookup; a page of deletion counts rows and names none.

    Without it, an address such as `?scores__mae__regex=^0` asks any field of the model, whether a page shows it or not.
    """

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """A number that no column holds is no value either: the database would fail over it."""
        is_too_large = value.lstrip("+-").isdecimal() and not is_number(value.lstrip("+-"))
        return lookup in set(self.declared_lookups(request)) and not is_too_large

    def declared_lookups(self, request: HttpRequest) -> Iterator[str]:
        """What the filters of the list, and the dates above it, put into its address."""
        for declared in self.get_list_filter(request):
            if isinstance(declared, type):
                yield str(getattr(declared, "parameter_name", ""))
            else:
                path = declared[0] if isinstance(declared, tuple | list) else declared
                yield from _lookups_of(self.model, str(path))
        if self.date_hierarchy:
            yield from (f"{self.date_hierarchy}__{part}" for part in ("year", "month", "day"))

    def get_deleted_objects(
        self, objs: Sequence[Any] | QuerySet[Any], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Counts in place of names: what goes with a row may be anything that follows from a score."""
        _, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        listed = [f"{count} {name}" for name, count in sorted(counts.items())]
        return listed, counts, forbidden, _protected_counts(objs) if protected else []


def _protected_counts(objs: Sequence[Any] | QuerySet[Any]) -> list[str]:
    """How many rows of each kind keep these from being deleted."""
    collector = NestedObjects(using=router.db_for_write(type(objs[0])), origin=objs)
    collector.collect(objs)
    counts = Counter(str(row._meta.verbose_name) for row in collector.protected)
    return [f"{name}: {count}" for name, count in sorted(counts.items())]


def _lookups_of(model: type[Model], path: str) -> Iterator[str]:
    """A filter's field, and its comparisons; a relation is compared by the key that it points at."""
    key = _key_of(model, path)
    yield path
    yield from (f"{path}__{comparison}" for comparison in COMPARED_BY)
    if key:
        yield f"{path}__{key}__exact"


def _key_of(model: type[Model], path: str) -> str:
    """Name of the key that the relation at the end of the path points at; empty where it ends at a plain field."""
    for part in path.split("__"):
        try:
            field: Any = model._meta.get_field(part)
        except FieldDoesNotExist:
            return ""
        if not field.is_relation:
            return ""
        model = field.related_model
    return str(field.target_field.name)
