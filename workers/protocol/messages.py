"""Common parts of all messages: reading, kinds of values, and one sentence for a fault."""

import re
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from workers.protocol.texts import printable

# Of what both sides speak. After a release, each change that the other side would misread is a new version.
PROTOCOL_VERSION: Final = 1
PROBLEMS: Final = {
    "missing": "is missing",
    "string_pattern_mismatch": "is malformed",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
}
TAG: Final = "mount:"  # begins the name of a variant, which is not part of a field's path


class Message(BaseModel):
    """A message or a part of one. It never changes; unknown keys are left out.

    So either side may be newer.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class MessageInvalid(ValueError):
    """A message that cannot be right; the sentence names the first wrong field, and a right value."""


M = TypeVar("M", bound=Message)


def read_message(model: type[M], body: object) -> M:
    """Read what came over the wire.

    Raises `MessageInvalid`, which names the field, such as `stages[0].limits.pids`.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise MessageInvalid(_sentence(error)) from error


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = _path(first["loc"])
    if first["type"] == "value_error":  # a sentence of ours
        text = str(first["ctx"]["error"])
        return f"'{where}': {text}" if where else text
    what = _problem(first["type"], first["msg"])
    value = first["input"]
    if isinstance(value, str | int | float) and first["type"] != "missing":
        what += f", not {_quoted(value)}"
    return f"'{where}' {what}." if where else f"The message {what}."


def _problem(kind: str, text: str) -> str:
    """The library's words on a value, to go on after the field's name."""
    if kind in PROBLEMS:
        return PROBLEMS[kind]
    return re.sub(r"^\w+ should", "must", text)


def _path(place: tuple[str | int, ...]) -> str:
    """`("stages", 0, "name")` as `stages[0].name`."""
    parts = [part for part in place if not str(part).startswith(TAG)]
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")


def _quoted(value: str | float) -> str:
    try:
        return ascii(value)[:100]
    except ValueError:  # more digits than Python prints
        return "such a number"


def _cut(value: object, limit: int) -> str:
    return printable(value[:limit]) if isinstance(value, str) else ""


def line(limit: int) -> BeforeValidator:
    """One line of at most so many characters; what is not text is none."""
    return BeforeValidator(lambda value: _cut(value, limit))


def _cut_visibly(value: object, limit: int = 1000) -> str:
    text = _cut(value, limit + 1)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _measured(value: object) -> int | float | None:
    """The figure, or None for one that cannot have been measured."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < 2**63 else None  # False for NaN, too


Word = Annotated[str, line(60)]
Line = Annotated[str, line(500)]
OptionalLine = Annotated[str | None, BeforeValidator(lambda value: None if value is None else _cut(value, 500))]
Sentence = Annotated[str, BeforeValidator(_cut_visibly)]  # one that is cut says so
Whole = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
Number = Annotated[float, Field(strict=True, ge=0, lt=2**63)]
Measured = Annotated[int | float | None, BeforeValidator(_measured)]
Identifier = Annotated[str, Field(pattern=r"\A[A-Za-z0-9_-]{1,64}\z")]
Sha256 = Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]
NonEmpty = Annotated[str, Field(min_length=1)]
NullIsEmpty = BeforeValidator(lambda value: {} if value is None else value)
EmptyIsNone = BeforeValidator(lambda value: value or {})
