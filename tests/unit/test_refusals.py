"""Refusals as rows: who raises one gives the values that its sentence names, and no others."""

import ast
import importlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter
from types import ModuleType

from core.refusals import RefusalKind

ROOT = Path(__file__).parents[2]
MODULES = [
    path
    for folder in ("competitions", "platform")
    for path in (ROOT / folder).rglob("*.py")
    if "migrations" not in path.parts
]


def module_at(path: Path) -> ModuleType:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return importlib.import_module(".".join(parts[parts[0] == "platform" :]).removesuffix(".__init__"))


def rows(module: ModuleType) -> dict[str, RefusalKind]:
    """The refusals that the module may call, as `NAME` or `refusals.NAME`."""
    named = dict(vars(module))
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            named |= {f"{name}.{inner}": row for inner, row in vars(value).items()}
    return {name: value for name, value in named.items() if isinstance(value, RefusalKind)}


def calls(path: Path) -> Iterator[tuple[ast.Call, RefusalKind]]:
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    if any(ast.unparse(node.func).rpartition(".")[2].isupper() for node in nodes):
        known = rows(module_at(path))
        yield from ((node, known[name]) for node in nodes if (name := ast.unparse(node.func)) in known)


def values(kind: RefusalKind) -> set[str]:
    places = [name for text in (kind.sentence, kind.next_step) for _, name, _, _ in Formatter().parse(text) if name]
    return {place.partition(".")[0] for place in places} | set(kind.tells)


def test_each_call_of_a_row_gives_the_values_that_it_names() -> None:
    judged = [(path, call, kind) for path in MODULES for call, kind in calls(path)]
    assert len(judged) > 150
    wrong = [
        f"{path.relative_to(ROOT)}:{call.lineno}: {kind.code} takes {sorted(values(kind))}"
        for path, call, kind in judged
        if call.args or {keyword.arg for keyword in call.keywords} != values(kind)
    ]
    assert wrong == []


def test_a_row_words_its_values_and_tells_programs_those_that_it_names() -> None:
    kind = RefusalKind(429, "used", "{limit:,} used, {who!r}.", tells=("limit", "next_at"), next_step="/{who}/")
    refusal = kind(limit=1000, who="ada", next_at=datetime(2030, 5, 1, tzinfo=UTC))
    assert (refusal.http_status, refusal.code, str(refusal)) == (429, "used", "1,000 used, 'ada'.")
    assert refusal.extra == {"limit": 1000, "next_at": "2030-05-01T00:00:00+00:00", "next_step": "/ada/"}
