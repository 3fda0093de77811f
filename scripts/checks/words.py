"""Keeps words out that the glossary replaced: in names of modules, in code, pages and docs. `make lint` runs it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

FOLDERS: Final = ("platform", "competitions", "workers", "scoring", "client", "docs", "tests/unit", "tests/functional")
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
WORDS: Final = re.compile(
    r"\b(bell_not_rung|(?:ring|rings|rang|rung) (?:the|a|for)\b|outlook|data sets?)\b", re.IGNORECASE
)


def tracked() -> list[Path]:
    """Files of the folders that git tracks."""
    listed = subprocess.run(["git", "ls-files", *FOLDERS], capture_output=True, text=True, check=True).stdout
    return [
        Path(name) for name in listed.splitlines() if name.endswith((".py", ".html", ".md")) and Path(name).exists()
    ]


def faults_of(path: Path) -> list[str]:
    """What is wrong with one file, by line."""
    found = [f"{path}: the module is called {path.stem!r}"] if path.suffix == ".py" and path.stem in MODULES else []
    if path == GLOSSARY:
        return found
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        found += [f"{path}:{number}: {word[0]!r}" for word in WORDS.finditer(line)]
    return found


def main() -> int:
    """List every fault; exit status 1 when there is one."""
    faults = [fault for path in tracked() for fault in faults_of(path)]
    for fault in faults:
        print(f"{fault}; see {GLOSSARY} for the word to use")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
