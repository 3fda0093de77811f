"""Errors, by what there is to do about them. `exit_code` is the one of the program `podium`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.models import Submission


class PodiumError(Exception):
    """Base of all errors. `code` is a stable word; the text says what happened and what to do.

    `extra` has the site's other fields, for programs.
    """

    exit_code = 1

    def __init__(self, text: str, *, code: str = "", extra: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.extra = dict(extra or {})


class Refused(PodiumError):
    """The site understood and said no: a quota is used up, a phase is closed."""


class InvalidInput(PodiumError):
    """Wrong input, or there is no such thing."""

    exit_code = 2


class NotAllowed(PodiumError):
    """Not signed in, or without the right."""

    exit_code = 3


class SiteUnreachable(PodiumError):
    """The site did not answer, for as long as the client was told to be patient."""

    exit_code = 4


class SubmissionFailed(PodiumError):
    """A submission ended without a score; `submission` has the verdict."""

    def __init__(self, submission: "Submission") -> None:
        self.submission = submission
        verdict = submission.verdict
        explanation = f"{verdict.detail or verdict.reason} {verdict.advice}".strip() if verdict else submission.status
        super().__init__(
            f"Submission {submission.id} ended as {submission.status}: {explanation}", code=submission.status
        )


class StillWaiting(PodiumError):
    """The submission had not ended in the time to wait; `submission` is as it was then. It goes on."""

    def __init__(self, submission: "Submission", timeout_s: float) -> None:
        self.submission = submission
        text = f"Submission {submission.id} is still {submission.status} after {timeout_s:g} s; it goes on without you."
        super().__init__(text, code="still_waiting")
