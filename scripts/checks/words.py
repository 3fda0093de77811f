"""Finds words that the glossary replaced, in names, code, pages and docs. `make lint` runs it.

python scripts/checks/words.py [PREFIX]    below a folder alone
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

FOLDERS: Final = (
    "platform",
    "competitions",
    "files",
    "workers",
    "scoring",
    "client",
    "docs",
    "tests/unit",
    "tests/functional",
)
GLOSSARY: Final = Path("docs/glossary.md")
# Names that say what something is like, where the field has a word for what it is.
MODULES: Final = frozenset(
    (
        "moves",
        "telling",
        "filling",
        "growth",
        "keeping",
        "composed",
        "outlook",
        "standing",
        "vocabulary",
        "many",
        "more",
        "town",
        "worlds",
    )
)
# What a variable went through, where its name should say what it holds: submissions, rows, the stored file, the expected value.
VARIABLES: Final = frozenset(("found", "made", "said", "wanted", "kept", "one"))
NOT_READ: Final = frozenset(("migrations", "data"))  # folders: written by Django, or what tests are given
CODE: Final = ("platform", "competitions", "files", "workers", "scoring", "client", "scripts", "examples", "tests")
WORDS: Final = re.compile(
    r"\b(bell_not_rung|(?:ring|rings|rang|rung) (?:the|a|for)\b|outlook|data sets?)\b", re.IGNORECASE
)


def tracked(folders: Iterable[str], *suffixes: str) -> list[Path]:
    """Files of the folders that git tracks."""
    listed = subprocess.run(["git", "ls-files", *folders], capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.splitlines() if name.endswith(suffixes) and Path(name).exists()]


def wrong_words(path: Path) -> list[str]:
    """The wrong words of a file, by line."""
    faults = [f"{path}: the module is called {path.stem!r}"] if path.suffix == ".py" and path.stem in MODULES else []
    if path == GLOSSARY:
        return faults
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        faults += [f"{path}:{number}: {word[0]!r}" for word in WORDS.finditer(line)]
    return faults


def unclear_variables(path: Path) -> list[str]:
    """Parameters and variables of functions whose names do not say what they hold, by line."""
    faults = []
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.comprehension):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VARIABLES:
                faults.append((node.lineno, node.id))
            elif isinstance(node, ast.arg) and node.arg in VARIABLES:
                faults.append((node.lineno, node.arg))
    return [f"{path}:{line}: the variable {name!r}" for line, name in sorted(set(faults))]


def main() -> int:
    """List every fault; exit status 1 when there is one."""
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    faults = [fault for path in tracked(FOLDERS, ".py", ".html", ".md") for fault in wrong_words(path)]
    faults += [
        fault for path in tracked(CODE, ".py") if not NOT_READ & {*path.parts} for fault in unclear_variables(path)
    ]
    faults = [fault for fault in faults if fault.startswith(prefix)]
    for fault in faults:
        print(f"{fault}; see {GLOSSARY} for the word to use")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
