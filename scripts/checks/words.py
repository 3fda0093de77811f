"""Finds words that the glossary replaced, grammar that has to be translated, and long lines.

`make lint` runs it.

python scripts/checks/words.py [PREFIX]    below a folder alone
"""

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
SEE: Final = f"; see {GLOSSARY} for the word to use"
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
VARIABLES: Final = frozenset(("asked", "found", "kept", "made", "mine", "one", "said", "told", "wanted", "wish"))
NOT_READ: Final = frozenset(("migrations", "data"))  # folders: written by Django, or what tests are given
CODE: Final = ("platform", "competitions", "files", "workers", "scoring", "client", "scripts", "examples", "tests")
FIRST_LINE: Final = 100  # characters of a docstring's first line
LINE: Final = 160  # characters of a line of templates and docs
OPENINGS: Final = re.compile(r"(?:What|Whether|How|Who|Whose|Which|Where|When|Why)\b")
# A participle alone: what it does is a verb (`rename_team`, not `_named`). `put`, `read`, `set` and the like are verbs, too.
PARTICIPLE: Final = re.compile(
    r"_*(?!(?:seed|feed|need|speed|embed|exceed|proceed|succeed|shed)$)"
    r"(?:[a-z]+ed|begun|built|chosen|drawn|found|given|gone|held|kept|known|left|lost|made|said|seen|sent|shown|taken|told|written)"
)
PREDICATE: Final = re.compile(r"_*(?:is|are|has|may|can|was|were|needs)_\w+")
# Calls that write, of rows and of files; `update` is left out, for it is a dictionary's, too.
WRITES: Final = frozenset(
    ("bulk_create", "create", "delete", "get_or_create", "save", "update_or_create", "write_bytes", "write_text")
)
WORDS: Final = re.compile(
    r"(?<![a-z])(bell_not_rung|(?:ring|rings|rang|rung) (?:the|a|for)|outlook|data[ _]sets?)(?![a-z])", re.IGNORECASE
)
ROBOTS: Final = re.compile(
    r"(?<![\w`/_-])robots?(?![\w`_*]|\.txt|\")", re.IGNORECASE
)  # in prose; not the file or names in code


def tracked(folders: Iterable[str], *suffixes: str) -> list[Path]:
    """Files of the folders that git tracks."""
    listed = subprocess.run(["git", "ls-files", *folders], capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in listed.splitlines() if name.endswith(suffixes) and Path(name).exists()]


def wrong_words(path: Path) -> list[str]:
    """The wrong words of a file, by line."""
    is_named_so = path.suffix == ".py" and path.stem.removeprefix("test_") in MODULES
    faults = [f"{path}: the module is called {path.stem!r}{SEE}"] if is_named_so else []
    if path == GLOSSARY:
        return faults
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        words = [*WORDS.finditer(line), *(ROBOTS.finditer(line) if path.suffix != ".py" else ())]
        faults += [f"{path}:{number}: {word[0]!r}{SEE}" for word in words]
    return faults


def long_lines(path: Path) -> list[str]:
    """Lines of a template or a page of docs with more than 160 characters; rows of tables excepted."""
    lines = enumerate(path.read_text().splitlines(), start=1)
    return [
        f"{path}:{number}: {len(line)} characters; at most {LINE}"
        for number, line in lines
        if len(line) > LINE and not line.startswith("|")
    ]


def unclear_variables(path: Path, tree: ast.Module) -> list[str]:
    """Parameters and variables of functions whose names do not say what they hold, by line."""
    faults = []
    outside: list[ast.AST] = [tree]
    while outside:
        node = outside.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.comprehension):
            outside += ast.iter_child_nodes(node)
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store) and inner.id in VARIABLES:
                faults.append((inner.lineno, inner.id))
            elif isinstance(inner, ast.arg) and inner.arg in VARIABLES:
                faults.append((inner.lineno, inner.arg))
    return [f"{path}:{line}: the variable {name!r}{SEE}" for line, name in sorted(set(faults))]


def writes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True where the function itself calls something that writes rows or files."""
    called = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(isinstance(attribute, ast.Attribute) and attribute.attr in WRITES for attribute in called)


def acts(function: ast.FunctionDef | ast.AsyncFunctionDef, path: Path) -> bool:
    """True where the function answers nothing, or writes; tests are named by what they show."""
    answers_nothing = isinstance(function.returns, ast.Constant) and function.returns.value is None
    return answers_nothing or ("tests" not in path.parts and writes(function))


def opaque_grammar(path: Path, tree: ast.Module) -> list[str]:
    """Docstrings with a poor first line, functions that act but are participles, names in `_of`."""
    faults = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        line = getattr(node, "lineno", 1)
        docstring = ast.get_docstring(node) or ""
        first_line = docstring.partition("\n")[0]
        faults += [(line, f"{word[0]!r}{SEE}") for word in ROBOTS.finditer(docstring)]
        if opening := OPENINGS.match(first_line):
            faults.append((line, f"the docstring opens with {opening[0]!r}; say what it does, or name it"))
        if len(first_line) > FIRST_LINE:
            faults.append((line, f"the docstring's first line has {len(first_line)} characters; at most {FIRST_LINE}"))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if PARTICIPLE.fullmatch(node.name) and not node.decorator_list and acts(node, path):
                faults.append((line, f"{node.name!r} does something: call it by a verb"))
            if PREDICATE.fullmatch(node.name) and writes(node):
                faults.append((line, f"{node.name!r} asks and writes: part the two, or call it by a verb"))
            if node.name.endswith("_of"):
                faults.append((line, f"{node.name!r} ends in '_of': call it by a noun"))
    return [f"{path}:{line}: {fault}" for line, fault in faults]


def main() -> int:
    """List every fault; exit status 1 when there is one."""
    prefix = sys.argv[1] if len(sys.argv) > 1 else ""
    faults = [fault for path in tracked(FOLDERS, ".py", ".html", ".md") for fault in wrong_words(path)]
    for path in tracked(CODE, ".py"):
        if not NOT_READ & {*path.parts}:
            tree = ast.parse(path.read_text())
            faults += unclear_variables(path, tree)
            faults += opaque_grammar(path, tree)
    pages = [*tracked(["."], ".html"), *tracked(["docs", "README.md"], ".md")]
    faults += [fault for path in pages for fault in long_lines(path)]
    faults = [fault for fault in faults if fault.startswith(prefix)]
    for fault in faults:
        print(fault)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
