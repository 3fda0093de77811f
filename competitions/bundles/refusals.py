"""What organizers are told when a bundle is not imported or exported."""

from core.refusals import Conflict, NotAllowed, Refusal


class OrganizersOnly(NotAllowed):
    code = "organizers_only"

    def __init__(self) -> None:
        super().__init__("Only organizers import competitions. Ask an administrator for the rights of an organizer.")


class FilesMissing(Refusal):
    """`extra["missing"]` lists the digests."""

    code, http_status = "files_missing", 422

    def __init__(self, missing: list[str]) -> None:
        super().__init__(f"{len(missing)} of the files are not here yet. Upload them, and push again.", missing=missing)


class ChangedSince(Conflict):
    code = "changed_since"

    def __init__(self) -> None:
        super().__init__(
            "Others changed the competition on the site since your folder was made from it. Pull and merge, or force the push, "
            "which takes their changes back."
        )


class NotCompared(Conflict):
    code = "not_compared"

    def __init__(self) -> None:
        super().__init__("This push has not been compared, or is over. Push again.")


class OriginalGone(Refusal):
    code, http_status = "original_gone", 409

    def __init__(self) -> None:
        super().__init__("The competition was deleted, or you no longer organize it, so it was not cloned.")
