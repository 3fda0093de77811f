"""What a bundle means, whichever shape it is written in: Codabench's version 2, plus `podium:` for what it has no key for.

The field names are the keys of version 2, so this is also the table that `docs/bundles.md` is checked against.
"""

import types
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from competitions.bundles.reading.dates import read_instant
from competitions.bundles.reading.faults import Where
from competitions.resources.images import NAME as IMAGE_NAME
from core.text import has_control_characters, is_number, on_one_line
from workers.protocol.images import parse_image

ONE_LINE: Final = ("title", "subtitle", "name", "host", "unit", "reward", "help_text")


def _accepts_none(annotation: Any) -> bool:
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_accepts_none(part) for part in get_args(annotation))
    return annotation is None or annotation is type(None) or annotation is Any


class Spec(BaseModel):
    """Base: numbers may stand for texts, and an empty value means the default. Unknown keys are told apart by the reader."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)
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
        """YAML's blocks end with a line break, and folded ones may hold some: a title is the words."""
        return on_one_line(value).strip() if isinstance(value, str) and has_control_characters(value) else value


def _instant(value: Any) -> Any:
    return value if isinstance(value, datetime) else read_instant(str(value))


def _optional_instant(value: Any) -> Any:
    return None if value is None or str(value).strip().lower() in ("", "null", "none") else _instant(value)


