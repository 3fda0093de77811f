"""Errors around a container, by whose fault they are."""

import errno
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog

log = structlog.get_logger(__name__)
# What no data can bring about: this host is out of something, or its disk is broken.
OF_THE_HOST: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)
STOPPED = "staging_stopped"  # the code of what nobody waits for any more
MAX_WORDS: Final = 200  # characters of what was raised, in a refusal
NOT_KILLABLE = "not_killable"  # of a container that is still there long after it was killed


class Judged(Exception):
    """An error that says by itself whose fault it is."""


class DataRefused(Judged):
    """Data of a team or an organizer that cannot be used. `code` is a stable word."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class SandboxError(Judged):
    """The platform's fault (engine, image, disk): the run is retried elsewhere. `code` is a stable word."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class OutputRefused(Judged):
    """The container's output breaks a rule.

    `reason` is `output_invalid` or `disk_limit`; `code` names the rule.
    """

    def __init__(self, reason: str, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.reason = reason
        self.code = code
        self.detail = detail


@contextmanager
def reading(refused: Callable[[str], Judged]) -> Iterator[None]:
    """Guard a reader of a team's data: any exception over the data becomes a refusal of them.

    `refused` makes the refusal of a few words on the exception. An error that is judged already goes through as it is, and so does one of
    this host. Usable as a decorator.
    """
    try:
        yield
    except Judged:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in OF_THE_HOST):
            raise
        words = _words(error)
        log.warning("data_refused", detail=words, exc_info=error)
        raise refused(words) from error


def _words(error: Exception) -> str:
    """The words of an error, in one line without a path of this host."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(f"{type(error).__name__}: {error}"[:MAX_WORDS].split())


def unless_stopped(chunks: Iterable[bytes], stop: Callable[[], bool], what: str) -> Iterator[bytes]:
    """The chunks. Raises `SandboxError` between two of them once `stop` says so; `what` names the work."""
    for chunk in chunks:
        if stop():
            raise SandboxError(STOPPED, what)
        yield chunk
