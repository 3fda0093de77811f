"""Answers of a site, typed. Fields that a newer site adds are left out."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, PrivateAttr, ValidationError, model_validator

from podium.errors import InvalidInput

if TYPE_CHECKING:
    from podium.client import Client

FINAL: Final = ("finished", "failed", "cancelled")
Kind = Literal["prediction", "code", "dataset"]
EnvironmentKind = Literal["weights", "image"]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, answer: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Read an answer. Raises `InvalidInput` for that of another version, or of no site of Podium."""
        try:
            return handler(answer)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, (cls.__name__, *first["loc"])))
            raise InvalidInput(
                f"The site's answer cannot be read: {place}: {first['msg']}. Is the site of another version than this client "
                "(`podium --version`), or no site of Podium?",
                code="no_podium",
            ) from error


class Phase(_Answer):
    """A phase of a competition. `prediction_format` is the form of its prediction files, None for any zip.

    `official_file_name` is the name that they must have, empty for any.
    """

    id: int
    slug: str
    name: str
    visibility: str
    is_sealed: bool
    opens_at: datetime
    closes_at: datetime | None
    accepts_predictions: bool
    accepts_code: bool
    accepts_datasets: bool
    prediction_format: dict[str, Any] | None = None
    official_file_name: str = ""
    time_limit_s: int
    has_smoke_run: bool = False
    max_submissions_per_day: int | None = None
    agents: str = "any"

    @property
    def kinds(self) -> list[Kind]:
        """Kinds of submissions that it takes."""
        accepted: list[tuple[Kind, bool]] = [
            ("prediction", self.accepts_predictions),
            ("code", self.accepts_code),
            ("dataset", self.accepts_datasets),
        ]
        return [kind for kind, is_accepted in accepted if is_accepted]

    @property
    def is_open(self) -> bool:
        """True while the phase is open by the clock of this machine."""
        now = datetime.now(UTC)
        return self.opens_at <= now and (self.closes_at is None or now < self.closes_at)


class Agent(_Answer):
    """A program that decides by itself, as its person declared it."""

    model: str
    harness: str = ""


class Token(_Answer):
    """An API token, without its secret."""

    name: str
    scopes: list[str]
    expires_at: datetime
    agent: Agent | None = None


class Account(_Answer):
    """Whoever a token belongs to, with that token."""

    username: str
    name: str
    is_service_account: bool
    token: Token | None


class EnvironmentFile(_Answer):
    """A team's weights or container image; `reference` is what a submission names it by."""

    key: str
    kind: EnvironmentKind
    name: str
    version: int
    reference: str
    state: str
    code: str = ""
    detail: str = ""
    file_name: str
    size_bytes: int
    sha256: str = ""
    image_id: str = ""
    created_at: datetime
    last_used_at: datetime


class RegistrationQuestion(_Answer):
    key: str
    title: str
    kind: str
    is_required: bool
    choices: list[str] | str | None = None


class Competition(_Answer):
    """A competition; in a list without phases."""

    id: int
    slug: str
    title: str
    subtitle: str = ""
    host: str = ""
    registration_policy: str
    max_team_size: int
    phases: list[Phase] = []
    rules_version: int | None = None
    registration_questions: list[RegistrationQuestion] = []


class DownloadFile(_Answer):
    """A file that participants may download.

    `folder` is where it is put below the folder of all: empty unless another file has its name.
    """

    phase: str
    name: str
    file_name: str
    size_bytes: int
    sha256: str
    url: str
    folder: str = ""


class UploadState(_Answer):
    """An upload as the site has it. `sha256` is None until the whole file is digested."""

    received_bytes: int
    sha256: str | None = None


class DocumentFile(_Answer):
    """A file of a competition, by its path in the folder."""

    path: str
    sha256: str
    size_bytes: int
    url: str


class Document(_Answer):
    """A live competition as a folder: the texts of its small files by path, the others by digest."""

    version: str
    texts: dict[str, str]
    files: list[DocumentFile]


class Export(_Answer):
    """A competition that the site writes as a bundle.

    `url` is None until it is written, and after a fault of the site.
    """

    id: int
    state: str
    file_name: str
    url: str | None = None
    codabench_refusals: list[str]
    codabench_gaps: list[str]


class Registration(_Answer):
    state: str
    rules_version: int
    accepted_at: datetime


class Team(_Answer):
    key: str
    name: str
    captain: str
    members: list[str]