def _indexes(value: Any) -> Any:
    """A list, one number alone, or numbers with commas."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def _index(value: Any) -> Any:
    """A whole number in quotes is that number: bundles write `index: "1"` in one place and `tasks: [1]` in another."""
    return int(value) if isinstance(value, str) and is_number(value.strip()) else value


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


KEY_PATTERN: Final = r"^[\w.-]+( [\w.-]+)*$"  # of a question, as in `competitions.catalog.questions`
SLUG_PATTERN: Final = r"^[-a-zA-Z0-9_]+$"
IMAGE_NAME_PATTERN: Final = rf"^{IMAGE_NAME.pattern}$"
# What may stand in a text with one of these patterns, for messages.
ALLOWED: Final = {
    KEY_PATTERN: "letters, digits, single blanks, and the characters . _ -",
    SLUG_PATTERN: "letters from a to z, digits, - and _",
    IMAGE_NAME_PATTERN: "letters, digits, blanks and the characters _ - . ( ) and /",
}
Instant = Annotated[datetime, BeforeValidator(_instant)]
OptionalInstant = Annotated[datetime | None, BeforeValidator(_optional_instant)]
Index = Annotated[int | float | str, BeforeValidator(_index)]
Sorting = Annotated[Literal["asc", "desc"], BeforeValidator(_lower)]
Rule = Literal["Add", "Add_And_Delete", "Add_And_Delete_Multiple", "Force_Last", "Force_Latest_Multiple", "Force_Best"]
Quota = Annotated[int | None, Field(ge=0, le=2**31 - 1)]


def _image(value: str) -> str:
    if value := value.strip():
        parse_image(value)
    return value


Image = Annotated[str, Field(max_length=200), AfterValidator(_image)]


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


class TaskExtra(Spec):
    public_split: bool = False
    checks: Index | None = None
    check: Literal["permuted", "perturbed", "held_out"] | None = None
    tolerance: float | None = Field(None, ge=0)


class TaskSpec(Spec):
    index: Index
    key: str | None = None
    name: str = Field("", max_length=256)
    description: str = ""
    scoring_program: str | None = None
    ingestion_program: str | None = None
    input_data: str | None = None
    reference_data: str | None = None
    ingestion_only_during_scoring: bool = False
    is_public: bool = False
    podium: TaskExtra = Field(default_factory=lambda: TaskExtra.model_validate({}))


class BudgetSpec(Spec):
    gpus: Literal[0, 1] = 0
    cpus: float = Field(1, gt=0)
    memory_bytes: int | None = Field(None, gt=0)
    output_bytes: int | None = Field(None, gt=0)
    output_files: int | None = Field(None, gt=0)
    pids: int | None = Field(None, gt=0)
    scoring_memory_bytes: int | None = Field(None, gt=0)


class GrowthSpec(Spec):
    check: Index
    max_datasets: int = Field(50, ge=1, le=200)
    max_datasets_per_team: int = Field(3, ge=1, le=32767)


class PhaseExtra(Spec):
    slug: str | None = None
    visibility: Literal["public", "sealed"] = "public"
    accepts: list[Literal["prediction", "code", "dataset"]] | None = None
    grows: GrowthSpec | None = None
    smoke_task: Index | None = None
    smoke_scale: float | None = Field(None, ge=1)
    preset: str | None = None
    budget: BudgetSpec | None = None
    prediction_format: dict[str, Any] | None = None
    text_files: list[str] | None = None
    max_submissions_per_week: int | None = Field(None, ge=0)
    quota_week: Literal["calendar", "sliding"] = "calendar"
    allow_network: bool = False
    docker_image: Image = ""
    environment: list[Literal["weights", "image", "requirements"]] = []
    scoring_time_limit: int | None = Field(None, gt=0)
    rule: Rule | None = None
    reveal: OptionalInstant = None
    accepts_late: bool = False
    show_output_while_sealed: bool = False
    upload_grace_minutes: int = Field(15, ge=0, le=1440)
    priority: int = Field(0, ge=-32768, le=32767)
    fact_sheet: list["FactQuestionSpec"] = []
    leaderboards: list["LeaderboardSpec"] | None = None


class PhaseSpec(Spec):
    index: Index | None = None
    name: str = Field(min_length=1, max_length=256)
    description: str = ""
    start: Instant
    end: OptionalInstant = None
    tasks: list[Index] = Field(min_length=1)
    max_submissions_per_day: Quota = 5
    max_submissions: Quota = 100
    execution_time_limit: int = Field(600, gt=0, le=2**31 - 1)
    auto_migrate_to_this_phase: bool = False
    accepts_only_result_submissions: bool = False
    hide_output: bool = False
    hide_prediction_output: bool = False
    hide_score_output: bool = False
    public_data: str | None = None
    starting_kit: str | None = None
    sample_submission: str | None = None
    podium: PhaseExtra | None = None

    @property
    def extra(self) -> PhaseExtra:
        return self.podium or PhaseExtra.model_validate({})


class ColumnExtra(Spec):
    unit: str = Field("", max_length=20)
    rank_by_shown: bool = False
    meter: bool = False
    spread: str = Field("", max_length=36)


class ColumnSpec(Spec):
    title: str = Field(min_length=1, max_length=36)
    key: str = Field(min_length=1, max_length=36)
    index: int = Field(ge=0, le=32767)
    sorting: Sorting = "desc"
    precision: int = Field(2, ge=0, le=15)
    hidden: bool = False
    computation: Annotated[Literal["avg", "sum", "min", "max", "avg_rank"] | None, BeforeValidator(_lower)] = None
    computation_indexes: Annotated[list[int] | None, BeforeValidator(_indexes)] = None
    podium: ColumnExtra = Field(default_factory=lambda: ColumnExtra.model_validate({}))


class LeaderboardExtra(Spec):
    transposed: bool = False
    show_tasks: bool | None = None
    rule: Literal["selected"] | None = None
    break_ties: bool = True
    exact_scores: bool = True
    visibility: Literal["phase", "sealed"] = "phase"
    max_selected: int = Field(2, ge=1, le=1000)
    selection_closes: OptionalInstant = None
    freeze: OptionalInstant = None


class LeaderboardSpec(Spec):
    title: str = Field("Results", max_length=64)
    key: str = Field("main", max_length=36)
    hidden: bool = False
    submission_rule: Rule = "Add"
    primary_index: int = 0
    columns: list[ColumnSpec] = Field(min_length=1)
    podium: LeaderboardExtra = Field(default_factory=lambda: LeaderboardExtra.model_validate({}))


class QuestionSpec(Spec):
    """A question of the fact sheet. The flags are the texts "true" and "false" in Codabench; booleans are read too."""

    key: str = Field(min_length=1, max_length=36, pattern=KEY_PATTERN)
    type: Literal["checkbox", "text", "select", "number", "url"]
    title: str = Field(min_length=1, max_length=200)
    selection: str | list[Any] | bool = ""
    is_required: bool = False
    is_on_leaderboard: bool = False


class SolutionSpec(Spec):
    index: Index | None = None
    tasks: list[Index] = []
    path: str | None = None
    key: str | None = None
    name: str = ""
    description: str = ""


class AskedQuestionSpec(Spec):
    """A question in Podium's own form: what everybody who registers is asked."""

    key: str = Field(min_length=1, max_length=36, pattern=KEY_PATTERN)
    title: str = Field(min_length=1, max_length=200)
    help_text: str = Field("", max_length=300)
    kind: Literal["text", "checkbox", "select", "url", "repository", "number"] = "text"
    choices: list[str] = []
    is_required: bool = True


