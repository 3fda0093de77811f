"""Templates are found under the names that views and other templates give them, and none is left over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEMPLATES = ROOT / "platform/templates"
NAME = re.compile(r"""["']((?:web|organize)/[\w/{}.]+\.html)["']""")
CHOSEN = re.compile(r"\{[^}]+\}")  # a part of a name that is chosen as the site runs


def names() -> Iterator[re.Pattern[str]]:
    """Every name of a template in code and templates, as a pattern of the files that it may mean."""
    sources = [*(ROOT / "competitions").rglob("*.py"), *(ROOT / "platform").rglob("*.py"), *TEMPLATES.rglob("*.html")]
    for name in {template for path in sources for template in NAME.findall(path.read_text("utf-8"))}:
        yield re.compile(r"\w+".join(map(re.escape, CHOSEN.split(name))) + r"\Z")


def test_every_template_that_is_named_exists_and_every_one_is_named() -> None:
    files = {
        str(path.relative_to(TEMPLATES))
        for folder in ("web", "organize")
        for path in (TEMPLATES / folder).rglob("*.html")
    }
    patterns = list(names())
    assert len(patterns) > 80, "control: names are found"
    assert [pattern.pattern for pattern in patterns if not any(map(pattern.match, files))] == []
    assert sorted(file for file in files if not any(pattern.match(file) for pattern in patterns)) == []
