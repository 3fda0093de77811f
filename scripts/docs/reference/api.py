"""The REST API: every operation with its parameters, body, answer, an example and its refusals."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from drf_spectacular.generators import SchemaGenerator

from competitions.api.views.base import ApiView
from scripts.docs.markdown import cell, fence, page, table
from scripts.docs.reference.problems import problems
from scripts.docs.reference.reachable import refusal_codes
from scripts.docs.sources import DocsInvalid

PREFIX: Final = "/api/v1"
SAFE: Final = ("get", "head")
DEEP: Final = 3  # objects in objects that an example shows
TITLES: Final = {
    "me": "Your account",
    "merges": "Merges of teams",
    "pushes": "Competitions as code",
    "schema": "The schema",
}
EXAMPLES: Final[Mapping[str, object]] = {
    "date-time": "2026-05-01T12:00:00Z",
    "uuid": "0f9c7a52-0b5e-4a37-9a51-4f0e8f1d2c3b",
    "uri": "https://podium.example.org/",
    "email": "ada@example.org",
    "date": "2026-05-01",
    "binary": "(bytes)",
    "decimal": "0.5",
    "double": 0.5,
}
INTRODUCTION: Final = """\
Addresses are below `/api/v1`. `/api/v1/schema/` is the same as OpenAPI, for generators of clients and for consoles that try calls out.
Programs send a token of the profile as `Authorization: Bearer TOKEN`; [the client](/client.md) does it for you. Lists come in pages:
`next` is the address of the next one.

