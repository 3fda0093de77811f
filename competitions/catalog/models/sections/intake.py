"""The kinds of submissions that a phase takes, and how they are run."""

from collections.abc import Mapping
from typing import ClassVar, Final

from django.core.exceptions import ValidationError
from django.db import models

from competitions.catalog.models.sections.section import Section
from core.fields import OneLineField


def validate_prediction_format(value: object) -> None:
    """Refuse what uploads could not be checked against: neither a table's columns nor an official file."""
    from scoring.errors import ScoringInputError
    from scoring.formats.layouts import layout
    from scoring.tables.schema import TableSchema

    if isinstance(value, dict) and set(value) == {"table"}:
        try:
            TableSchema.from_json(value["table"])
        except ScoringInputError as error:
            raise ValidationError(str(error)) from error
        return
    if not isinstance(value, dict) or set(value) - {"dataset", "split", "rows"} or {"dataset", "split"} - set(value):
        raise ValidationError('Give "dataset", "split" and, if not the official number, "rows"; or "table" alone.')
    rows = value.get("rows")
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise ValidationError(f'"rows" must be a whole number of at least 1, not {rows!r}.')
    try:
        layout(str(value["dataset"]), str(value["split"]), rows)
    except ScoringInputError as error:
        raise ValidationError(str(error)) from error


TEXT_FILES: Final = "*.csv *.tsv *.txt *.json *.jsonl"


class Agents(models.TextChoices):
    ANY = "any", "all agents"
    DECLARED = "declared", "agents that say so"
    OWN_BOARD = "own_board", "agents that say so, on a board of their own"
    NONE = "none", "no agents"


class IntakeSection(Section):
    accepts_predictions = models.BooleanField("accepts prediction files", default=True)
    accepts_code = models.BooleanField("accepts code", default=False)
    accepts_datasets = models.BooleanField(
        "accepts datasets", default=False, help_text="Participants send data; the tasks' programs are the algorithms."
    )
    as_on_codabench = models.BooleanField(
        "runs as on Codabench",
        default=False,
        help_text="Programs and inputs are writable copies, a submission without a metadata file is copied into the output before "
        "ingestion, and the ingestion program's exit code alone fails no run.",
    )
    prediction_format = models.JSONField(
        null=True,
        blank=True,
        validators=[validate_prediction_format],
        help_text="What uploads are checked against before they are queued: an official file, or a table. Empty: any zip.",
    )

    text_files = OneLineField(
        max_length=200,
        blank=True,
        default=TEXT_FILES,
        help_text="Names of prediction files that must be UTF-8 text, as patterns. One that is not is refused before it is scored. "
        "Empty: nothing is checked.",
    )

    agents = models.CharField(
        "takes submissions of",
        max_length=10,
        choices=Agents,
        default=Agents.ANY,
        db_default=Agents.ANY,
        help_text="An agent decides by itself what it submits for its person, and counts to that person's team and quota. One that says "
        "so has a token that names its model and harness, which are shown with what it submits. What comes by /mcp is an agent's.",
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "What is submitted": ("accepts_predictions", "accepts_code", "accepts_datasets", "prediction_format", "tasks"),
        "Agents, text files and Codabench": ("agents", "text_files", "as_on_codabench"),
    }
    api: ClassVar[tuple[str, ...]] = (
        "accepts_predictions",
        "accepts_code",
        "accepts_datasets",
        "prediction_format",
        "official_file_name",
        "text_files",
        "agents",
    )
    bundle: ClassVar[Mapping[str, str]] = {"prediction_format": "podium.prediction_format", "agents": "podium.agents"}

    class Meta:
        abstract = True

    @property
    def text_patterns(self) -> tuple[str, ...]:
        """Patterns of the names of prediction files that must be text."""
        return tuple(self.text_files.split())

    @property
    def official_file_name(self) -> str:
        """The name that a file of predictions must have; empty where any will do."""
        from scoring.formats.layouts import official_filename  # with numpy, which the site does not need to start

        form = self.prediction_format
        return official_filename(form["dataset"], form["split"]) if form and "table" not in form else ""

    @property
    def accepted_kinds(self) -> list[str]:
        """Kinds of submissions that the phase takes, by their names in `Submission.kind`."""
        kinds = {"prediction": self.accepts_predictions, "code": self.accepts_code, "dataset": self.accepts_datasets}
        return [kind for kind, accepted in kinds.items() if accepted]
