"""Fails where the formatter or the type checker is switched off in more places than the tree needs.

python scripts/checks/switched_off.py    the product, its tests and its scripts
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

# What is searched for, where, how often it may stand there, and what to write in place of one more.
LIMITS: Final = (
    (r"# fmt: skip", (".",), 40, "let the formatter lay it out"),
    (
        r"\b(?:dict|Mapping|MutableMapping)\[str, Any\]",
        ("competitions", "platform", "client", "files", "scoring", "workers", "scripts"),
        150,
        "name the fields in a TypedDict, a dataclass or a model; or say `object`, and look before it is used",
    ),
)


def main() -> int:
    """List the places of what stands too often; exit status 1 when there are some."""
    is_over = False
    for pattern, folders, limit, instead in LIMITS:
        names = subprocess.run(["git", "ls-files", *folders], capture_output=True, text=True, check=True).stdout.split()
        places = [
            f"{name}:{number}"
            for name in names
            if name.endswith(".py") and name != "scripts/checks/switched_off.py"
            for number, line in enumerate(Path(name).read_text().splitlines(), start=1)
            if re.search(pattern, line)
        ]
        if len(places) > limit:
            print("\n".join([*places, f"{pattern} stands in {len(places)} lines; at most {limit}: {instead}."]))
            is_over = True
    return int(is_over)


if __name__ == "__main__":
    sys.exit(main())
