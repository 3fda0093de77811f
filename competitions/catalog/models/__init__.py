"""What an organizer defines: the competition, its pages and rules, its phases and their tasks."""

from competitions.catalog.models.competition import Competition, CompetitionOrganizer, CompetitionQuerySet, Series
from competitions.catalog.models.phase import Phase, PhaseQuerySet, SealedUse
from competitions.catalog.models.sections import GIB, MIB, SECTIONS, Budget, Quota, validate_prediction_format
from competitions.catalog.models.task import Task, TaskQuerySet
from competitions.catalog.models.texts import Announcement, Format, Page, RulesVersion

__all__ = [
    "GIB", "MIB", "SECTIONS", "Announcement", "Budget", "Competition", "CompetitionOrganizer", "CompetitionQuerySet", "Format",
    "Page", "Phase", "PhaseQuerySet", "Quota", "RulesVersion", "SealedUse", "Series", "Task", "TaskQuerySet", "validate_prediction_format",
]  # fmt: skip
