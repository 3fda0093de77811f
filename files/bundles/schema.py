"""The schema of a bundle, in Codabench's version 2, plus `podium:` for further settings.

The field names are the keys of version 2, so this is also the table that `docs/bundles.md` is checked against. Keys that are
settings of the site as they stand come from the models that declare them (`with_settings`); a class here names such a key only
where the reading itself uses it.
"""

import types
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from files.bundles.declared import with_settings
from files.bundles.faults import Where
from files.bundles.types import Index, Indexes, OptionalFile, lower, one_line
from files.images import NAME as IMAGE_NAME

ONE_LINE: Final = ("title", "subtitle", "name", "help_text")  # beside the settings that their models keep to one line


def _accepts_none(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_accepts_none(part) for part in get_args(annotation))
    return annotation is None or annotation is type(None) or annotation is Any


class Spec(BaseModel):
    """Base: numbers may stand for texts, an empty value is the default. The reader notes unknown keys."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, defer_build=True)
    where: Where = Field((), exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _empty_is_default(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = cls.model_fields
        return {
            key: value
            for key, value in data.items()
            if value is not None or (key in fields and _accepts_none(fields[key].annotation))
        }

    @field_validator(*ONE_LINE, mode="before", check_fields=False)
    @classmethod
    def _is_one_line(cls, value: Any) -> Any:
        return one_line(value)


KEY_PATTERN: Final = r"^[\w.-]+( [\w.-]+)*$"  # of a question, as in `competitions.catalog.questions`
SLUG_PATTERN: Final = r"^[-a-zA-Z0-9_]+$"
IMAGE_NAME_PATTERN: Final = rf"^{IMAGE_NAME.pattern}$"
# What may stand in a text with one of these patterns, for messages.
ALLOWED: Final = {
    KEY_PATTERN: "letters, digits, single blanks, and the characters . _ -",
    SLUG_PATTERN: "letters from a to z, digits, - and _",
    IMAGE_NAME_PATTERN: "letters, digits, blanks and the characters _ - . ( ) and /",
}
Rule = Literal["Add", "Add_And_Delete", "Add_And_Delete_Multiple", "Force_Last", "Force_Latest_Multiple", "Force_Best"]


class PageExtra(Spec):
    tab: Literal["overview", "data", "own"] | None = None


class PageSpec(Spec):
    title: str = Field(min_length=1, max_length=256)
    file: str = Field(min_length=1)
    podium: PageExtra = Field(default_factory=lambda: PageExtra.model_validate({}))


class ImageSpec(Spec):
    """An image that pages show by its name."""

    name: str = Field(max_length=200, pattern=IMAGE_NAME_PATTERN)
    file: str = Field(min_length=1)


@with_settings("task.podium")
class TaskExtra(Spec):
    checks: Index | None = None
    check: Literal["permuted", "perturbed", "held_out"] | None = None
    public_split: bool


@with_settings("task")
class TaskSpec(Spec):
    index: Index
    key: str | None = None
    name: str = Field("", max_length=256)
    scoring_program: OptionalFile = None
    ingestion_program: OptionalFile = None
    input_data: OptionalFile = None
    reference_data: OptionalFile = None
    ingestion_only_during_scoring: bool
    podium: TaskExtra = Field(default_factory=lambda: TaskExtra.model_validate({}))


@with_settings("column.podium")
class ColumnExtra(Spec):
    meter: bool = False
    spread: str


@with_settings("column")
class ColumnSpec(Spec):
    title: str
    key: str
    index: int = Field(ge=0, le=32767)
    computation: Annotated[Literal["avg", "sum", "min", "max", "avg_rank"] | None, BeforeValidator(lower)] = None
    computation_indexes: Indexes = None
    podium: ColumnExtra = Field(default_factory=lambda: ColumnExtra.model_validate({}))


@with_settings("leaderboard.podium")
class LeaderboardExtra(Spec):
    show_tasks: bool | None = None
    rule: Literal["selected"] | None = None
    visibility: str


@with_settings("leaderboard")
class LeaderboardSpec(Spec):
    title: str
    key: str = Field("main", max_length=36)
    submission_rule: Rule = "Add"
    primary_index: int = 0
    columns: list[ColumnSpec] = Field(min_length=1)
    podium: LeaderboardExtra = Field(default_factory=lambda: LeaderboardExtra.model_validate({}))


class QuestionSpec(Spec):
    """A question of the fact sheet. Its flags are the texts "true" and "false" or booleans."""

    key: str = Field(min_length=1, max_length=36, pattern=KEY_PATTERN)
    type: Literal["checkbox", "text", "select", "number", "url"]
    title: str = Field(min_length=1, max_length=200)
    selection: str | list[Any] | bool = ""
    is_required: bool = False
    is_on_leaderboard: bool = False


class AskedQuestionSpec(Spec):
    """A question in Podium's own form: what everybody who registers is asked."""

    key: str = Field(min_length=1, max_length=36, pattern=KEY_PATTERN)
    title: str = Field(min_length=1, max_length=200)
    help_text: str = Field("", max_length=300)
    kind: Literal["text", "checkbox", "select", "url", "repository", "number"] = "text"
    choices: list[str] = []
    is_required: bool = True


