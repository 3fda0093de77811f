"""A phase's settings by subject: fields, allowed values, places in forms and in the API."""

from competitions.catalog.models.sections.budget import GIB, MIB, Budget, BudgetSection
from competitions.catalog.models.sections.data import DataSection, read_descriptions, validate_descriptions
from competitions.catalog.models.sections.environment import EnvironmentSection, Isolation, IsolationSection
from competitions.catalog.models.sections.growing import GrowthSection
from competitions.catalog.models.sections.intake import Agents, IntakeSection, validate_prediction_format
from competitions.catalog.models.sections.outputs import OutputsSection, ShowsSlices
from competitions.catalog.models.sections.quota import Quota, QuotaSection, Week
from competitions.catalog.models.sections.schedule import ScheduleSection
from competitions.catalog.models.sections.section import Section, setting_names
from competitions.catalog.models.sections.smoke import SmokeSection

SECTIONS: tuple[type[Section], ...] = (
    ScheduleSection,
    QuotaSection,
    IntakeSection,
    DataSection,
    SmokeSection,
    BudgetSection,
    EnvironmentSection,
    IsolationSection,
    GrowthSection,
    OutputsSection,
)

__all__ = [
    "GIB", "MIB", "SECTIONS", "Agents", "Budget", "BudgetSection", "DataSection", "EnvironmentSection", "GrowthSection",
    "IntakeSection", "Isolation", "IsolationSection", "OutputsSection", "Quota", "QuotaSection", "ScheduleSection", "Section",
    "ShowsSlices", "SmokeSection", "Week", "read_descriptions", "setting_names", "validate_descriptions",
    "validate_prediction_format",
]  # fmt: skip
