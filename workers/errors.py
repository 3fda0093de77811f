"""What can go wrong around a container, told apart by whose fault it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

STOPPED = "staging_stopped"  # the code of what nobody waits for any more
NOT_KILLABLE = "not_killable"  # of a container that is still there long after it was killed


class SandboxError(Exception):
    """The platform's fault (engine, image, disk): the run is retried elsewhere. `code` is a stable word."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class OutputRefused(Exception):
    """What the container left breaks a rule. `reason` is `output_invalid` or `disk_limit`; `code` names the rule."""

    def __init__(self, reason: str, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.reason = reason
        self.code = code
        self.detail = detail


def unless_stopped(chunks: Iterable[bytes], stop: Callable[[], bool], what: str) -> Iterator[bytes]:
    """The chunks. Raises `SandboxError` between two of them once `stop` says so; `what` was not brought to its end."""
    for chunk in chunks:
        if stop():
            raise SandboxError(STOPPED, what)
        yield chunk
