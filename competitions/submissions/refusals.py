"""Refusals of submissions and of changes to them."""

from datetime import datetime
from typing import Final

from competitions.catalog.models import Phase
from competitions.submissions.states import Kind
from core.refusals import Conflict, NotAllowed, Refusal, RefusalKind
from files.text import quantity

NAMES: Final = {Kind.PREDICTION: "predictions", Kind.CODE: "code", Kind.DATASET: "a dataset"}

AGENTS_NOT_TAKEN: Final = RefusalKind(
    403,
    "agents_not_taken",
    "The phase “{phase.name}” takes no submissions from agents. A person may submit, on the page or with a token that is not an agent's.",
)
AGENT_NOT_DECLARED: Final = RefusalKind(
    403,
    "agent_not_declared",
    "The phase “{phase.name}” takes submissions only from declared agents. Have your person make you a token in their profile that names "
    "your model and harness.",
)
PHASE_NOT_OPEN: Final = RefusalKind(
    403,
    "phase_not_open",
    "The phase “{phase.name}” opens on {opens_at:%Y-%m-%d %H:%M} UTC. Submit again from then on.",
    tells=("opens_at",),
)


class PhaseClosed(NotAllowed):
    code = "phase_closed"

    def __init__(self, phase: Phase, *, began_at: datetime, now: datetime) -> None:
        super().__init__(
            f"The phase “{phase.name}” closed on {phase.closes_at:%Y-%m-%d %H:%M:%S} UTC; your upload began on "
            f"{began_at:%Y-%m-%d %H:%M:%S} UTC and was submitted on {now:%Y-%m-%d %H:%M:%S} UTC. An upload counts if your team began it "
            f"before the end and submitted it at most {phase.upload_grace_minutes} minutes after.",
            closes_at=phase.closes_at.isoformat() if phase.closes_at else None,
            grace_ends_at=phase.grace_ends_at.isoformat() if phase.grace_ends_at else None,
        )


REVEALED_MEANWHILE: Final = RefusalKind(
    403,
    "scores_revealed",
    "The scores of “{phase.name}” were revealed on {phase.revealed_at:%Y-%m-%d %H:%M:%S} UTC, after its end. Uploads that had "
    "not been submitted by then do not count. Nothing was charged.",
)


class KindNotAccepted(Refusal):
    code, http_status = "kind_not_accepted", 422

    def __init__(self, phase: Phase, kind: str) -> None:
        accepted = [str(Kind(name).label) for name in phase.accepted_kinds]
        super().__init__(
            f"The phase “{phase.name}” does not accept {kind} submissions. It accepts {' and '.join(accepted) or 'nothing yet'}.",
            accepted=accepted,
        )


class WhichKind(Refusal):
    code, http_status = "which_kind", 422

    def __init__(self, phase: Phase, file_name: str) -> None:
        super().__init__(
            f"The phase “{phase.name}” accepts {', '.join(phase.accepted_kinds) or 'nothing'}, and {file_name!r} looks like none of them. "
            "Say which it is: `kind`, or --kind at the command line.",
            accepted=phase.accepted_kinds,
        )


class LooksLikeAnotherKind(Refusal):
    """`send_instead` and `send_anyway` are the two ways on, in words."""

    code, http_status = "looks_like_another_kind", 422

    def __init__(self, file_name: str, *, chosen: Kind, looks_like: Kind, sign: str) -> None:
        super().__init__(
            f"You chose {NAMES[chosen]}, and {file_name} looks like {NAMES[looks_like]}: it has {sign}. Nothing has been counted yet.",
            looks_like=str(looks_like),
            send_instead=f"Send as {NAMES[looks_like]} instead",
            send_anyway=f"Send as {NAMES[chosen]} all the same",
        )


ENVIRONMENT_WITHOUT_CODE: Final = RefusalKind(
    422,
    "environment_without_code",
    "Weights and images are for code, and this is a {kind} submission. Submit it without them.",
)

UPLOADED_FOR_ENVIRONMENT: Final = RefusalKind(
    422,
    "uploaded_for_environment",
    "This file was uploaded as weights or as an image. Upload your submission by itself.",
)


