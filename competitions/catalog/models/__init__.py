"""Models of all that an organizer defines: competition, pages, rules, phases, tasks and boards."""

from competitions.catalog.models.board import Column, Leaderboard, SealedKey
from competitions.catalog.models.competition import (
    MOST_TAGS,
    TAG_LENGTH,
    Competition,
    CompetitionOrganizer,
    CompetitionQuerySet,
    Series,
)
from competitions.catalog.models.phase import SECTIONS, Phase, PhaseQuerySet, SealedUse
from competitions.catalog.models.proposal import Proposal, ProposalComment, ProposedFile
from competitions.catalog.models.sections.intake import Agents, Quota, Week, validate_prediction_format
from competitions.catalog.models.sections.runs import GIB, MIB, Budget, ShowsSlices
from competitions.catalog.models.sections.section import setting_names
from competitions.catalog.models.task import Check, Solution, Task, TaskQuerySet
from competitions.catalog.models.texts import Announcement, Format, ImageUpload, Page, PageImage, RulesVersion

__all__ = [
    "GIB", "MIB", "MOST_TAGS", "SECTIONS", "TAG_LENGTH", "Agents", "Announcement", "Budget", "Check", "Column", "Competition",
    "CompetitionOrganizer", "CompetitionQuerySet", "Format", "ImageUpload", "Leaderboard", "Page", "PageImage", "Phase", "PhaseQuerySet",
    "Proposal", "ProposalComment", "ProposedFile", "Quota", "RulesVersion", "SealedKey", "SealedUse", "Series", "ShowsSlices", "Solution",
    "Task", "TaskQuerySet", "Week", "setting_names", "validate_prediction_format",
]  # fmt: skip
