"""What a team should do about a failure."""

from competitions.catalog.models import Phase
from competitions.submissions.states import REASONS, Reason


def advice_of(reason: Reason, phase: Phase) -> str:
    """The reason's advice; of a program that failed also what its image holds, for a package is often what is missing."""
    advice = REASONS[reason].advice
    contents = phase.image_contents if reason == Reason.PROGRAM_ERROR else ""
    return f"{advice} {contents} Any other package belongs into your zip." if contents else advice
