"""Sentences for an organizer on values that the schema refuses."""

from typing import Any, Final

from files.bundles.schema import ALLOWED

SENTENCES: Final[dict[str, str]] = {
    "missing": "`{name}` is missing",
    "string_type": "must be text, not {input}",
    "int_type": "must be a whole number, not {input}",
    "int_parsing": "must be a whole number, not {input}",
    "int_from_float": "must be a whole number, not {input}",
    "float_type": "must be a number, not {input}",
    "float_parsing": "must be a number, not {input}",
    "bool_type": "must be true or false, not {input}",
    "bool_parsing": "must be true or false, not {input}",
    "list_type": "must be a list, not {input}",
    "dict_type": "must be a mapping of keys, not {input}",
    "model_type": "must be a mapping of keys, not {input}",
    "model_attributes_type": "must be a mapping of keys, not {input}",
    "string_too_long": "is {length} characters long; at most {max_length} are kept, so shorten it",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty; give at least {min_length}",
    "literal_error": "must be one of {expected}, not {input}",
    "greater_than_equal": "must be at least {ge}, not {input}",
    "less_than_equal": "must be at most {le}, not {input}",
    "string_pattern_mismatch": "may hold {allowed} alone, not {input}",
}


def error_sentence(item: Any) -> str:
    """A sentence on a wrong value; pydantic's own words where there are no better ones."""
    context = dict(item.get("ctx") or {})
    if item["type"] == "value_error":
        return str(context.get("error") or item["msg"])
    template = SENTENCES.get(item["type"])
    if template is None:
        return f"{item['msg']} (found {str(item['input'])[:80]!r})"
    shown = item["input"]
    context |= {
        "name": item["loc"][-1],
        "input": _value_name(shown),
        "length": len(str(shown)),
        "allowed": ALLOWED.get(str(context.get("pattern")), "other characters"),
    }
    return template.format_map(context)


def _value_name(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return "empty" if value is None else repr(value)[:80]
