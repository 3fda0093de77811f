"""Refusals of a team's file, or of a submission that names one."""

from typing import Final

from competitions.catalog.models import Phase
from competitions.environments.models import EnvironmentFile
from core.refusals import Conflict, NotAllowed, Refusal, RefusalKind

NOUNS = {"weights": "weights", "image": "images of teams", "requirements": "requirements of teams"}


class EnvironmentNotAccepted(NotAllowed):
    code = "environment_not_accepted"

    def __init__(self, phase: Phase, what: str) -> None:
        taken = " and ".join(NOUNS[name] for name in phase.own_environment)
        super().__init__(
            f"The phase “{phase.name}” does not take {NOUNS[what]}. "
            + (f"It takes {taken}." if taken else "Its code runs in the image that the organizers named.")
        )


NO_PHASE_ACCEPTS: Final = RefusalKind(
    403,
    "environment_not_accepted",
    "No phase of this competition takes {noun}, so there is nothing to upload them for.",
)

UPLOAD_USED: Final = RefusalKind(
    409,
    "upload_used",
    "This upload is a file of your team in “{competition}” already. Upload the file again for this one.",
)

NAME_INVALID: Final = RefusalKind(
    422,
    "name_invalid",
    "The name {name!r} cannot be used. Use lower-case letters, digits, dots, dashes and underscores, at most 60, such as gap-model.",
)

FILE_TOO_LARGE: Final = RefusalKind(
    413,
    "environment_file_too_large",
    "The file has {size_bytes:,} bytes; {noun} may have at most {limit_bytes:,} here.",
    tells=("limit_bytes",),
)

ROOM_USED: Final = RefusalKind(
    413,
    "environment_room_used",
    "Your team's weights and images take {used:,} of {limit:,} bytes, and this file has {size_bytes:,}. Remove versions that you "
    "no longer need.",
    tells=("used", "limit"),
)

TOO_MANY_FILES: Final = RefusalKind(
    429,
    "too_many_environment_files",
    "Your team keeps {limit} weights and images, or has them checked: the most that it may. Remove some of them.",
    tells=("limit",),
)


class UnknownFile(Refusal):
    code, http_status = "unknown_environment_file", 422

    def __init__(self, kind: str, reference: str) -> None:
        noun = "weights" if kind == "weights" else "image"
        super().__init__(
            f"Your team has no {noun} {reference[:120]!r}. Name one as the Team page lists it, such as gap-model@2."
        )


class FileNotReady(Conflict):
    code = "environment_file_not_ready"

    def __init__(self, file: EnvironmentFile) -> None:
        happened = {
            file.State.CHECKING: "is still being checked. Submit again in a few minutes",
            file.State.REFUSED: f"was refused: {file.detail.removesuffix('.')}",
            file.State.REMOVED: "was removed. Upload it again, or name another version",
        }
        super().__init__(f"{file.reference} {happened[file.State(file.state)]}"[:900] + ".")


FILE_IN_USE: Final = RefusalKind(
    409,
    "environment_file_in_use",
    "{file.reference} is needed by submission #{submission}, which has not ended. Remove it then, or cancel the submission.",
)

FILE_OF_WINNER: Final = RefusalKind(
    409,
    "environment_file_of_winner",
    "{file.reference} is kept until the organizers have decided about submission #{submission}, which is invited to be verified.",
)

NOT_REMOVABLE: Final = RefusalKind(409, "environment_file_gone", "{file.reference} was removed already.")


class RegistryNotAllowed(Refusal):
    code, http_status = "registry_not_allowed", 422

    def __init__(self, registry: str, allowed: list[str]) -> None:
        super().__init__(
            f"Images from {registry[:120] or 'Docker Hub'} are not accepted here. "
            + (f"Allowed registries: {', '.join(allowed)}." if allowed else "Upload the image as an archive instead.")
        )


REFERENCE_INVALID: Final = RefusalKind(422, "image_reference_invalid", "{detail}")
