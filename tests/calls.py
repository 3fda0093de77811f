"""Answers the calls of `run_bounded` in one other interpreter for all tests.

The site starts a new interpreter for each call, which imports NumPy and Polars anew; in the functional tests that cost more than
all else, in the client's a third. This one has no Django either, takes and gives JSON, and has the limits of time, memory and length
of an answer, not that of processor time. The tests of `run_bounded` itself, and the site in all other suites, start new ones.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import resource
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest import mock

from core.background.bounded import (
    FEW_THREADS,
    MAX_ANSWER_BYTES,
    AnswerTooLong,
    Bounds,
    Call,
    ChildFailed,
    OverBounds,
    run_bounded,
)
from tests.services import REPOSITORY


class Interpreter:
    """The other interpreter; started at the first call, and again after one that ended it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def answer(self, call: Call, bounds: Bounds) -> Any:
        """Raises `OverBounds` or `ChildFailed`, as `run_bounded` does."""
        process = self.process = self.process or _start(bounds)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([call.function, dict(call.arguments)]).encode() + b"\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], bounds.wall_s)
        line = process.stdout.readline() if ready else b""
        if not line:
            self.stop()
            raise ChildFailed("the interpreter of the tests ended") if ready else OverBounds("time")
        if len(line) > MAX_ANSWER_BYTES:
            raise AnswerTooLong
        message = json.loads(line)
        if "over" in message:
            raise OverBounds(message["over"])
        if "failed" in message:
            raise ChildFailed(message["failed"])
        return message["answer"]

    def stop(self) -> None:
        """End it, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def _start(bounds: Bounds) -> subprocess.Popen[bytes]:
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.calls", str(bounds.memory_bytes)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | paths | FEW_THREADS,
    )


INTERPRETER: Final = Interpreter()
atexit.register(INTERPRETER.stop)


def run_call(work: Callable[[], Any] | Call, bounds: Bounds, **watch: Any) -> Any:
    """Answer like `run_bounded`, a call in the other interpreter of the tests."""
    return INTERPRETER.answer(work, bounds) if isinstance(work, Call) else run_bounded(work, bounds, **watch)


@contextmanager
def one_interpreter_for_calls() -> Iterator[None]:
    """Tables, replicates, gaps and images are read in one other interpreter, not each in a new one."""
    from competitions.bundles import unpacking
    from competitions.leaderboards.uncertainty import reading
    from competitions.organize.tables import program
    from competitions.resources import images
    from competitions.runs import checks
    from competitions.winners import gaps

    with ExitStack() as patches:
        for module in (reading, program, gaps, images, unpacking, checks):
            patches.enter_context(mock.patch.object(module, "run_bounded", run_call))
        yield


def _serve(memory_bytes: int) -> None:
    """In the other interpreter: answer line by line. What a function prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    for line in sys.stdin:
        function, arguments = json.loads(line)
        module, name = function.split(":")
        try:
            message = {"answer": getattr(importlib.import_module(module), name)(**arguments)}
        except MemoryError:
            message = {"over": "memory"}
        except Exception as error:  # noqa: BLE001  # it would have ended an interpreter of its own
            message = {"failed": repr(error)}
        assert "django.conf" not in sys.modules, f"{function} needs Django"
        answers.write(json.dumps(message) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
