"""Prints the packages of extras of pyproject.toml, one to a line, with references resolved.

    python scripts/requirements.py web worker

For images, in which packages are a layer of their own below the code. Standard library alone.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def requirements(extras: Mapping[str, list[str]], name: str, project: str) -> Iterator[str]:
    """The requirements of one extra. Raises `KeyError` with the name of an extra that does not exist."""
    for line in extras[name]:
        own = re.fullmatch(rf"{re.escape(project)}\[([\w,-]+)\]", line)
        if own:
            for other in own[1].split(","):
                yield from requirements(extras, other, project)
        else:
            yield line


def main(names: list[str]) -> int:
    """Exit status 2 when an extra is unknown."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    unknown = [name for name in names if name not in extras]
    if unknown or not names:
        print(
            f"name extras of pyproject.toml: {', '.join(extras)}; not {', '.join(unknown) or 'none'}", file=sys.stderr
        )
        return 2
    lines = {line for name in names for line in requirements(extras, name, project["name"])}
    print("\n".join(sorted(lines)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
