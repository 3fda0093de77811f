"""Small pieces of Markdown."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[2]


def page(title: str, *parts: str) -> str:
    """A page with a title and paragraphs, lists, tables or sections."""
    return "\n\n".join([f"# {title}", *(part for part in parts if part)]) + "\n"


def cell(text: str) -> str:
    """A text on one line, for a table or a paragraph."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; nothing where there are no rows."""
    lines = [f"| {' | '.join(cell(value) for value in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *lines]) if lines else ""


def fence(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.strip()}\n```"
