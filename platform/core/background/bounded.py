"""Run functions that read strangers' files in a process of its own, with limits kept by the kernel.

The child is forked, so it starts within milliseconds and has everything imported. It must touch neither the database nor the
network: it reads files, and answers with what JSON can hold. A library with threads of its own, such as the table library, does not
survive a fork, and a process with threads, such as a web server's, is not to be forked: what uses one, or is called from one, is a
`Call`, a new interpreter.

Temporary files of the child lie in a folder of its own, which the parent measures and removes: a child that is killed cleans nothing up.
"""

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

CHUNK_BYTES: Final = 64 * 1024
MAX_ANSWER_BYTES: Final = 1024 * 1024
SCRATCH_BYTES: Final = 8 * 1024**3  # of temporary files; more than a child could read into its memory
LOOK_EVERY_S: Final = 0.5  # at the temporary files
BLOCK_BYTES: Final = 512  # of `st_blocks`
NICENESS: Final = 10  # pages come first
KILLED_AFTER_S: Final = 5  # of processor time, should the signal at the limit be ignored
# Each maps memory that counts, one a core by default.
FEW_THREADS: Final = {"POLARS_MAX_THREADS": "2", "OMP_NUM_THREADS": "2"}


@dataclass(frozen=True)
class Bounds:
    """The child's limits. `memory_bytes` is added to the memory that the parent has mapped."""

    wall_s: float
    cpu_s: int
    memory_bytes: int


@dataclass(frozen=True)
class Call:
    """A function by `module:name` with arguments that JSON can hold. The module must not need Django."""

    function: str
    arguments: Mapping[str, object]


class OverBounds(Exception):
    """The child used more than it may; `what` is `time`, `processor time`, `memory` or `space`."""

    def __init__(self, what: str) -> None:
        super().__init__(f"over the limit of {what}")
        self.what = what


class AnswerTooLong(OverBounds):
    """The child's answer does not fit into `MAX_ANSWER_BYTES`."""

    def __init__(self) -> None:
        super().__init__("space")


class Stopped(Exception):
    """The caller no longer wants the answer."""


class ChildFailed(Exception):
    """The child ended without an answer because of an error on our side."""


def run_bounded(
    work: Callable[[], Any] | Call, bounds: Bounds, *, is_wanted: Callable[[], bool], every_s: float
) -> Any:
    """Run `work` in a child process, which is stopped once `is_wanted` is false; return its result.

    Raises `OverBounds`, `Stopped` or `ChildFailed`.
    """
    with tempfile.TemporaryDirectory(prefix="child-") as scratch:
        return _run(work, bounds, _Watch(Path(scratch), bounds.wall_s, is_wanted, every_s))


@dataclass(frozen=True)
class _Watch:
    """The parent's look at a child: its temporary files, and if its answer is still wanted."""

    scratch: Path
    wall_s: float
    is_wanted: Callable[[], bool]
    every_s: float


def _run(work: Callable[[], Any] | Call, bounds: Bounds, watch: _Watch) -> Any:
    reader, writer = os.pipe()
    try:
        if isinstance(work, Call):
            child = _start(work, bounds, writer, watch.scratch)
        else:
            child = _fork(work, bounds, reader, writer, watch.scratch)
    except OSError:  # no room for another process
        os.close(reader)
        raise
    finally:
        os.close(writer)
    try:
        answer = _answer(reader, watch)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reader)
        _, status = os.waitpid(child, 0)
    return _read_answer(answer, os.waitstatus_to_exitcode(status))


def _fork(work: Callable[[], Any], bounds: Bounds, reader: int, writer: int, scratch: Path) -> int:
    child = os.fork()
    if child == 0:
        os.close(reader)
        tempfile.tempdir = str(scratch)
        _child(work, bounds, writer)
    return child


def _child(work: Callable[[], Any], bounds: Bounds, writer: int) -> NoReturn:
    """Answer and end at once: no handler, clean-up or buffer of the parent's is run twice."""
    code = 1
    try:
        bind(bounds, _mapped_bytes())
        answer = json.dumps({"answer": work()}).encode()
        os.set_blocking(writer, True)
        while answer:
            answer = answer[os.write(writer, answer) :]
        code = 0
    except MemoryError:
        os.write(writer, b'{"over": "memory"}')
        code = 0
    except Exception:
        traceback.print_exc()  # in the log of the process that asked for it, which learns the exit code alone
        sys.stderr.flush()
        raise
    finally:
        os._exit(code)


def _start(call: Call, bounds: Bounds, writer: int, scratch: Path) -> int:
    """A new interpreter, which binds itself before it imports anything of the call."""
    limits = [str(bounds.wall_s), str(bounds.cpu_s), str(bounds.memory_bytes), str(_mapped_bytes())]
    command = [sys.executable, "-m", "core.background.call", str(writer), call.function, *limits]
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TMPDIR": str(scratch)}
    with os.fdopen(os.memfd_create("arguments"), "w+b") as arguments:
        arguments.write(json.dumps(dict(call.arguments)).encode())
        arguments.seek(0)
        process = subprocess.Popen(command, stdin=arguments, pass_fds=[writer], env=os.environ | paths | FEW_THREADS)
    process.returncode = 0  # `run_bounded` waits for it, by its number
    return process.pid


def bind(bounds: Bounds, mapped_bytes: int) -> None:
    """Limit this process, for ever. `mapped_bytes` are not counted."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGXCPU, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(int(bounds.wall_s) + 5)  # should the parent be gone
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.cpu_s, bounds.cpu_s + KILLED_AFTER_S))
    resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes + bounds.memory_bytes,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _mapped_bytes() -> int:
    """Bytes of memory that this process has mapped."""
    with open("/proc/self/statm") as file:  # noqa: PTH123  # a file of the kernel
        return int(file.read().split()[0]) * resource.getpagesize()


def _answer(reader: int, watch: _Watch) -> bytes:
    """Everything the child wrote, once it has closed its end."""
    now = time.monotonic()
    ends_at, asked_at, answer = now + watch.wall_s, now + watch.every_s, b""
    while True:
        now = time.monotonic()
        if now >= ends_at:
            raise OverBounds("time")
        ready, _, _ = select.select([reader], [], [], min(ends_at - now, watch.every_s, LOOK_EVERY_S))
        if not ready:
            if _bytes_below(watch.scratch) > SCRATCH_BYTES:
                raise OverBounds("space")
            if time.monotonic() >= asked_at:
                asked_at = time.monotonic() + watch.every_s
                if not watch.is_wanted():
                    raise Stopped
            continue
        chunk = os.read(reader, CHUNK_BYTES)
        if not chunk:
            return answer
        answer += chunk
        if len(answer) > MAX_ANSWER_BYTES:
            raise AnswerTooLong


def _bytes_below(folder: Path) -> int:
    """Bytes that the files below the folder take on the disk."""
    blocks = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # the child goes on
                blocks += os.lstat(os.path.join(parent, name)).st_blocks  # noqa: PTH118  # thousands of them
    return blocks * BLOCK_BYTES


def _read_answer(answer: bytes, exit_code: int) -> Any:
    if exit_code == -signal.SIGXCPU:
        raise OverBounds("processor time")
    if exit_code == -signal.SIGABRT:  # how native libraries end that are refused memory
        raise OverBounds("memory")
    if exit_code != 0 or not answer:
        raise ChildFailed(f"the child ended with {exit_code}")
    message = json.loads(answer)
    if "over" in message:
        raise OverBounds(message["over"])
    return message["answer"]
