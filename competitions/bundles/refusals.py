"""Refusals to import or export a bundle."""

from typing import Final

from core.refusals import Refusal, RefusalKind
from files.text import quantity


class FilesMissing(Refusal):
    """`extra["missing"]` lists the digests."""

    code, http_status = "files_missing", 422

    def __init__(self, missing: list[str]) -> None:
        super().__init__(
            f"{quantity(len(missing), 'file is', 'files are')} not here yet. Upload what is missing, and push again.",
            missing=missing,
        )


CHANGED_SINCE: Final = RefusalKind(
    409,
    "changed_since",
    "Others changed the competition on the site since your folder was made from it. Pull and merge, or force the push, "
    "which takes their changes back.",
)

NOT_COMPARED: Final = RefusalKind(409, "not_compared", "This push has not been compared, or is over. Push again.")

ORIGINAL_GONE: Final = RefusalKind(
    409, "original_gone", "The competition was deleted, or you no longer organize it, so it was not cloned."
)

COMPETITION_GONE: Final = RefusalKind(
    409,
    "competition_gone",
    "The competition was deleted, or you no longer organize it. Nothing was changed.",
)
