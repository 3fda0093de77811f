"""Refusals on the way to a competition."""

from typing import Final

from core.refusals import Conflict, RefusalKind

REQUEST_OPEN: Final = RefusalKind(
    409, "host_request_open", "You have asked already. An administrator decides, and you will get a mail."
)

REQUESTS_CLOSED: Final = RefusalKind(
    403, "host_requests_closed", "On this site administrators choose who hosts competitions; nobody needs to ask here."
)

ALREADY_ASKED: Final = RefusalKind(
    409, "already_asked", "{who} was asked to organize this competition already, and has not answered yet."
)

TOO_MANY_ASKED: Final = RefusalKind(
    409,
    "too_many_asked",
    "{limit} people were asked to organize this competition and have not answered yet. Take one of these invitations back first.",
)

NO_LONGER_ASKED: Final = RefusalKind(
    409, "no_longer_asked", "This invitation was taken back or answered. Ask the organizers for another one."
)

TOO_MANY_DRAFTS: Final = RefusalKind(
    409,
    "too_many_drafts",
    "You have {limit} drafts, the most that one person may have. Throw away one that you do not need.",
)


class DraftChangedElsewhere(Conflict):
    code = "draft_changed_elsewhere"

    def __init__(self) -> None:
        super().__init__(
            "This draft was changed in another tab or window meanwhile. What you entered is still here and not saved yet: "
            "check it, then go on to save it."
        )


DRAFT_INCOMPLETE: Final = RefusalKind(
    422,
    "draft_incomplete",
    "The step “{title}” is not finished. Complete it, then build the competition.",
    next_step="{url}",
)

ANSWERS_TOO_LONG: Final = RefusalKind(
    413, "answers_too_long", "The texts of this step have more than {limit:,} characters together. Shorten them."
)

WRONG_KIND_OF_FILE: Final = RefusalKind(
    422, "wrong_kind_of_file", "{file_name!r} is not a file of the kind that is needed here. Choose one of: {allowed}."
)

ALREADY_PUBLISHED: Final = RefusalKind(
    409, "already_published", "The competition is published, so it is not built again. Change it in its own settings."
)

NOT_BUILT: Final = RefusalKind(
    409,
    "not_built",
    "The competition is not built from your latest answers yet. Build it, look at the trial, then publish.",
)

HAS_SUBMISSIONS: Final = RefusalKind(
    409,
    "has_submissions",
    "Somebody has submitted to this competition, so it is neither deleted nor built again. Change its settings.",
)

STILL_PUBLISHED: Final = RefusalKind(
    409, "still_published", "The competition is published. Withdraw it first, then delete it."
)


ON_RECORD: Final = RefusalKind(
    409,
    "on_record",
    "The competition is not deleted, because it has what stays on record: {kinds}. Leave it withdrawn.",
)

NOT_CONFIRMED: Final = RefusalKind(
    422, "not_confirmed", "Nothing was deleted: type “{slug}” to confirm that you mean this competition."
)

NOBODY_TO_MAIL: Final = RefusalKind(422, "nobody_to_mail", "This mail would reach nobody. Choose other people.")

TOO_MANY_MAILS: Final = RefusalKind(
    429,
    "too_many_mails",
    "You have sent {limit} mails within a day, the most that a competition may send. The next one can be sent from "
    "{next_at:%Y-%m-%d %H:%M} UTC; an announcement is always possible.",
    tells=("next_at",),
)

TRIAL_RUNS: Final = RefusalKind(
    409,
    "trial_runs",
    "The trial is still running. Wait until it has ended, which takes a few seconds, and try again.",
)

CANNOT_BE_BUILT: Final = RefusalKind(422, "cannot_be_built", "{detail}")

FILES_MISSING: Final = RefusalKind(
    422,
    "files_missing",
    "Upload the files of this step first, and wait until they are read. Replace or remove those that cannot be used.",
)


NOTHING_CHOSEN: Final = RefusalKind(
    422, "nothing_chosen", "No {what} was chosen. Tick those that you mean, then choose what to do."
)

QUEUE_MISSING: Final = RefusalKind(
    422, "queue_missing", "Choose one of the queues that you may use. Nothing was moved."
)

REASON_MISSING: Final = RefusalKind(422, "reason_missing", "Give the reason: the people concerned will read it.")

PHASE_HAS_SUBMISSIONS: Final = RefusalKind(
    409, "phase_has_submissions", "“{name}” has submissions, so it cannot be deleted. Set its end date to close it."
)

FILE_CHANGED_ELSEWHERE: Final = RefusalKind(
    409,
    "file_changed_elsewhere",
    "Something changed since you read what the new file does: another version is there, or teams submitted. Your file is kept. "
    "Read again what it does, then confirm.",
)


NOT_DELETED: Final = RefusalKind(409, "not_deleted", "Nothing was deleted: {what} stays. {reasons}")

DELETION_CHANGED: Final = RefusalKind(
    409,
    "deletion_changed",
    "Nothing was deleted: what deleting {what} does has changed since you read it. Read it again, then confirm.",
)
