"""Every regular expression over people's text takes linear time; the test finds them all."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from django.apps import apps
from django.core.validators import RegexValidator
from django.db import models

import accounts
import audit
import competitions
import config
import core
import scoring
import workers
from files.markup import MAX_CHARACTERS

PACKAGES = (accounts, audit, competitions, config, core, scoring, workers)
METHODS = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub")
CALLS_RE = re.compile(rf"\bre\.(?:{'|'.join(METHODS)})\(")
UNITS = (
    "<img ", "![", "<a", "a", "0", " ", "-", ".", "/", "a.", "a-", "a/", "a ", '"', "'", "[", "(", "#", "=", "_", ":", "\n", "\t",
    "\x1b[", "@",
)  # fmt: skip
ENDS = ("", "\x00", "!", ">")
EACH_S = 2  # of the processor: a busy machine changes nothing; the slow ones found so far took longer
# A tenth of the length first: what ends there within a millisecond ends in a second at the whole, were it in cubic time.
RUN = """
import json, re, signal, sys, time
cases = json.load(sys.stdin)

def use(compiled, method, text):
    if method == "sub":
        compiled.sub("", text)
    elif method == "finditer":
        list(compiled.finditer(text))
    else:
        getattr(compiled, method)(text)

def text_to(length, unit, end):
    return (unit * (length // len(unit) + 1))[: length - len(end)] + end

for pattern, flags, method, length, where in cases:
    print(where, repr(pattern), method, flush=True)
    compiled = re.compile(pattern, flags)
    for unit in {units!r} + tuple({{c * 2 for c in re.sub(r"[\\\\\\\\^$*+?{{}}()|\\\\[\\\\]]", "", pattern)[:12]}}):
        for end in {ends!r}:
            signal.setitimer(signal.ITIMER_VIRTUAL, {each_s})  # its default action ends the process, which no Python handler could
            began = time.thread_time()
            use(compiled, method, text_to(length // 10, unit, end))
            if time.thread_time() - began > 0.001:
                use(compiled, method, text_to(length, unit, end))
signal.setitimer(signal.ITIMER_VIRTUAL, 0)
print("all", flush=True)
"""


def modules() -> Iterator[ModuleType]:
    for package in PACKAGES:
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations" not in info.name and ".management" not in info.name:
                yield importlib.import_module(info.name)


def sources() -> dict[ModuleType, str]:
    return {module: Path(module.__file__).read_text() for module in modules() if module.__file__}


def compiled_patterns(texts: dict[ModuleType, str]) -> Iterator[tuple[str, int, str, int, str]]:
    """Constants of modules, each with the ways in which it is used anywhere."""
    uses: dict[str, set[str]] = {}
    for text in texts.values():
        for name, method in re.findall(rf"\b(\w+)\.({'|'.join(METHODS)})\(", text):
            uses.setdefault(name, set()).add(method)
    for module in texts:
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                for method in uses.get(name, {"search"}):
                    yield value.pattern, value.flags, method, MAX_CHARACTERS, f"{module.__name__}.{name}"


def written_in_place(texts: dict[ModuleType, str]) -> Iterator[tuple[str, int, str, int, str]]:
    """Patterns in calls such as `re.sub("…", …)`."""
    for module, text in texts.items():
        for node in ast.walk(ast.parse(text)) if CALLS_RE.search(text) else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            first, caller = node.args[0], node.func.value
            is_of_re = isinstance(caller, ast.Name) and caller.id == "re" and node.func.attr in METHODS
            if is_of_re and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, 0, node.func.attr, MAX_CHARACTERS, f"{module.__name__}:{node.lineno}"


def field_patterns() -> Iterator[tuple[str, int, str, int, str]]:
    """Validators of models, for as much as their fields hold."""
    for model in apps.get_models():
        for field in model._meta.local_fields:
            for validator in field.validators if isinstance(field, models.CharField) else ():
                if isinstance(validator, RegexValidator):
                    regex = re.compile(validator.regex)
                    yield (
                        regex.pattern,
                        regex.flags,
                        "search",
                        field.max_length or MAX_CHARACTERS,
                        f"{model.__name__}.{field.name}",
                    )


def test_no_pattern_takes_longer_than_its_text_is_long() -> None:
    texts = sources()
    patterns = (*compiled_patterns(texts), *written_in_place(texts), *field_patterns())
    cases = sorted({case[:4]: case for case in patterns}.values())  # a module that imports a pattern has it, too
    assert len(cases) > 50, "the patterns are found"
    assert took_too_long(cases) is None


def test_a_pattern_that_is_slow_is_found() -> None:
    slow = r"<img\b[^>]*?\ssrc\s*="
    assert took_too_long([(slow, 0, "search", MAX_CHARACTERS, "here")], each_s=EACH_S / 10) is not None


def took_too_long(cases: list[tuple[str, int, str, int, str]], *, each_s: float = EACH_S) -> str | None:
    """The pattern that did not end in time."""
    program = RUN.format(units=UNITS, ends=ENDS, each_s=each_s)
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    return None if lines[-1] == "all" else lines[-1]
