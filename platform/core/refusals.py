"""How Podium says no: a stable code for programs, and for people what happened, to what, and what to do now.

Every domain error that a client can act on is a `Refusal`. Pages, API and commands each have one handler for it. Most are
rows, a `RefusalKind` each; a class of its own has what is caught by name, or words its sentence by more than its values.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


class Refusal(Exception):
    """Base of all refusals. `code` and `http_status` are stable; `str()` is the text for people."""

    code: str = "refused"
    http_status: int = 400
    kind: "RefusalKind | None" = None

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra = extra  # JSON values that a program may want, e.g. `resets_at`


@dataclass(frozen=True)
class RefusalKind:
    """One way to be refused: `raise TEAM_FULL(limit=4)`.

    `sentence` and `next_step`, the address where to go on, are filled with the values; those that `tells` names are told to
    programs as well.
    """

    http_status: int
    code: str
    sentence: str
    tells: tuple[str, ...] = ()
    next_step: str = ""

    def __call__(self, **values: object) -> Refusal:
        extra = {name: _json(values[name]) for name in self.tells}
        if self.next_step:
            extra["next_step"] = self.next_step.format_map(values)
        refusal = Refusal(self.sentence.format_map(values), **extra)
        refusal.code, refusal.http_status, refusal.kind = self.code, self.http_status, self
        return refusal


class InvalidFile(Refusal):
    """An uploaded file is not what it should be. The code says which rule: `wrong_shape`, `zip_slip`, ..."""

    http_status = 422

    def __init__(self, code: str, detail: str, **extra: Any) -> None:
        super().__init__(detail, **extra)
        self.code = code


class NotAllowed(Refusal):
    code, http_status = "not_allowed", 403


class Conflict(Refusal):
    code, http_status = "conflict", 409


def _json(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
