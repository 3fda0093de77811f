"""Advice to a team after a failure."""

from competitions.catalog.models import Phase
from competitions.submissions.states import REASONS, Reason


def failure_advice(reason: Reason, phase: Phase) -> str:
    """The reason's advice; for a failed program also the image's packages, as one may be missing."""
    advice = REASONS[reason].advice
    contents = phase.image_contents if reason == Reason.PROGRAM_ERROR else ""
    where = "your zip, or into a requirements.txt with hashes" if phase.own_requirements else "your zip"
    return f"{advice} {contents} Any other package belongs into {where}." if contents else advice
