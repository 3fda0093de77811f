"""Variables are called by what they hold; the check of it sees every way in which a function binds a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.checks.words import unclear_variables


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
def test_names_that_do_not_say_what_they_hold_are_listed(tmp_path: Path, code: str, names: list[str]) -> None:
    path = tmp_path / "module.py"
    path.write_text(code)
    assert [fault.rsplit("'", 2)[1] for fault in unclear_variables(path)] == names
