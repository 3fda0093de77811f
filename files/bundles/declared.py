"""Settings that a bundle has as the site has them, from `settings.json` in JSON Schema's words.

`manage.py derive` makes the file from the models that declare them, so that a bundle is checked without a site, too.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model

from files.bundles.types import Image, Instant, Line, OptionalInstant, lower

FILE: Final = Path(__file__).with_name("settings.json")
SpecT = TypeVar("SpecT", bound=BaseModel)


class Declared(TypedDict):
    """A setting as the file has it. Without a default, a bundle must say it."""

    type: str
    format: NotRequired[str]
    nullable: NotRequired[bool]
    default: NotRequired[Any]
    enum: NotRequired[list[str | int]]
    minimum: NotRequired[float]
    maximum: NotRequired[float]
    minLength: NotRequired[int]
    maxLength: NotRequired[int]


TYPES: Final[Mapping[str, Any]] = {
    "boolean": bool,
    "integer": int,
    "number": float,
    "string": str,
    "object": dict[str, Any],
}
FORMATS: Final[Mapping[str, Any]] = {"line": Line, "image": Image, "date-time": Instant}
BOUNDS: Final = {"minimum": "ge", "maximum": "le", "minLength": "min_length", "maxLength": "max_length"}


@cache
def _file() -> dict[str, dict[str, Declared]]:
    content: dict[str, dict[str, Declared]] = json.loads(FILE.read_text())
    return content


def with_settings(place: str) -> Callable[[type[SpecT]], type[SpecT]]:
    """Give a part of a bundle the settings declared at the place, as `phase` or `phase.podium`."""

    def extend(spec: type[SpecT]) -> type[SpecT]:
        fields: dict[str, Any] = {key: _field(setting) for key, setting in _file().get(place, {}).items()}
        return create_model(spec.__name__, __base__=spec, __module__=spec.__module__, __doc__=spec.__doc__, **fields)

    return extend


def _field(setting: Declared) -> tuple[Any, Any]:
    """Type and default of a setting, as pydantic takes them."""
    bounds: dict[str, Any] = {BOUNDS[name]: value for name, value in setting.items() if name in BOUNDS}
    return _type(setting), Field(setting.get("default", ...), **bounds)


def _type(setting: Declared) -> Any:
    if "enum" in setting:
        return Annotated[Literal[tuple(setting["enum"])], BeforeValidator(lower)]
    form, is_nullable = setting.get("format", ""), setting.get("nullable", False)
    if form == "date-time" and is_nullable:
        return OptionalInstant
    plain = FORMATS.get(form) or TYPES[setting["type"]]
    return plain | None if is_nullable else plain
