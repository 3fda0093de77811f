"""The check of words: unclear names, grammar that has to be translated, and long lines."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.checks.words import long_lines, opaque_grammar, unclear_variables

MODULE = Path("module.py")


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f():\n    found = 1\n", ["found"]),
        ("def f(made, *, said=2): ...\n", ["made", "said"]),
        ("def f():\n    return [one for one in range(3)]\n", ["one"]),
        ("def f():\n    for kept, other in []: ...\n", ["kept"]),
        ("def f():\n    if (wanted := 1): ...\n", ["wanted"]),
        ("ROWS = {found: 1 for found in range(3)}\n", ["found"]),
        ("key = lambda one: one\n", ["one"]),
        ("class Row:\n    kept: int\n", []),  # a field is read by its owner's name
        ("def f(row):\n    return row.found, dict(made=1)\n", []),
    ],
)
def test_names_that_do_not_say_what_they_hold_are_listed(code: str, names: list[str]) -> None:
    assert [fault.rsplit("'", 2)[1] for fault in unclear_variables(MODULE, ast.parse(code))] == names


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        ('"""What a module holds."""\n', ["1: the docstring opens with 'What'"]),
        ('class Row:\n    """Whether it is one."""\n', ["1: the docstring opens with 'Whether'"]),
        ('def f():\n    """Whatever is sent is read."""\n', []),
        (f'"""{"a" * 100}\n\n{"b" * 101}"""\n', []),
        (f'"""{"a" * 101}"""\n', ["1: the docstring's first line has 101 characters"]),
        (f'def f():\n    """\n    {"a" * 101}\n    """\n', ["1: the docstring's first line has 101 characters"]),
        ("def _named(team) -> None: ...\n", ["1: '_named' does something"]),
        ("class Row:\n    async def sent(self) -> None: ...\n", ["2: 'sent' does something"]),
        ("def named(team) -> str: ...\n", []),  # it answers
        ("@pytest.fixture\ndef closed(site) -> None: ...\n", []),  # a state that tests ask for
        ("def seed() -> None: ...\ndef rename_closed() -> None: ...\n", []),
        ("def tags_of(row) -> list[str]: ...\n", ["1: 'tags_of' ends in '_of'"]),
    ],
)
def test_opaque_grammar_is_listed(code: str, faults: list[str]) -> None:
    listed = opaque_grammar(MODULE, ast.parse(code))
    assert [fault.removeprefix(f"{MODULE}:").split(";")[0].split(": call")[0] for fault in listed] == faults


def test_lines_over_160_characters_are_listed_except_rows_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"{'a' * 160}\n{'a' * 161}\n| {'a' * 161} |\n")
    assert long_lines(path) == [f"{path}:2: 161 characters; at most 160"]