class FactQuestionSpec(AskedQuestionSpec):
    """A question of the fact sheet, with what Codabench's `fact_sheet` has no key for; it replaces that of the same key."""

    is_public: bool = False
    is_on_board: bool = False
    compared_with: str = Field("", max_length=36)


class CompetitionExtra(Spec):
    slug: str | None = Field(None, max_length=60, pattern=SLUG_PATTERN)
    subtitle: str = Field("", max_length=256)
    host: str = Field("", max_length=200)
    max_team_size: int = Field(10, ge=1, le=1000)
    registration_closes: OptionalInstant = None
    merges_close: OptionalInstant = None
    cover: str | None = None
    tags: list[Annotated[str, Field(min_length=1, max_length=30, pattern=r"^[^,\p{C}]+$")]] = Field([], max_length=8)
    registration_questions: list[AskedQuestionSpec] = []
    fact_sheet: list[FactQuestionSpec] = []
    images: list[ImageSpec] = []


class CompetitionSpec(Spec):
    version: Any = None
    title: str = Field(min_length=1, max_length=256)
    description: str = ""
    image: str | None = None
    terms: str | None = None
    docker_image: Image = ""
    registration_auto_approve: bool = False
    enable_detailed_results: bool = False
    show_detailed_results_in_submission_panel: bool = True
    show_detailed_results_in_leaderboard: bool = True
    make_programs_available: bool = False
    make_input_data_available: bool = False
    allow_robot_submissions: bool = False
    competition_type: Annotated[Literal["competition", "benchmark"], BeforeValidator(_lower)] = "competition"
    reward: str | None = Field(None, max_length=256)
    contact_email: str | None = Field(None, max_length=254)
    fact_sheet: dict[str, QuestionSpec] | None = None
    queue: str | None = None
    pages: list[PageSpec]
    tasks: list[TaskSpec] = Field(min_length=1)
    solutions: list[SolutionSpec] = []
    phases: list[PhaseSpec] = Field(min_length=1)
    leaderboards: list[LeaderboardSpec] = Field(min_length=1)
    podium: CompetitionExtra = Field(default_factory=lambda: CompetitionExtra.model_validate({}))


for _model in (PhaseExtra, PhaseSpec, CompetitionSpec):  # they name a class that stands below them
    _model.model_rebuild()

TASK_FILES: Final = ("scoring_program", "ingestion_program", "input_data", "reference_data")
PHASE_FILES: Final = ("public_data", "starting_kit", "sample_submission")

# Keys that are read and lead to nothing here, each with the reason that the report gives.
IGNORED: Final[dict[type[Spec], dict[str, str]]] = {
    CompetitionSpec: {
        "forum_enabled": "there is no forum; link to one on a page",
        "auto_run_submissions": "every accepted submission is run at once",
        "can_participants_make_submissions_public": "submissions are seen by their team and the organizers",
        "published": "an imported competition is a draft until its organizer publishes it",
    },
    TaskSpec: {},
    PhaseSpec: {
        "solutions": "solutions are not kept; submit them once to see them scored",
        "status": "which phase is current follows from the dates",
        "is_final_phase": "the last phase is the final one",
    },
    LeaderboardSpec: {"index": "a phase has one leaderboard"},
}
