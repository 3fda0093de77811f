"""Why a submission, or a change of one, is refused."""

from datetime import datetime

from competitions.catalog.models import Phase
from competitions.submissions.states import Kind
from competitions.teams.models import Team
from core.refusals import Conflict, NotAllowed, Refusal


class PhaseNotOpen(NotAllowed):
    code = "phase_not_open"

    def __init__(self, phase: Phase) -> None:
        super().__init__(
            f"The phase “{phase.name}” opens on {phase.opens_at:%Y-%m-%d %H:%M} UTC. Submit again from then on.",
            opens_at=phase.opens_at.isoformat(),
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


class RevealedMeanwhile(NotAllowed):
    code = "scores_revealed"

    def __init__(self, phase: Phase) -> None:
        super().__init__(
            f"The scores of “{phase.name}” were revealed on {phase.revealed_at:%Y-%m-%d %H:%M:%S} UTC, after its end. Uploads that had "
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


class EnvironmentWithoutCode(Refusal):
    code, http_status = "environment_without_code", 422

    def __init__(self, kind: str) -> None:
        super().__init__(f"Weights and images are for code, and this is a {kind} submission. Submit it without them.")


class UploadedForEnvironment(Refusal):
    code, http_status = "uploaded_for_environment", 422

    def __init__(self) -> None:
        super().__init__("This file was uploaded as weights or as an image. Upload your submission by itself.")


class QuotaUsed(Refusal):
    code, http_status = "quota_used", 429

    def __init__(self, *, limit: int, period: str, resets_at: datetime | None) -> None:
        when = (
            f"The next can be made from {resets_at:%Y-%m-%d %H:%M} UTC."
            if resets_at
            else "No more can be made in this phase."
        )
        super().__init__(
            f"Your team has used all {limit} submissions {period}. {when} Runs that failed on our side are not counted.",
            limit=limit,
            resets_at=resets_at.isoformat() if resets_at else None,
        )


class TooManyScoringErrors(Refusal):
    code, http_status = "too_many_scoring_errors", 429

    def __init__(self, *, limit: int, resets_at: datetime) -> None:
        super().__init__(
            f"The scoring program failed on {limit} of your team's submissions today, and no more are taken until "
            f"{resets_at:%Y-%m-%d %H:%M} UTC. Compare your files with the form that the competition asks for. If they are right, write to "
            "the organizers, who can mend the scoring program and run your submissions again.",
            limit=limit,
            resets_at=resets_at.isoformat(),
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


class SmokeTaskHidden(Conflict):
    code = "smoke_task_hidden"

    def __init__(self, phase: Phase) -> None:
        super().__init__(
            f"The smoke run of “{phase.name}” is set up on data that are not public, so no code is taken. Nothing was charged and the "
            "file is kept; the organizers can see it in their checklist. Submit again once they have mended it."
        )


class TooManySmokeRuns(Refusal):
    code, http_status = "too_many_smoke_runs", 429

    def __init__(self, *, limit: int, resets_at: datetime) -> None:
        super().__init__(
            f"{limit} of your team's submissions of today came no further than their smoke run, and no more code is taken until "
            f"{resets_at:%Y-%m-%d %H:%M} UTC. Run yours on your own machine first: `podium run` says what the site would say.",
            limit=limit,
            resets_at=resets_at.isoformat(),
        )


class TeamStorageUsed(Refusal):
    code, http_status = "team_storage_used", 413

    def __init__(self, *, used: int, limit: int, size_bytes: int) -> None:
        super().__init__(
            f"The files that your team has submitted take {used:,} of {limit:,} bytes, and this one has {size_bytes:,}. They are kept. "
            "Leave out of yours what is not needed, or ask the organizers, who can have the administrators give you more room.",
            used=used,
            limit=limit,
        )


class IdempotencyKeyReused(Refusal):
    code, http_status = "idempotency_key_reused", 422

    def __init__(self) -> None:
        super().__init__("This idempotency key was used for another submission. Use a new key for a new submission.")


class NothingToRun(Conflict):
    code = "phase_has_no_task"

    def __init__(self, phase: Phase) -> None:
        super().__init__(
            f"The phase “{phase.name}” has no task yet, so nothing could be scored. The organizers must add one."
        )


class ImageMissing(Conflict):
    code = "image_missing"

    def __init__(self, phase: Phase) -> None:
        super().__init__(
            f"“{phase.name}” runs in the image {phase.image_name}, which no compute worker has. Nothing was charged and the file is "
            "kept; the organizers can see it in their checklist. Submit again once they have mended it."
        )


class TeamMerged(Conflict):
    code = "team_merged"

    def __init__(self, team: Team) -> None:
        super().__init__(
            f"Your team has just merged into “{team}”. Nothing was charged and the file is kept; submit again."
        )


class MergeOverQuota(Conflict):
    code = "merge_over_quota"

    def __init__(self, phase: Phase, *, used: int, limit: int) -> None:
        super().__init__(
            f"Together the teams have used {used} submissions of “{phase.name}”, and one team may use {limit}: they cannot merge any more.",
            used=used,
            limit=limit,
        )


class NoPlaceForDataset(Conflict):
    code = "no_place_for_dataset"

    def __init__(self, phase: Phase, *, whose: str, limit: int) -> None:
        super().__init__(
            f"“{phase.name}” takes {limit} dataset{'' if limit == 1 else 's'} {whose}, and all places are taken. Nothing was charged.",
            limit=limit,
        )


class NotADataset(Conflict):
    code = "not_a_dataset"

    def __init__(self) -> None:
        super().__init__("This submission is no dataset on a board, so there is nothing to withdraw.")


class DatasetWithdrawn(Conflict):
    code = "dataset_withdrawn"

    def __init__(self) -> None:
        super().__init__(
            "This dataset was withdrawn, and does not come back. Submit it anew, as far as your team has places left."
        )


class StaysAfterTheEnd(Conflict):
    code = "dataset_stays"

    def __init__(self, phase: Phase) -> None:
        super().__init__(
            f"“{phase.name}” has closed, and its ranks rest on this dataset. Ask the organizers if it must be taken off."
        )
