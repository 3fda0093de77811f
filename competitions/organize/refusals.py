"""Refusals on the way to a competition."""

from collections.abc import Sequence
from datetime import datetime

from django.urls import reverse

from core.refusals import Conflict, NotAllowed, Refusal


class HostsOnly(NotAllowed):
    code = "hosts_only"

    def __init__(self) -> None:
        super().__init__(
            "Your account does not host competitions yet. Ask for it on the page “Host a competition”.",
            next_step=reverse("organize:start"),
        )


class RequestOpen(Conflict):
    code = "host_request_open"

    def __init__(self) -> None:
        super().__init__("You have asked already. An administrator decides, and you get a mail.")


class RequestsClosed(NotAllowed):
    code = "host_requests_closed"

    def __init__(self) -> None:
        super().__init__("On this site administrators choose who hosts competitions; nobody needs to ask here.")


class TooManyDrafts(Refusal):
    code, http_status = "too_many_drafts", 409

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"You have {limit} drafts, the most that one person may have. Throw away one that you do not need."
        )


class DraftChangedElsewhere(Conflict):
    code = "draft_changed_elsewhere"

    def __init__(self) -> None:
        super().__init__(
            "This draft was changed in another tab or window meanwhile. What you entered is still here and not saved yet: "
            "check it, then go on to save it."
        )


class DraftIncomplete(Refusal):
    code, http_status = "draft_incomplete", 422

    def __init__(self, title: str, url: str) -> None:
        super().__init__(f"The step “{title}” is not finished. Complete it, then build the competition.", next_step=url)


class AnswersTooLong(Refusal):
    code, http_status = "answers_too_long", 413

    def __init__(self, limit: int) -> None:
        super().__init__(f"The texts of this step have more than {limit:,} characters together. Shorten them.")


class WrongKindOfFile(Refusal):
    code, http_status = "wrong_kind_of_file", 422

    def __init__(self, file_name: str, allowed: str) -> None:
        super().__init__(f"{file_name!r} is not a file of the kind that is needed here. Choose one of: {allowed}.")


class AlreadyPublished(Conflict):
    code = "already_published"

    def __init__(self) -> None:
        super().__init__("The competition is published, so it is not built again. Change it in its own settings.")


class NotBuilt(Conflict):
    code = "not_built"

    def __init__(self) -> None:
        super().__init__(
            "The competition is not built from your latest answers yet. Build it, look at the trial, then publish."
        )


class HasSubmissions(Conflict):
    code = "has_submissions"

    def __init__(self) -> None:
        super().__init__(
            "Somebody has submitted to this competition, so it is neither deleted nor built again. Change its settings."
        )


class StillPublished(Conflict):
    code = "still_published"

    def __init__(self) -> None:
        super().__init__("The competition is published. Withdraw it first, then delete it.")


class OnRecord(Conflict):
    code = "on_record"

    def __init__(self, kinds: Sequence[str]) -> None:
        super().__init__(
            f"The competition is not deleted, because it has what stays on record: {', '.join(kinds)}. Leave it withdrawn."
        )


class NotConfirmed(Refusal):
    code, http_status = "not_confirmed", 422

    def __init__(self, slug: str) -> None:
        super().__init__(f"Nothing was deleted: type “{slug}” to confirm that you mean this competition.")


class NobodyToMail(Refusal):
    code, http_status = "nobody_to_mail", 422

    def __init__(self) -> None:
        super().__init__("This mail would reach nobody. Choose other people.")


class TooManyMails(Refusal):
    code, http_status = "too_many_mails", 429

    def __init__(self, limit: int, next_at: datetime) -> None:
        super().__init__(
            f"You have sent {limit} mails within a day, the most that a competition may send. The next one can go out from "
            f"{next_at:%Y-%m-%d %H:%M} UTC; an announcement is always possible.",
            next_at=next_at.isoformat(),
        )


class TrialRuns(Conflict):
    code = "trial_runs"

    def __init__(self) -> None:
        super().__init__(
            "The trial runs at this moment. Wait until it has ended, which takes some seconds, and try again."
        )


class CannotBeBuilt(Refusal):
    code, http_status = "cannot_be_built", 422


class FilesMissing(Refusal):
    code, http_status = "files_missing", 422

    def __init__(self) -> None:
        super().__init__(
            "Upload the files of this step first, and wait until they are read. Replace or remove those that cannot be used."
        )


class NothingChosen(Refusal):
    code, http_status = "nothing_chosen", 422

    def __init__(self, what: str = "submission") -> None:
        super().__init__(f"No {what} was chosen. Tick those that you mean, then choose what to do.")


class ReasonMissing(Refusal):
    code, http_status = "reason_missing", 422

    def __init__(self) -> None:
        super().__init__("Give the reason: it is what the people concerned read.")


class PhaseHasSubmissions(Conflict):
    code = "phase_has_submissions"

    def __init__(self, name: str) -> None:
        super().__init__(f"Somebody has submitted to “{name}”, so it is not deleted. Close it by its end date.")


class FileChangedElsewhere(Conflict):
    code = "file_changed_elsewhere"

    def __init__(self) -> None:
        super().__init__(
            "Something changed since you read what the new file does: another version is there, or teams submitted. Your file is kept. "
            "Read again what it does, then confirm."
        )


class NotDeleted(Conflict):
    code = "not_deleted"

    def __init__(self, what: str, reasons: Sequence[str]) -> None:
        super().__init__(f"Nothing was deleted: {what} stays. {' '.join(reasons)}")


class DeletionChanged(Conflict):
    code = "deletion_changed"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"Nothing was deleted: what deleting {what} does has changed since you read it. Read it again, then confirm."
        )
