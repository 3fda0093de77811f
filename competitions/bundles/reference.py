"""Files made from the models' settings: the schema of bundles, and the page of settings in the docs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Model
from django.utils.text import capfirst

from competitions.bundles.settings import bundle_places
from competitions.catalog.models import Column, Competition, Leaderboard, Phase, Task
from competitions.compute.images import validate_image_name
from core.fields import OneLineField
from files.bundles.declared import Declared

PLACES: Final[Mapping[str, type[Model]]] = {
    "competition": Competition,
    "task": Task,
    "phase": Phase,
    "leaderboard": Leaderboard,
    "column": Column,
}
RANGES: Final[Mapping[str, tuple[int, int]]] = {  # of the database's columns
    "SmallIntegerField": (-(2**15), 2**15 - 1),
    "PositiveSmallIntegerField": (0, 2**15 - 1),
    "PositiveIntegerField": (0, 2**31 - 1),
    "PositiveBigIntegerField": (0, 2**63 - 1),
}

ABOUT: Final = """# Settings

Every setting of a competition, task, phase, board and column, as its form in the workspace groups them. This page is made from the code
by `make derived`.

*Name* is what the API calls it: `PATCH /api/v1/competitions/SLUG/settings/` and the addresses below it change settings by these names.
*Bundle* is its key in `competition.yaml`; [Bundles](bundles.md) says what the other keys there mean.
"""
TITLES: Final = {"leaderboard": "Board"}


def declared_settings() -> dict[str, dict[str, Declared]]:
    """Settings in the bundle's schema that come from models, by place, such as `phase.podium`, and key."""
    declared: dict[str, dict[str, Declared]] = {}
    for name, model in PLACES.items():
        for field, place in bundle_places(model).items():
            *parts, key = place.split(".")
            declared.setdefault(".".join([name, *parts]), {})[key] = _declared(model, field)
    return declared


def _declared(model: type[Model], name: str) -> Declared:
    field: models.Field[Any, Any] = model._meta.get_field(name)  # type: ignore[assignment]
    declared: Declared = {"type": _type(field)}
    if form := _format(field):
        declared["format"] = form
    if field.null:
        declared["nullable"] = True
    if field.choices:
        declared["enum"] = [value for value, _ in field.choices]
    declared |= _bounds(field)  # type: ignore[typeddict-item]
    defaults: Mapping[str, object] = getattr(model, "bundle_defaults", {})
    if name in defaults or field.has_default() or field.null or field.blank:
        declared["default"] = defaults.get(
            name, None if field.null and not field.has_default() else field.get_default()
        )
    return declared


def _type(field: models.Field[Any, Any]) -> str:
    kinds: Iterable[tuple[Any, str]] = (
        (models.BooleanField, "boolean"),
        (models.IntegerField, "integer"),
        (models.FloatField, "number"),
        (models.JSONField, "object"),
    )
    return next((name for kind, name in kinds if isinstance(field, kind)), "string")


def _format(field: models.Field[Any, Any]) -> str:
    if isinstance(field, models.DateTimeField):
        return "date-time"
    if validate_image_name in field.validators:
        return "image"
    return "line" if isinstance(field, OneLineField) else ""


def _bounds(field: models.Field[Any, Any]) -> Mapping[str, float]:
    """Bounds of a setting from its validators and column, as far as a bundle could break them."""
    if field.choices or isinstance(field, models.BooleanField | models.DateTimeField | models.JSONField):
        return {}
    if field.max_length is not None:
        needed = {} if field.blank else {"minLength": 1}
        return needed | {"maxLength": field.max_length}
    low, high = RANGES.get(field.get_internal_type(), (None, None))
    lows = [low, *(check.limit_value for check in field.validators if isinstance(check, MinValueValidator))]
    if field.null and isinstance(field, models.PositiveIntegerField):  # in a bundle 0 says that there is no limit
        lows = [low]
    highs = [high, *(check.limit_value for check in field.validators if isinstance(check, MaxValueValidator))]
    bounds = {
        "minimum": max((value for value in lows if value is not None), default=None),
        "maximum": min((value for value in highs if value is not None), default=None),
    }
    return {name: value for name, value in bounds.items() if value is not None}


def settings_schema() -> str:
    """The file that bundles are checked by: JSON with one setting on a line."""
    places = []
    for place, settings in declared_settings().items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(setting)}" for key, setting in settings.items())
        places.append(f" {json.dumps(place)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(places) + "\n}\n"


def settings_page() -> str:
    """The page, in Markdown."""
    return "\n".join([ABOUT, *(line for place, model in PLACES.items() for line in _section(place, model))])


def _section(place: str, model: type[Model]) -> Iterator[str]:
    places = bundle_places(model)
    form: dict[str, tuple[str, ...]] = getattr(model, "form")  # noqa: B009  # on five models that have no base in common
    yield f"## {TITLES.get(place, place.capitalize())}\n"
    for heading, names in form.items():
        if len(form) > 1:
            yield f"### {heading}\n"
        yield "| Setting | Name | Bundle | Default | |"
        yield "| --- | --- | --- | --- | --- |"
        for name in names:
            field: Any = model._meta.get_field(name)
            key = f"`{places[name]}`" if name in places else ""
            yield f"| {capfirst(field.verbose_name)} | `{name}` | {key} | {_default(field)} | {_help(field)} |"
        yield ""


def _default(field: Any) -> str:
    if field.many_to_many or not field.has_default():
        return "" if field.many_to_many or field.null or field.blank else "required"
    value = field.get_default()
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value in (None, "", []) else f"{value:,}" if isinstance(value, int) else str(value)


def _help(field: Any) -> str:
    choices = [f"`{value}`: {label}" for value, label in field.choices or ()]
    return " ".join([str(field.help_text), *([f"{'; '.join(choices)}."] if choices else [])]).strip()
