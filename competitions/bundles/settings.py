"""Settings that bundles hold as they are; `bundle` in the models says where.

A place such as `podium.reveal` is below the `podium` of its row. For quotas a bundle says 0 where there is no limit, as Codabench does.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import Model

from files.bundles.schema import Spec

Nested = dict[str, Any]  # values by key, those below a key as a mapping of their own


def bundle_places(model: type[Model]) -> Mapping[str, str]:
    """The place of each of the model's settings, by field."""
    places: Mapping[str, str] = getattr(model, "bundle")  # noqa: B009  # on five models that have no base in common
    return places


def read_settings(model: type[Model], spec: Spec) -> dict[str, object]:
    """The settings in a bundle's row by field of the model, without parts that it leaves out."""
    values = {}
    for field, place in bundle_places(model).items():
        *parts, key = place.split(".")
        part: Any = spec
        for name in parts:
            part = getattr(part, name) if part is not None else None
        if part is not None:
            values[field] = _stored(model._meta.get_field(field), getattr(part, key))
    return values


def _stored(column: Any, value: Any) -> Any:
    if value is None and not column.null:
        return ""
    return None if column.null and value == 0 else value


def said_settings(model: type[Model], spec: Spec, part: str) -> dict[str, object]:
    """The settings below `part`, such as `podium.budget`, that the bundle gives itself."""
    row: Any = spec
    for name in part.split("."):
        row = getattr(row, name) if row is not None else None
    names = row.model_fields_set if row is not None else ()
    below = {field: place.removeprefix(f"{part}.") for field, place in bundle_places(model).items()}
    return {field: getattr(row, key) for field, key in below.items() if key in names}


def written_settings(row: Model) -> Nested:
    """The row's settings by their keys in a bundle."""
    written: Nested = {}
    for field, place in bundle_places(type(row)).items():
        *parts, key = place.split(".")
        value = getattr(row, field)
        part = written
        for name in parts:
            part = part.setdefault(name, {})
        part[key] = instant(value) if isinstance(value, datetime) else value
    return written


def instant(moment: datetime | None) -> str | None:
    """An instant as bundles say it."""
    return None if moment is None else moment.astimezone(UTC).isoformat()