class Invitation(_Answer):
    key: str
    team: str
    competition: str
    person: str
    state: str
    expires_at: datetime


class Notification(_Answer):
    """A notification; `path` is the page of the site where you read or do more."""

    id: int
    kind: str
    competition: str
    subject: str
    text: str
    path: str
    created_at: datetime
    is_read: bool


class FactQuestion(_Answer):
    """A question of a phase's fact sheet."""

    key: str
    title: str
    type: str
    choices: list[str] = []
    is_required: bool


class Allowance(_Answer):
    """The number of submissions that are left in a period."""

    period: str
    limit: int
    used: int
    left: int
    resets_at: datetime | None


class Log(_Answer):
    """The output of one stage; `text` begins after `offset` characters that the asker has."""

    run: str
    stream: str
    text: str
    offset: int = 0


class Budget(_Answer):
    """Seconds that a program has run and may run; `projected_s`: of the whole run, as it reports."""

    elapsed_s: float
    limit_s: int
    projected_s: float | None = None


class Run(_Answer):
    """A submission on one task."""

    id: str
    task: str
    is_smoke: bool = False
    state: str
    queue_place: int | None
    gpu_hours_at: datetime | None = None  # while it waits for the competition's next GPU hours
    attempt: int
    queued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    reason: str = ""
    code: str = ""
    detail: str = ""
    meters: dict[str, Any] = {}
    budget: Budget | None = None
    smoke_scores: dict[str, float] = {}


class Verdict(_Answer):
    """The reason why there is no score: whose fault it is, and what to do."""

    reason: str
    blame: str
    detail: str
    advice: str


class Submission(_Answer):
    """A submission as it was when the site answered.

    `scores` are as the board shows them, None while there are none or they are sealed.
    """

    id: int
    competition: str
    phase: str
    team: str
    submitted_by: str
    kind: str
    file_name: str
    sha256: str
    description: str
    created_at: datetime
    finished_at: datetime | None
    is_late: bool
    status: str
    verdict: Verdict | None
    scores: dict[str, str] | None
    counts_on: list[str]
    selected_on: list[str]
    runs: list[Run]
    agent: Agent | None = None
    tags: list[str] = []
    commit: str = ""
    link: str = ""
    _client: "Client | None" = PrivateAttr(default=None)

    @property
    def is_final(self) -> bool:
        return self.status in FINAL

    def wait(
        self,
        *,
        timeout_s: float | None = None,
        on_change: Callable[["Submission"], None] | None = None,
        check: bool = True,
    ) -> "Submission":
        """The submission once it has ended. See `Client.wait`."""
        assert self._client is not None, "made by a client"
        return self._client.wait(self.id, timeout_s=timeout_s, on_change=on_change, check=check)


class Change(_Answer):
    """One setting, or one part with all its settings, that a push would add, change or remove."""

    path: str
    change: str
    before: str
    after: str
    lines: list[str]


class Push(_Answer):
    """A folder that was compared with the live competition, or applied to it.

    `version` is empty where it makes a new competition.
    """

    id: int
    state: str
    step: str
    slug: str
    version: str
    result: str
    is_stale: bool
    changes: list[Change]
    impact: list[str]
    fault: str


class Column(_Answer):
    key: str
    title: str
    unit: str
    sorting: str
    is_primary: bool


class RowUncertainty(_Answer):
    """The uncertainty of a row; a baseline has no ranks and no tier."""

    half_width: str
    low: str
    high: str
    first_rank: int | None
    last_rank: int | None
    tier: int | None
    beats_above_percent: int | None
    stays_top_percent: int | None = None


class BoardUncertainty(_Answer):
    """The uncertainty of a board: rows tied for first, and the smallest sure difference."""

    confidence_percent: int
    resamples: int
    rows_known: int
    rows_unknown: int
    first_tier: int
    resolution: str | None
    top: int | None = None
    unseen_items: int | None = None


class Row(_Answer):
    """A row of a board; baselines have no rank."""

    rank: int | None
    team: str
    is_baseline: bool
    scores: dict[str, str]
    agent: Agent | None = None
    submissions: int
    achieved_at: datetime
    uncertainty: RowUncertainty | None = None


class Board(_Answer):
    """A leaderboard with all rows that were asked for, best first."""

    phase: str
    board: str
    title: str
    columns: list[Column]
    entry_count: int
    rows: list[Row]
    uncertainty: BoardUncertainty | None = None