class QuotaUsed(Refusal):
    code, http_status = "quota_used", 429

    def __init__(self, *, limit: int, period: str, resets_at: datetime | None) -> None:
        when = (
            f"The next can be made from {resets_at:%Y-%m-%d %H:%M} UTC."
            if resets_at
            else "No more can be made in this phase."
        )
        every = "the one submission" if limit == 1 else f"all {limit} submissions"
        super().__init__(
            f"Your team has used {every} {period}. {when} Runs that failed on our side are not counted.",
            limit=limit,
            resets_at=resets_at.isoformat() if resets_at else None,
        )


TOO_MANY_SCORING_ERRORS: Final = RefusalKind(
    429,
    "too_many_scoring_errors",
    "The scoring program failed on {limit} of your team's submissions today, and no more are taken until "
    "{resets_at:%Y-%m-%d %H:%M} UTC. Compare your files with the form that the competition asks for. If they are right, write to "
    "the organizers, who can fix the scoring program and run your submissions again.",
    tells=("limit", "resets_at"),
)


class NoSmokeRun(Refusal):
    code, http_status = "no_smoke_run", 422

    def __init__(self, phase: Phase) -> None:
        why = (
            "is for code alone"
            if phase.has_smoke_run
            else f"is not what “{phase.name}” offers: it names no public mini split"
        )
        super().__init__(f"A smoke run {why}. Submit without it.")


SMOKE_TASK_HIDDEN: Final = RefusalKind(
    409,
    "smoke_task_hidden",
    "The smoke run of “{phase.name}” is set up on data that are not public, so no code is taken. Nothing was charged and the "
    "file is kept; the organizers can see it in their checklist. Submit again once they have fixed it.",
)

TOO_MANY_SMOKE_RUNS: Final = RefusalKind(
    429,
    "too_many_smoke_runs",
    "Your team has used its {limit} free smoke runs for today; there are more from {resets_at:%Y-%m-%d %H:%M} UTC. Run your code on your "
    "own machine first: `podium run` says what the site would say. A submission that counts is still possible, and is charged if it fails.",
    tells=("limit", "resets_at"),
)

TEAM_STORAGE_USED: Final = RefusalKind(
    413,
    "team_storage_used",
    "The files that your team has submitted take {used:,} of {limit:,} bytes, and this one has {size_bytes:,}. They are kept. "
    "Leave out of yours what is not needed, or ask the organizers, who can have the administrators give you more room.",
    tells=("used", "limit"),
)

IDEMPOTENCY_KEY_REUSED: Final = RefusalKind(
    422,
    "idempotency_key_reused",
    "This idempotency key was used for another submission. Use a new key for a new submission.",
)

NOTHING_TO_RUN: Final = RefusalKind(
    409,
    "phase_has_no_task",
    "The phase “{phase.name}” has no task yet, so nothing could be scored. The organizers must add one.",
)

IMAGE_MISSING: Final = RefusalKind(
    409,
    "image_missing",
    "“{phase.name}” runs in the image {phase.image_name}, which no compute worker has. Nothing was charged and the file is "
    "kept; the organizers can see it in their checklist. Submit again once they have fixed it.",
)

TEAM_MERGED: Final = RefusalKind(
    409,
    "team_merged",
    "Your team has just merged into “{team}”. Nothing was charged and the file is kept; submit again.",
)

MERGE_OVER_QUOTA: Final = RefusalKind(
    409,
    "merge_over_quota",
    "Together the teams have used {used} submissions of “{phase.name}”, and one team may use {limit}: they cannot merge any more.",
    tells=("used", "limit"),
)

MERGE_BACK: Final = RefusalKind(
    409,
    "merge_back",
    "{person} has submitted for both teams. Nobody who has left a team can bring another one into it.",
)


class NoPlaceForDataset(Conflict):
    code = "no_place_for_dataset"

    def __init__(self, phase: Phase, *, whose: str, limit: int) -> None:
        super().__init__(
            f"“{phase.name}” takes {quantity(limit, 'dataset')} {whose}, and all places are taken. Nothing was charged.",
            limit=limit,
        )


NOT_A_DATASET: Final = RefusalKind(
    409, "not_a_dataset", "This submission is not a dataset on a board, so there is nothing to withdraw."
)

DATASET_WITHDRAWN: Final = RefusalKind(
    409,
    "dataset_withdrawn",
    "This dataset was withdrawn, and does not come back. Submit it again if your team has places left.",
)

STAYS_AFTER_THE_END: Final = RefusalKind(
    409,
    "dataset_stays",
    "“{phase.name}” has closed, and its ranks rest on this dataset. Ask the organizers if it must be taken off.",
)
