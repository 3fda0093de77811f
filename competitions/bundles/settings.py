"""Settings that stand in a bundle as they are: each model says where, in its `bundle`; read from there, and written there.

A key such as `podium.reveal` is below the `podium` of its row. For quotas a bundle says 0 where there is no limit, as Codabench does.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import Model

from competitions.bundles.reading.schema import Spec
from competitions.catalog.models import SECTIONS, Phase

PHASE_BUNDLE: Mapping[str, str] = {
    "name": "name",
    "description": "description",
    "visibility": "podium.visibility",
    "reveal_at": "podium.reveal",
} | {field: key for section in SECTIONS for field, key in section.bundle.items()}


def bundle_of(model: type[Model]) -> Mapping[str, str]:
    """Where each setting of the model stands, by field."""
    declared: Mapping[str, str] = PHASE_BUNDLE if model is Phase else getattr(model, "bundle")  # noqa: B009  # on four models
    return declared


def read_settings(model: type[Model], spec: Spec) -> dict[str, Any]:
    """The settings that the row of a bundle says, by field of the model."""
    return {field: _read(model, field, spec, key) for field, key in bundle_of(model).items()}


def _read(model: type[Model], field: str, spec: Spec, key: str) -> Any:
    below = key.removeprefix("podium.")
    row = spec if below == key else getattr(spec, "extra", None) or spec.podium  # type: ignore[attr-defined]
    value, column = getattr(row, below), model._meta.get_field(field)
    if value is None and not column.null:
        return ""
    return None if column.null and value == 0 else value


def written_settings(row: Model) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row's settings by their keys in a bundle: those of its own, and those below its `podium`."""
    own: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for field, key in bundle_of(type(row)).items():
        value = getattr(row, field)
        value = instant(value) if isinstance(value, datetime) else value
        if key.startswith("podium."):
            extra[key.removeprefix("podium.")] = value
        else:
            own[key] = value
    return own, extra


def instant(moment: datetime | None) -> str | None:
    """An instant as bundles say it."""
    return None if moment is None else moment.astimezone(UTC).isoformat()