Each operation lists the refusals that its rules can end with; [Problems by code](problems.md) has all of them. These can come from every
operation: [not_authenticated](problems.md#not_authenticated), [scope_missing](problems.md#scope_missing),
[not_found](problems.md#not_found), [invalid](problems.md#invalid), [throttled](problems.md#throttled),
[unavailable](problems.md#unavailable)."""


# What the page reads of an OpenAPI document (https://spec.openapis.org/oas/v3.0.3), as the generator writes it.
Schema = TypedDict(
    "Schema",
    {
        "$ref": str,
        "allOf": "list[Schema]",
        "oneOf": "list[Schema]",
        "anyOf": "list[Schema]",
        "type": "str | list[str]",
        "format": str,
        "enum": list[object],
        "items": "Schema",
        "properties": "dict[str, Schema]",
        "required": list[str],
        "description": str,
        "nullable": bool,
        "minimum": int,
        "example": object,
        "default": object,
    },
    total=False,
)
Models: TypeAlias = Mapping[str, Schema]
COMBINED: Final[tuple[Literal["allOf", "oneOf", "anyOf"], ...]] = ("allOf", "oneOf", "anyOf")


class Media(TypedDict, total=False):
    """A body in one media type."""

    schema: Schema


class Body(TypedDict, total=False):
    """A request's or an answer's body, by media type."""

    content: dict[str, Media]


Parameter = TypedDict(
    "Parameter",
    {"name": str, "in": str, "required": NotRequired[bool], "description": NotRequired[str], "schema": Schema},
)


class OperationSchema(TypedDict):
    """A method of an address."""

    tags: NotRequired[list[str]]
    description: NotRequired[str]
    parameters: NotRequired[list[Parameter]]
    requestBody: NotRequired[Body]
    responses: dict[str, Body]


@dataclass(frozen=True)
class Operation:
    """A method of an address, as the schema has it, and the view behind it."""

    path: str
    method: str
    schema: OperationSchema
    view: ApiView

    @property
    def group(self) -> str:
        return str(self.schema.get("tags", ["api"])[0])

    @property
    def codes(self) -> set[str]:
        """Refusals of the view's method and of what it calls, as far as they are on the page of problems."""
        handler = getattr(type(self.view), self.method)
        helpers = [
            value
            for name, value in inspect.getmembers(type(self.view), inspect.isfunction)
            if name in handler.__code__.co_names
        ]
        return set().union(*(refusal_codes(function) for function in (inspect.unwrap(handler), *helpers)))


def operations() -> tuple[list[Operation], Models]:
    """Every operation, and the schema's models by name."""
    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
    schema = generator.get_schema(request=None, public=True)
    views = {(path, method.lower()): view for path, _, method, view in generator._get_paths_and_endpoints()}
    every = [
        Operation(path, method, operation, views[path, method])
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return every, schema["components"]["schemas"]


def api_page() -> str:
    """The page. Raises `DocsInvalid` for an operation without a text."""
    every, models = operations()
    silent = [
        f"{operation.method.upper()} {operation.path}"
        for operation in every
        if not operation.schema.get("description", "").strip()
    ]
    if silent:
        raise DocsInvalid("\n".join(f"{name}: the view or its method has no docstring." for name in silent))
    groups: dict[str, list[Operation]] = {}
    for operation in every:
        groups.setdefault(operation.group, []).append(operation)
    known = problems()
    sections = []
    for group, members in sorted(groups.items()):
        sections.append(f"## {TITLES.get(group, group.replace('-', ' ').capitalize())}")
        sections += [_section(operation, models, set(known)) for operation in members]
    return page("The REST API", INTRODUCTION, *sections)


def _section(operation: Operation, models: Models, known: set[str]) -> str:
    schema = operation.schema
    parts = [
        f"### {operation.method.upper()} {operation.path.removeprefix(PREFIX)}",
        schema.get("description", "").strip(),
    ]
    if operation.method not in SAFE and hasattr(operation.view, "write_scope"):
        parts.append(f"A token needs the right *{operation.view.write_scope.value}*.")
    parts.append(table(("parameter", "where", "meaning"), _parameters(schema)))
    body = _content(schema.get("requestBody", {}))
    if body is not None:
        parts.append(table(("sent", "kind", "meaning"), _fields(body, models)))
    status, answer = _answer(schema)
    if answer is not None:
        parts.append(table(("answered", "kind", "meaning"), _fields(answer, models, is_answer=True)))
    parts += _examples(operation, body, status, answer, models)
    links = [f"[{code}](problems.md#{code})" for code in sorted(operation.codes & known)]
    if links:
        parts.append(f"Refusals: {', '.join(links)}.")
    return "\n\n".join(part for part in parts if part)


def _parameters(schema: OperationSchema) -> Iterator[tuple[str, str, str]]:
    for parameter in schema.get("parameters", []):
        needed = "" if parameter.get("required") or parameter["in"] == "path" else "optional; "
        text = parameter.get("description") or str(parameter["schema"].get("type", ""))
        yield f"`{parameter['name']}`", parameter["in"], _escaped(needed + text)


def _content(part: Body) -> Schema | None:
    """The schema of a body, of its first media type."""
    return next((media.get("schema") for media in part.get("content", {}).values()), None)


def _answer(schema: OperationSchema) -> tuple[str, Schema | None]:
    for status, response in schema["responses"].items():
        if status.startswith("2"):
            return status, _content(response)
    return "200", None


def _resolved(schema: Schema, models: Models) -> Schema:
    for key in COMBINED:
        if schema.get(key):
            rest = schema.copy()
            parts = rest.pop(key)
            return {**_resolved(parts[0], models), **rest}
    if "$ref" in schema:
        return _resolved(models[schema["$ref"].rpartition("/")[2]], models)
    return schema


def _fields(schema: Schema, models: Models, *, is_answer: bool = False) -> Iterator[tuple[str, str, str]]:
    resolved = _resolved(schema, models)
    if "results" in resolved.get("properties", {}):
        resolved = _resolved(resolved["properties"]["results"], models)  # a page of a list
    if resolved.get("type") == "array":
        resolved = _resolved(resolved["items"], models)
    required = resolved.get("required", [])
    for name, field in resolved.get("properties", {}).items():
        inner = _resolved(field, models)
        optional = "" if is_answer or name in required else "optional; "
        yield (
            f"`{name}`",
            _kind(inner, models),
            _escaped(optional + (inner.get("description") or "").partition("\n\n")[0]),
        )


def _kind(schema: Schema, models: Models) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"] if value not in ("", None))
    if schema.get("type") == "array":
        return f"list of {_kind(_resolved(schema['items'], models), models)}"
    kind = schema.get("format") or schema.get("type") or "anything"
    return (" or ".join(kind) if isinstance(kind, list) else str(kind)) + (
        ", or null" if schema.get("nullable") else ""
    )


def _escaped(text: str) -> str:
    return re.sub(r"\* `\w*` - .*", "", cell(text)).replace("<", "&lt;").strip().removesuffix(";")


def _examples(
    operation: Operation, body: Schema | None, status: str, answer: Schema | None, models: Models
) -> Iterator[str]:
    """A call by curl, and its answer."""
    path = re.sub(r"\{(\w+)\}", lambda row: row[1].upper(), operation.path)
    method = "" if operation.method == "get" else f" -X {operation.method.upper()}"
    call = f'curl{method} -H "Authorization: Bearer $TOKEN" $SITE{path}'
    if body is not None:
        value = example(body, models)
        call += (
            " --data-binary @FILE"
            if value == "(bytes)"
            else f" \\\n  -H 'Content-Type: application/json' -d '{_json(value)}'"
        )
    yield fence(call, "sh")
    value = None if answer is None else example(answer, models)
    if isinstance(value, dict) and "results" in value:
        value |= {"next": None, "previous": None}
    yield f"Answers {status}" + (
        ":\n\n" + fence(json.dumps(value, indent=2, ensure_ascii=False), "json")
        if value and value != "(bytes)"
        else "."
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def example(schema: Schema, models: Models, depth: int = 0) -> object:
    """A value that fits a schema."""
    resolved = _resolved(schema, models)
    if "example" in resolved or "default" in resolved:
        return resolved.get("example", resolved.get("default"))
    if resolved.get("enum"):
        return resolved["enum"][0]
    kind = resolved.get("type")
    if kind == "array":
        return [example(resolved["items"], models, depth + 1)] if depth < DEEP else []
    if kind == "object" or "properties" in resolved:
        return (
            {name: example(field, models, depth + 1) for name, field in resolved.get("properties", {}).items()}
            if depth < DEEP
            else {}
        )
    simple = {"integer": max(resolved.get("minimum", 1), 1), "number": 0.5, "boolean": True, "string": "…"}
    return EXAMPLES.get(resolved.get("format", ""), simple.get(str(kind)))
