"""The states of a run, the moves between them, and the reasons of failure: one table each."""

from dataclasses import dataclass
from typing import Final

from django.db.models import TextChoices

from competitions.catalog.models import Phase


class Kind(TextChoices):
    """The kind of a submission."""

    PREDICTION = "prediction", "predictions"
    CODE = "code", "code"
    DATASET = "dataset", "dataset"


class State(TextChoices):
    """States of a run; a submission's status uses the same words."""

    CHECKING = "checking", "checking"
    UNSTARTED = "unstarted", "waiting for the organizers"
    QUEUED = "queued", "queued"
    LEASED = "leased", "starting"
    PREPARING = "preparing", "preparing"
    INGESTING = "ingesting", "running"
    SCORING = "scoring", "scoring"
    FINISHED = "finished", "finished"
    FAILED = "failed", "failed"
    CANCELLED = "cancelled", "cancelled"


# Tuples, not sets: they stand in database constraints, and a set would change its order from run to run.
HELD: Final = (State.LEASED, State.PREPARING, State.INGESTING, State.SCORING)
FINAL: Final = (State.FINISHED, State.FAILED, State.CANCELLED)
LIVE: Final = (State.CHECKING, State.UNSTARTED, State.QUEUED, *HELD)


class Reason(TextChoices):
    """The reason for which a run failed."""

    PROGRAM_ERROR = "program_error", "the program failed"
    TIME_LIMIT = "time_limit", "over the time limit"
    MEMORY_LIMIT = "memory_limit", "out of memory"
    DISK_LIMIT = "disk_limit", "too much output"
    ENVIRONMENT_ERROR = "environment_error", "the environment cannot be made"
    OUTPUT_INVALID = "output_invalid", "the output is not valid"
    FILE_INVALID = "file_invalid", "the file cannot be used"
    SCORING_ERROR = "scoring_error", "the scoring program failed"
    SETUP_ERROR = "setup_error", "the competition is not set up right"
    INFRASTRUCTURE = "infrastructure", "the platform failed"


# Nothing was found out about what was sent in: it waits for a person who fixes what is wrong and runs it again.
NOT_RUN: Final = (Reason.SETUP_ERROR, Reason.INFRASTRUCTURE)
ORGANIZERS_OWN: Final = (Reason.SCORING_ERROR, Reason.SETUP_ERROR)


class Blame(TextChoices):
    PARTICIPANT = "participant", "your submission"
    ORGANIZER = "organizer", "the organizers' setup"
    PLATFORM = "platform", "the platform"


@dataclass(frozen=True)
class ReasonInfo:
    """Meaning of a failure: whose fault it is, if it costs quota, and what the team should do now."""

    blame: Blame
    charged: bool
    advice: str


REASONS: Final[dict[Reason, ReasonInfo]] = {
    Reason.PROGRAM_ERROR: ReasonInfo(
        Blame.PARTICIPANT, True, "Read the log of the run, reproduce the error with the starting kit, and submit again."
    ),
    Reason.TIME_LIMIT: ReasonInfo(
        Blame.PARTICIPANT,
        True,
        "The program was stopped at the limit and not scored. Make it faster, or process larger batches.",
    ),
    Reason.MEMORY_LIMIT: ReasonInfo(
        Blame.PARTICIPANT,
        True,
        "The program used more memory than the phase allows. Process the data in smaller batches.",
    ),
    Reason.DISK_LIMIT: ReasonInfo(
        Blame.PARTICIPANT, True, "The program wrote more than the phase allows. Write the predictions only."
    ),
    Reason.OUTPUT_INVALID: ReasonInfo(
        Blame.PARTICIPANT,
        True,
        "The message says what was wrong with the output. Where the Data page names a command that checks files, run it first.",
    ),
    Reason.ENVIRONMENT_ERROR: ReasonInfo(
        Blame.PARTICIPANT,
        True,
        "Your program was not started, and no time of its budget was used. The message says what of its image, weights or requirements "
        "could not be used: fix that and submit again.",
    ),
    Reason.FILE_INVALID: ReasonInfo(
        Blame.PARTICIPANT,
        False,
        "Nothing was run, and it cost no quota. Fix the file and submit it again; the number of refused files a day is limited.",
    ),
    Reason.SCORING_ERROR: ReasonInfo(
        Blame.ORGANIZER,
        False,
        "It cost no quota, and the organizers, who have been told, can score it again. Where others are scored, compare your files with "
        "the form that the competition asks for: names, number of lines, no folder around them.",
    ),
    Reason.SETUP_ERROR: ReasonInfo(
        Blame.ORGANIZER,
        False,
        "Nothing for you to do: it cost no quota, and the organizers have been told. Once the setup is fixed, they can run it again.",
    ),
    Reason.INFRASTRUCTURE: ReasonInfo(
        Blame.PLATFORM,
        False,
        "Nothing for you to do: this was our fault, cost no quota, and the administrators can run it again.",
    ),
}


def failure_advice(reason: Reason, phase: Phase) -> str:
    """The reason's advice; for a failed program also the image's packages, as one may be missing."""
    advice = REASONS[reason].advice
    contents = phase.image_contents if reason == Reason.PROGRAM_ERROR else ""
    where = "in your zip, or list it in a requirements.txt with hashes" if phase.own_requirements else "in your zip"
    return f"{advice} {contents} Include any other package {where}." if contents else advice
