"""Fails on long functions: half of them at most 10 lines, nine of ten at most 40, none above 80.

    python scripts/checks/function_lengths.py FOLDER...

A function's length is its lines from `def` to the end, without its docstring.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

MEDIAN, NINE_OF_TEN, MOST = 10, 40, 80
LEFT_OUT = {"migrations", "__pycache__"}


def functions(path: Path) -> Iterator[tuple[int, str]]:
    """Length and place of each function in a file."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield length(node), f"{path}:{node.lineno} {node.name}"


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring."""
    first = node.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def main(folders: list[str]) -> int:
    """Exit status 1 with the longest functions when a bound is exceeded."""
    files = [path for folder in folders for path in Path(folder).rglob("*.py") if not LEFT_OUT & set(path.parts)]
    measured = sorted(function for path in files for function in functions(path))
    lengths = [lines for lines, _ in measured]
    if not lengths:
        print(f"no functions in {', '.join(folders)}", file=sys.stderr)
        return 2
    tenth = lengths[int(0.9 * (len(lengths) - 1))]
    print(f"{len(lengths)} functions: median {median(lengths)}, nine of ten up to {tenth}, longest {lengths[-1]} lines")
    if median(lengths) <= MEDIAN and tenth <= NINE_OF_TEN and lengths[-1] <= MOST:
        return 0
    print("\n".join(f"{lines} lines: {place}" for lines, place in measured[-10:]))
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
