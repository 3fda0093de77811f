"""Refusals: a stable code for programs, and a sentence for people with what to do now."""


class Refusal(Exception):
    """Base of all refusals. `code` and `http_status` are stable; `str()` is the text for people."""

    code: str = "refused"
    http_status: int = 400
    step_label: str = "Go there"  # the words of the link to `next_step` in `extra`

    def __init__(self, detail: str, **extra: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extra = extra  # JSON values that a program may want, e.g. `resets_at`


class InvalidFile(Refusal):
    """A file is not what it should be. The code says which rule: `wrong_shape`, `zip_slip`, ..."""

    http_status = 422

    def __init__(self, code: str, detail: str, **extra: object) -> None:
        super().__init__(detail, **extra)
        self.code = code
