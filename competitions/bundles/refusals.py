"""What organizers are told when a bundle is not imported or exported."""

from core.refusals import NotAllowed, Refusal


class OrganizersOnly(NotAllowed):
    code = "organizers_only"

    def __init__(self) -> None:
        super().__init__("Only organizers import competitions. Ask an administrator for the rights of an organizer.")


class OriginalGone(Refusal):
    code, http_status = "original_gone", 409

    def __init__(self) -> None:
        super().__init__("The competition was deleted, or you no longer organize it, so it was not cloned.")
