"""The messages between site and compute worker, from their models."""

import enum
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

import workers.protocol
from scripts.docs.markdown import page, table
from scripts.docs.sources import DocsInvalid
from workers.protocol.messages import PROTOCOL_VERSION, Message

INTRODUCTION: Final = f"""\
Version {PROTOCOL_VERSION}. [The protocol](/worker-protocol.md) says which call carries which of these, and what the site answers. Both
sides leave out keys that they do not know. Numbers are never negative; `null` stands for what is not known."""
BOUNDS: Final = {
    "ge": "at least",
    "gt": "more than",
    "le": "at most",
    "lt": "less than",
    "min_length": "at least",
    "max_length": "at most",
}
NAMES: Final[dict[Any, str]] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    type(None): "null",
    Any: "anything",
}


def messages() -> dict[str, list[type[Message]]]:
    """Models by module, in the order in which they are written."""
    by_module: dict[str, list[type[Message]]] = {}
    for info in pkgutil.iter_modules(workers.protocol.__path__):
        module = importlib.import_module(f"workers.protocol.{info.name}")
        own = [
            value for value in vars(module).values() if inspect.isclass(value) and value.__module__ == module.__name__
        ]
        models = [
            value for value in own if issubclass(value, Message) and value is not Message and "[" not in value.__name__
        ]
        if models:
            by_module[info.name] = models
    return by_module


def protocol_page() -> str:
    """The page. Raises `DocsInvalid` for a message without a docstring."""
    every = messages()
    silent = [
        model.__name__
        for models in every.values()
        for model in models
        if "__doc__" not in vars(model) or not model.__doc__
    ]
    if silent:
        raise DocsInvalid(f"workers.protocol: {', '.join(silent)} has no docstring.")
    sections = [section for name, models in every.items() for section in _sections(name, models)]
    return page("Messages of the worker protocol", INTRODUCTION, *sections)


def _sections(module: str, models: list[type[Message]]) -> Iterator[str]:
    yield f"## {module.capitalize()}"
    for model in models:
        rows = [(f"`{name}`", _kind(field), _default(field)) for name, field in model.model_fields.items()]
        yield "\n\n".join(
            [f"### {model.__name__}", inspect.getdoc(model) or "", table(("field", "kind", "default"), rows)]
        ).strip()


def _kind(field: FieldInfo) -> str:
    """A type in words, with what bounds it."""
    limits = [
        f"{words} {getattr(part, name)}"
        for part in field.metadata
        for name, words in BOUNDS.items()
        if hasattr(part, name)
    ]
    return ", ".join([_type_name(field.annotation), *limits])


def _type_name(kind: Any) -> str:
    """Messages link to their section."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type_name(parts[0])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type_name(part) for part in parts))
    if origin is Literal:
        return " or ".join(f"`{part!r}`" for part in parts)
    if origin is tuple:
        return f"list of {_type_name(parts[0])}"
    if origin is not None:
        return f"{_type_name(parts[-1])} by {_type_name(parts[0])}"
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return " or ".join(f"`{value.value}`" for value in kind)
    if inspect.isclass(kind) and issubclass(kind, Message):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return NAMES.get(kind, getattr(kind, "__name__", str(kind)))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, Message) or value in ("", (), {}):
        return "empty"
    return f"`{'null' if value is None else getattr(value, 'value', value)}`"
