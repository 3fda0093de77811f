"""Every code that the site refuses with: rows, classes, faults of files, and the API's own."""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from rest_framework import exceptions

from core.refusals import Refusal, RefusalKind
from files.refusals import InvalidFile
from scoring.errors import CODES
from scripts.docs.markdown import REPOSITORY, cell, page

K = TypeVar("K")

FILES: Final = "What is wrong with a file"
FOLDERS: Final = ("competitions", "platform/accounts", "platform/audit", "platform/core", "files")
GENERAL: Final = {
    "invalid": (422, "The request has errors; `fields` says which. Correct these and send it again."),
    "not_found": (404, "There is nothing here, or it is not yours to see."),
    "unavailable": (503, "The site will be back in a moment. Try again after the seconds that `Retry-After` says."),
    "too_large": (413, "What you sent is larger than a request may be. Send files as uploads."),
    "bad_request": (400, "The site did not understand this request. Check its address and what was sent."),
    "too_many_requests": (
        429,
        "Your network address has more requests under way than this site takes from one. Wait for some of them.",
    ),
    "refused": (400, "The site refused this; `detail` says why."),
}
GROUPS: Final = {
    "competitions/teams": "Registration and teams",
    "competitions/submissions": "Submissions and uploads",
    "competitions/runs": "Runs and workers",
    "competitions/environments": "Weights and images",
    "competitions/leaderboards": "Leaderboards",
    "competitions/discussions": "Discussion",
    "competitions/winners": "Winners",
    "competitions/bundles": "Bundles and pushes",
    "competitions/organize": "Hosting",
    "competitions/catalog": "Competitions",
    "competitions/resources": "Uploads and stored files",
    "competitions/compute": "Queues and workers",
    "competitions/disclosure": "Disclosure",
    "competitions/notifications": "Notifications",
    "competitions/webhooks": "Webhooks",
    "competitions/factsheets": "Fact sheets",
    "competitions/codabench_api": "Codabench's API",
    "competitions/api": "The API",
    "competitions/web": "Pages",
    "platform/accounts": "Accounts",
    "platform/core": "All of the site",
    "files": FILES,
}

INTRODUCTION: Final = """\
Whatever the site refuses has a stable code, a status and a sentence: what happened, where, and what would be right. Programs get it as
`application/problem+json` (RFC 9457):

```json
{"type": "/docs/reference/problems/#quota-used", "title": "quota used", "status": 429, "code": "quota_used",
 "detail": "…", "resets_at": "2026-05-02T00:00:00Z"}
```

`type` leads to the code's place on this page, further members are for programs, and `next_step`, where there is one, is the address to go
on at. Words in italics stand for values. A program asks for `code`; the sentences may change."""


@dataclass(frozen=True)
class Problem:
    """A code, and the words that go with it."""

    code: str
    status: int
    text: str
    group: str


def modules() -> Iterator[Path]:
    """Python files that can refuse something."""
    for folder in FOLDERS:
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            if not {"migrations", "management"} & set(path.parts):
                yield path


def module_name(path: Path) -> str:
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[parts[0] == "platform" :]).removesuffix(".__init__")


def problems() -> dict[str, Problem]:
    """Every problem by its code, with the first place's words where a code has several."""
    known = {code: Problem(code, status, text, "General") for code, (status, text) in GENERAL.items()}
    for error in _subclasses(exceptions.APIException):
        code = str(error.default_code)
        if error.__module__.startswith("rest_framework"):
            known.setdefault(code, Problem(code, error.status_code, str(error.default_detail), "General"))
    for code, text in CODES.items():
        known[code] = Problem(code, InvalidFile.http_status, f"{_plain(text[0].upper() + text[1:])}.", FILES)
    for path in modules():
        for problem in [*_rows(path), *_classes(path), *_files(path)]:
            known.setdefault(problem.code, problem)
    return known


def _rows(path: Path) -> Iterator[Problem]:
    if "RefusalKind(" not in path.read_text():
        return
    module = importlib.import_module(module_name(path))
    for value in vars(module).values():
        if isinstance(value, RefusalKind):
            yield Problem(value.code, value.http_status, _plain(value.sentence), _group(path))


def _classes(path: Path) -> Iterator[Problem]:
    if not re.search(r"^    code(?:, \w+)? = ", path.read_text(), re.MULTILINE):
        return
    importlib.import_module(module_name(path))
    for kind in _subclasses(Refusal):
        if kind.__module__ == module_name(path) and "code" in vars(kind):
            yield Problem(kind.code, kind.http_status, _sentence(kind), _group(path))


def _sentence(kind: type[Refusal]) -> str:
    """The words that the class makes its sentence of, else its docstring."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind)))):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "super().__init__" or not node.args:
            continue
        if isinstance(node.args[0], ast.JoinedStr | ast.Constant):
            return _plain(_words(node.args[0]))
    own = vars(kind).get("__doc__")
    return (
        _plain(own.split("\n\n")[0])
        if own
        else f"{kind.code.replace('_', ' ').capitalize()}; `detail` says what is wrong."
    )


def _files(path: Path) -> Iterator[Problem]:
    """`InvalidFile("code", "sentence")` wherever it is written."""
    text = path.read_text()
    if "InvalidFile(" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "InvalidFile" and len(node.args) > 1:
            code, sentence = node.args[0], node.args[1]
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                yield Problem(code.value, InvalidFile.http_status, _plain(_words(sentence)), FILES)


def _words(node: ast.expr) -> str:
    """A sentence as it stands in the code, with names in braces for its values."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _words(part) if isinstance(part, ast.Constant) else f"{{{_last_name(part)}}}" for part in node.values
        )
    return "`detail` says what is wrong."


def _last_name(node: ast.expr) -> str:
    names = re.findall(r"[A-Za-z_]+", ast.unparse(node.value if isinstance(node, ast.FormattedValue) else node))
    return names[-1] if names else "value"


def _plain(sentence: str) -> str:
    """A sentence for readers: values in italics."""
    if sentence == "{detail}":
        return "`detail` says what is wrong."
    text = re.sub(
        r"\{([\w.]*)[^}]*\}", lambda row: f"*{row[1].rpartition('.')[2].replace('_', ' ') or 'value'}*", cell(sentence)
    )
    return text.replace("<", "&lt;")


def _group(path: Path) -> str:
    name = path.relative_to(REPOSITORY).as_posix()
    return next((title for folder, title in GROUPS.items() if name.startswith(folder)), "All of the site")


def _subclasses(kind: type[K]) -> Iterator[type[K]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def problems_page() -> str:
    """The page: a heading for each code, which addresses of problem documents lead to."""
    by_group: dict[str, list[Problem]] = {}
    for problem in problems().values():
        by_group.setdefault(problem.group, []).append(problem)
    lines = [INTRODUCTION]
    for group in ("General", *dict.fromkeys(GROUPS.values())):
        if group in by_group:
            lines += [f"## {group}", *(_section(problem) for problem in sorted(by_group[group], key=lambda p: p.code))]
    return page("Problems by code", *lines)


def _section(problem: Problem) -> str:
    return f"### `{problem.code}`\n\nStatus {problem.status}: {problem.text}"
