"""The shape of `competition.yaml`: Codabench's version 2, plus `podium:` mappings for what it has no key for."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Strict(BaseModel):
    """Unknown keys are errors: a mistyped key must not be dropped in silence."""

    model_config = ConfigDict(extra="forbid")


def _aware(value: Any) -> Any:
    """YAML's dates without an offset are UTC."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


Instant = Annotated[datetime, BeforeValidator(_aware)]


class PageSpec(Strict):
    title: str = Field(min_length=1, max_length=100)
    file: str


class TaskSpec(Strict):
    index: int
    name: str = Field(min_length=1, max_length=200)
    description: str = ""
    scoring_program: str
    ingestion_program: str | None = None
    input_data: str | None = None
    reference_data: str | None = None


class BudgetSpec(Strict):
    gpus: Literal[0, 1] = 0
    cpus: float = Field(1, gt=0)
    memory_bytes: int | None = Field(None, gt=0)
    output_bytes: int | None = Field(None, gt=0)
    output_files: int | None = Field(None, gt=0)


class PhaseExtra(Strict):
    slug: str | None = None
    visibility: Literal["public", "sealed"] = "public"
    accepts: list[Literal["prediction", "code"]] = ["prediction", "code"]
    preset: str | None = None
    budget: BudgetSpec | None = None
    prediction_format: dict[str, Any] | None = None
    max_submissions_per_week: int | None = None


class PhaseSpec(Strict):
    index: int = 0
    name: str = Field(min_length=1, max_length=100)
    description: str = ""
    start: Instant
    end: Instant | None = None
    tasks: list[int] = Field(min_length=1)
    max_submissions_per_day: int | None = Field(5, ge=0)
    max_submissions: int | None = Field(100, ge=0)
    execution_time_limit: int = Field(600, gt=0)
    public_data: str | None = None
    starting_kit: str | None = None
    podium: PhaseExtra = PhaseExtra()


class ColumnExtra(Strict):
    unit: str = ""


class ColumnSpec(Strict):
    title: str = Field(min_length=1, max_length=36)
    key: str = Field(min_length=1, max_length=36)
    index: int
    sorting: Literal["asc", "desc"] = "desc"
    precision: int = Field(2, ge=0, le=15)
    hidden: bool = False
    podium: ColumnExtra = ColumnExtra()


class LeaderboardSpec(Strict):
    title: str = Field(max_length=64)
    key: str = Field(max_length=36)
    hidden: bool = False
    submission_rule: Literal["Add", "Force_Last", "Force_Best"] = "Force_Best"
    primary_index: int = 0
    columns: list[ColumnSpec] = Field(min_length=1)


class CompetitionExtra(Strict):
    slug: str | None = None
    subtitle: str = ""
    host: str = ""
    max_team_size: int = Field(10, ge=1)


class CompetitionSpec(Strict):
    version: Literal[2]
    title: str = Field(min_length=1, max_length=256)
    description: str = ""
    image: str | None = None
    terms: str
    docker_image: str = ""
    registration_auto_approve: bool = False
    pages: list[PageSpec] = []
    tasks: list[TaskSpec] = Field(min_length=1)
    phases: list[PhaseSpec] = Field(min_length=1)
    leaderboards: list[LeaderboardSpec] = Field(min_length=1)
    podium: CompetitionExtra = Field(default_factory=lambda: CompetitionExtra.model_validate({}))
