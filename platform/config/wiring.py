"""The domain's signals with senders and receivers, reconciler steps and background work.

Read from the running code, for `docs/wiring.md`.
"""

import ast
import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from weakref import ReferenceType

from django.dispatch import Signal

import competitions
from core import reconciler
from core.background import jobs

ABOUT: Final = """# Wiring

Which part of the domain hears of which, as the code has it; `make derived` writes this page. A signal is sent inside the
transaction, and a receiver that raises undoes it. A step of the reconciler may run twice, late or on two machines; background work
is asked for by rows and done by the site's own processes.
"""


def wiring_page() -> str:
    """The page, in Markdown."""
    return "\n".join([ABOUT, *_signals(), *_steps(), *_jobs()])


def _modules() -> list[ModuleType]:
    """Every module of the domain but migrations and commands."""
    walked = pkgutil.walk_packages(competitions.__path__, "competitions.")
    names = [module.name for module in walked if not {"migrations", "management"} & set(module.name.split("."))]
    return [importlib.import_module(name) for name in names]


def _signals() -> Iterator[str]:
    modules = _modules()
    places = {name: module for module in modules for name in _assigned_signals(module)}
    senders = _senders(modules, set(places))
    yield "## Signals\n"
    yield "| Signal | Defined in | Sent by | Heard by |"
    yield "| --- | --- | --- | --- |"
    signals = {name: vars(module)[name] for name, module in places.items()}
    for name in sorted(signals):
        heard = [_place(function) for function in _receivers(signals[name])]
        yield f"| `{name}` | {_path(places[name].__name__)} | {_lines(senders[name])} | {_lines(heard)} |"
    yield ""


def _assigned_signals(module: ModuleType) -> list[str]:
    """Names of the signals that the module itself makes."""
    tree = ast.parse(Path(str(module.__file__)).read_text())
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    targets = [
        target for node in assigned for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if isinstance(vars(module).get(name), Signal)]


def _senders(modules: Iterable[ModuleType], signals: set[str]) -> dict[str, list[str]]:
    """Functions that send each signal, as `module.function`."""
    senders: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for function in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            for call in ast.walk(function):
                name = _sent(call)
                if name in signals:
                    senders[name].append(f"{_path(module.__name__)} `{function.name}`")
    return senders


def _sent(node: ast.AST) -> str:
    """The name whose `send` is called here, if any."""
    is_send = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("send", "send_robust")
    )
    owner = node.func.value if is_send else None  # type: ignore[attr-defined]
    return owner.id if isinstance(owner, ast.Name) else ""


def _receivers(signal: Signal) -> list[Callable[..., Any] | None]:
    functions = [entry[1] for entry in signal.receivers]
    return [function() if isinstance(function, ReferenceType) else function for function in functions]


def _steps() -> Iterator[str]:
    yield "## Steps of the reconciler\n"
    yield "| Step | Does | At most |"
    yield "| --- | --- | --- |"
    for step in reconciler.steps():
        yield f"| `{step.name}` | {_place(step.run)} | {_interval(step.every)}{', not while the site comes back' if step.spares else ''} |"
    yield ""


def _jobs() -> Iterator[str]:
    yield "## Background work\n"
    yield "| Kind | Does | Queue |"
    yield "| --- | --- | --- |"
    for job in sorted(jobs.jobs(), key=lambda job: job.name):
        yield f"| `{job.name}` | {_place(job.perform)} | `{job.queue.value}` |"
    yield ""


def _interval(every: timedelta) -> str:
    seconds = int(every.total_seconds())
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds and seconds % size == 0:
            count = seconds // size
            return f"once in {count} {word}s" if count > 1 else f"once a {word}" if word != "hour" else "once an hour"
    return f"once in {seconds} seconds" if seconds else "each round"


def _place(function: Any) -> str:
    inner = getattr(function, "func", function)  # of a partial
    return f"{_path(inner.__module__)} `{inner.__qualname__}`"


def _path(module: str) -> str:
    return module.removeprefix("competitions.").replace(".", "/")


def _lines(texts: Iterable[str]) -> str:
    return "<br>".join(dict.fromkeys(texts)) or "nobody"