class FactQuestionSpec(AskedQuestionSpec):
    """A question of the fact sheet with further settings; it replaces `fact_sheet`'s of that key."""

    is_public: bool = False
    is_on_board: bool = False
    compared_with: str = Field("", max_length=36)


@with_settings("phase.podium.budget")
class BudgetSpec(Spec):
    gpus: Literal[0, 1]
    cpus: float
    memory_bytes: int
    output_bytes: int
    output_files: int
    pids: int
    scoring_memory_bytes: int


@with_settings("phase.podium.grows")
class GrowthSpec(Spec):
    check: Index


@with_settings("phase.podium")
class PhaseExtra(Spec):
    slug: str | None = None
    visibility: str
    accepts: list[Literal["prediction", "code", "dataset"]] | None = None
    grows: GrowthSpec | None = None
    smoke_task: Index | None = None
    preset: str | None = None
    budget: BudgetSpec | None = None
    prediction_format: dict[str, object] | None
    text_files: list[str] | None = None
    docker_image: str
    environment: list[Literal["weights", "image", "requirements"]] = []
    scoring_time_limit: int | None = Field(None, ge=1)
    rule: Rule | None = None
    reveal: datetime | None
    fact_sheet: list[FactQuestionSpec] = []
    leaderboards: list[LeaderboardSpec] | None = None


@with_settings("phase")
class PhaseSpec(Spec):
    index: Index | None = None
    name: str
    start: datetime
    end: datetime | None
    tasks: list[Index] = Field(min_length=1)
    execution_time_limit: int
    auto_migrate_to_this_phase: bool
    accepts_only_result_submissions: bool = False
    public_data: OptionalFile = None
    starting_kit: OptionalFile = None
    sample_submission: OptionalFile = None
    podium: PhaseExtra = Field(default_factory=lambda: PhaseExtra.model_validate({}))


class SolutionSpec(Spec):
    """A file or folder, or a file of the site by its key, that the organizers know to solve the tasks."""

    index: Index | None = None
    tasks: list[Index] = []
    path: OptionalFile = None
    key: str | None = None
    name: str = Field("", max_length=200)
    description: str = Field("", max_length=10_000)

    @property
    def reference(self) -> str | None:
        """The path, else the key, as other parts name a file."""
        return self.path or self.key


@with_settings("competition.podium")
class CompetitionExtra(Spec):
    slug: str | None = Field(None, max_length=60, pattern=SLUG_PATTERN)
    subtitle: str = Field("", max_length=256)
    cover: OptionalFile = None
    image_stands_in: bool = False
    tags: list[Annotated[str, Field(min_length=1, max_length=30, pattern=r"^[^,\p{C}]+$")]] = Field([], max_length=8)
    registration_questions: list[AskedQuestionSpec] = []
    fact_sheet: list[FactQuestionSpec] = []
    images: list[ImageSpec] = []


@with_settings("competition")
class CompetitionSpec(Spec):
    version: Any = None
    title: str
    description: str = ""
    image: OptionalFile = None
    terms: OptionalFile = None
    docker_image: str
    registration_auto_approve: bool = False
    enable_detailed_results: bool
    make_input_data_available: bool
    fact_sheet: dict[str, QuestionSpec] | None = None
    queue: str | None = None
    pages: list[PageSpec]
    tasks: list[TaskSpec] = Field(min_length=1)
    solutions: list[SolutionSpec] = []
    phases: list[PhaseSpec] = Field(min_length=1)
    leaderboards: list[LeaderboardSpec] = Field(min_length=1)
    podium: CompetitionExtra = Field(default_factory=lambda: CompetitionExtra.model_validate({}))


TASK_FILES: Final = ("scoring_program", "ingestion_program", "input_data", "reference_data")
PHASE_FILES: Final = ("public_data", "starting_kit", "sample_submission")

# Keys that are read and lead to nothing here, each with the reason that the report gives.
IGNORED: Final[dict[type[Spec], dict[str, str]]] = {
    CompetitionSpec: {
        "forum_enabled": "whether there is a discussion is said by `podium.discussion`",
        "can_participants_make_submissions_public": "submissions are seen by their team and the organizers",
        "published": "an imported competition is a draft until its organizer publishes it",
    },
    TaskSpec: {},
    PhaseSpec: {
        "solutions": "which tasks a solution is for stands at the solution",
        "status": "which phase is current follows from the dates",
        "is_final_phase": "the last phase is the final one",
    },
    LeaderboardSpec: {"index": "leaderboards stand in the order of their list"},
}
