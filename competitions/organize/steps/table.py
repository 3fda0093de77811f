"""A competition on a table: its answers, columns and metric, public and private part."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from django import forms
from django.core.exceptions import ValidationError

from competitions.organize.answers import MetricChoice, MetricFacts, Solution
from competitions.organize.steps.step import FileSlot, Step, StepForm
from scoring.errors import ScoringInputError
from scoring.metrics import METRICS
from scoring.metrics.metric import Metric, Parameter
from scoring.tables.columns import metrics_for
from scoring.tables.recognise import TablePreview
from scoring.tables.table_reference import OWN_METRIC

if TYPE_CHECKING:
    from competitions.organize.models import CompetitionDraft

OWN: Final = OWN_METRIC  # the metric is a Python file of the organizer's
SOLUTION: Final = FileSlot(
    "solution",
    "Solution",
    "The answers: one row an item, an id column, the target. CSV, TSV, Parquet, JSON Lines, npz; compressed or not.",
)
Choices = list[tuple[str, str]]


def table_preview(draft: "CompetitionDraft", role: str) -> Solution | None:
    """The preview of a table; None until it was read."""
    file = next((file for file in draft.files.all() if file.role == role), None)
    return cast("Solution", file.preview) if file is not None and file.preview else None


def solution_preview(draft: "CompetitionDraft") -> Solution | None:
    return table_preview(draft, SOLUTION.role)


def _column_names(draft: "CompetitionDraft", role: str = SOLUTION.role) -> list[str]:
    table = table_preview(draft, role)
    return [column["name"] for column in table["columns"]] if table else []


def _answer(draft: "CompetitionDraft", step: str, name: str) -> list[str]:
    texts: list[str] = draft.answers.get(step, {}).get(name, [])
    return texts


class ColumnsForm(StepForm):
    id_column = forms.ChoiceField(label="Id", help_text="Rows are matched by it, in any order.")
    targets = forms.MultipleChoiceField(
        label="Target", widget=forms.CheckboxSelectMultiple, help_text="What teams predict."
    )
    weight = forms.ChoiceField(label="Weight of each row", required=False)
    group = forms.ChoiceField(
        label="Group of each row",
        required=False,
        help_text="For metrics that are means over groups, such as users.",
    )

    def prepare(self) -> None:
        solution = solution_preview(self.draft)
        usage, identity = (solution["usage_column"], solution["id_column"]) if solution else (None, None)
        every: Choices = [(name, name) for name in _column_names(self.draft) if name != usage]
        for field in ("id_column", "targets"):
            self.fields[field].choices = every  # type: ignore[attr-defined]  # both are fields with choices
        for field in ("weight", "group"):
            self.fields[field].choices = [("", "none"), *every]  # type: ignore[attr-defined]
        proposed = [name for name in solution["targets"] if name != identity] if solution else []
        self.fields["id_column"].initial = identity
        self.fields["targets"].initial = proposed[-1:] if len(proposed) > 3 else proposed

    def clean(self) -> dict[str, object]:
        cleaned, solution = self.cleaned_data, solution_preview(self.draft)
        identity, targets = cleaned.get("id_column"), cleaned.get("targets", [])
        if solution is None:
            raise ValidationError("Upload the solution first.")
        if identity in targets:
            self.add_error("targets", f"“{identity}” is the id. Choose the columns that teams predict.")
        self._require_ids(solution, identity)
        revealed = set(targets) & set(_column_names(self.draft, "test"))
        if revealed:
            self.add_error(
                "targets",
                f"The test data hold {', '.join(sorted(revealed))}: that tells the answers. Upload them without it.",
            )
        return cleaned

    def _require_ids(self, solution: Solution, identity: str | None) -> None:
        column = next((candidate for candidate in solution["columns"] if candidate["name"] == identity), None)
        if column is None or (not column["missing"] and column["distinct"] == solution["rows"]):
            return
        what = f"{column['distinct']:,} different ids in {solution['rows']:,} rows, {column['missing']:,} of them empty"
        self.add_error("id_column", f"“{identity}” is no id: {what}. Each row needs an id of its own.")


def allowed_metrics(draft: "CompetitionDraft") -> list[Metric]:
    """The metrics that the chosen targets allow, the likeliest first."""
    solution, targets = solution_preview(draft), _answer(draft, "columns", "targets")
    if solution is None or not set(targets) <= set(_column_names(draft)) or not targets:
        return []
    grouped = any(_answer(draft, "columns", "group"))
    return [
        metric for metric in metrics_for(TablePreview.from_json(solution), targets) if grouped or not metric.needs_group
    ]


class MetricForm(StepForm):
    metric = forms.ChoiceField(label="Metric", widget=forms.RadioSelect)
    own_title = forms.CharField(label="Name of your metric", max_length=36, required=False)
    own_direction = forms.ChoiceField(
        label="Better is", choices=[("max", "higher"), ("min", "lower")], required=False, initial="max"
    )
    own_parameters = forms.CharField(
        label="Settings of your metric",
        max_length=500,
        required=False,
        help_text="Values of the further parameters of its function score, such as k=10, alpha=0.1.",
    )

    def prepare(self) -> None:
        self.metrics = allowed_metrics(self.draft)
        groups: dict[str, Choices] = {}
        for number, metric in enumerate(self.metrics):
            name = "Suits your target" if number < 5 else metric.group.capitalize()
            groups.setdefault(name, []).append((metric.name, metric.title))
        choices = [*groups.items(), ("Your own", [(OWN, "A Python file of mine")])]
        self.fields["metric"].choices = choices  # type: ignore[attr-defined]  # a field with choices
        self.fields["metric"].initial = self.metrics[0].name if self.metrics else OWN
        for metric in self.metrics:
            for parameter in metric.parameters:
                self.fields[_setting(metric, parameter)] = _field(parameter)

    def chosen(self) -> Metric | None:
        """The metric of the catalogue that is chosen now; None for one's own."""
        name = self["metric"].value()
        return next((metric for metric in self.metrics if metric.name == name), None)

    def settings(self) -> list[tuple[Metric, list[forms.BoundField]]]:
        """The metrics that have settings, each with their fields. Those of the chosen one count."""
        return [
            (metric, [self[_setting(metric, parameter)] for parameter in metric.parameters])
            for metric in self.metrics
            if metric.parameters
        ]

    def kept(self, answers: dict[str, list[str]]) -> dict[str, list[str]]:
        others = self._of_others()
        return {name: texts for name, texts in answers.items() if name not in others}

    def clean_own_parameters(self) -> dict[str, object]:
        try:
            return _parameters(self.cleaned_data["own_parameters"])
        except ValueError as error:
            raise ValidationError("Write names and numbers, such as k=10, alpha=0.1, or levels=0.1 0.5 0.9.") from error

    def clean(self) -> dict[str, object]:
        cleaned, metric = self.cleaned_data, self.chosen()
        for name in self._of_others():
            self.errors.pop(name, None)  # nobody asks for them
        if metric is not None:
            cleaned["parameters"] = self._changed_parameters(metric)
        if cleaned.get("metric") == OWN:
            cleaned["parameters"] = cleaned.get("own_parameters", {})
            if not any(file.role == "metric" for file in self.draft.files.all()):
                self.add_error("metric", "Upload the Python file of your metric.")
            if not cleaned.get("own_title"):
                self.add_error("own_title", "Give your metric a name for the leaderboard.")
        return cleaned

    def _of_others(self) -> set[str]:
        """Names of the fields that belong to metrics other than the chosen one."""
        chosen = self["metric"].value()
        settings = {
            _setting(metric, parameter)
            for metric in self.metrics
            if metric.name != chosen
            for parameter in metric.parameters
        }
        return settings if chosen == OWN else settings | {"own_title", "own_direction", "own_parameters"}

    def _changed_parameters(self, metric: Metric) -> dict[str, object]:
        """The values that differ from the usual ones."""
        given = {}
        for parameter in metric.parameters:
            name = _setting(metric, parameter)
            value = self.cleaned_data.get(name)
            if value in (None, "", [], parameter.default):
                continue
            try:
                parameter.read(value)
            except ScoringInputError as error:
                self.add_error(name, f"It {str(error).partition(': it ')[2] or error}")
            given[parameter.name] = value
        return given


def _setting(metric: Metric, parameter: Parameter) -> str:
    """The name of the field."""
    return f"{metric.name}-{parameter.name}"


class _Numbers(forms.CharField):
    """Numbers with spaces or commas between."""

    def prepare_value(self, value: Any) -> Any:
        return value if isinstance(value, str) or value is None else " ".join(f"{number:g}" for number in value)

    def to_python(self, value: Any) -> Any:
        words = str(value or "").replace(",", " ").split()
        try:
            return [float(word) for word in words]
        except ValueError as error:
            raise ValidationError("Write numbers with spaces between, such as 0.1 0.5 0.9.") from error


def _field(parameter: Parameter) -> forms.Field:
    """A field for the parameter; what is left empty has the usual value."""
    about: dict[str, Any] = {
        "label": parameter.name.replace("_", " ").capitalize(),
        "help_text": parameter.help,
        "required": False,
        "initial": parameter.default,
    }
    if parameter.type == "choice":
        return forms.ChoiceField(choices=[(name, name) for name in parameter.choices], **about)
    if parameter.type == "numbers":
        return _Numbers(**about)
    kind = forms.IntegerField if parameter.type == "integer" else forms.FloatField
    return kind(min_value=parameter.minimum, max_value=parameter.maximum, **about)  # type: ignore[arg-type]  # whole where it is whole


def metric_facts(chosen: MetricChoice) -> MetricFacts:
    """Name, key of the score, title, direction and unit of the metric that was answered."""
    known = METRICS.get(chosen["metric"])
    if known is None:
        direction = chosen["own_direction"] or "max"
        return {"name": OWN, "key": "score", "title": chosen["own_title"], "direction": direction, "unit": ""}
    return {
        "name": known.name,
        "key": known.name,
        "title": known.title,
        "direction": known.direction,
        "unit": known.unit,
    }


def _parameters(text: str) -> dict[str, object]:
    """`k=10, levels=0.1 0.5` as values; a word is itself.

    >>> _parameters("k=10, levels=0.1 0.5, average=macro")
    {'k': 10, 'levels': [0.1, 0.5], 'average': 'macro'}
    """
    parameters: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, separator, value = part.partition("=")
        if not separator or not value.strip():
            raise ValueError(part)
        values = [_value(word) for word in value.split()]
        parameters[name.strip()] = values if len(values) > 1 else values[0]
    return parameters


def _value(word: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


HOW: Final[Choices] = [
    ("random", "At random"),
    ("stratified", "At random, with the same mix in both parts"),
    ("grouped", "At random, whole groups together"),
    ("none", "No private part: one leaderboard, open to everybody"),
]


class SplitForm(StepForm):
    how = forms.ChoiceField(label="How are they divided?", widget=forms.RadioSelect, choices=HOW, initial="random")
    percent = forms.IntegerField(label="Public part, in percent", min_value=1, max_value=99, initial=30)
    by = forms.ChoiceField(
        label="Mix or group by", required=False, help_text="The column whose values are mixed evenly, or kept together."
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**31 - 1, initial=2024, help_text="The same seed divides the same rows."
    )

    def prepare(self) -> None:
        usage = _usage_column(self.draft)
        how: Any = self.fields["how"]
        if usage:
            how.choices = [("column", f"By the column “{usage}” of the solution"), *HOW]
            how.initial = "column"
        self.fields["by"].choices = [("", "the target"), *((name, name) for name in _column_names(self.draft))]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        cleaned = self.cleaned_data
        cleaned["column"] = _usage_column(self.draft)
        if cleaned.get("how") == "grouped" and not cleaned.get("by"):
            self.add_error("by", "Choose the column that says which rows belong together.")
        return cleaned


def _usage_column(draft: "CompetitionDraft") -> str | None:
    """The column of the solution that names the parts."""
    solution = solution_preview(draft)
    return solution["usage_column"] if solution else None


def column_shapes(draft: "CompetitionDraft", targets: Sequence[str]) -> list[dict[str, object]]:
    """The distribution of these columns, as bars."""
    solution = solution_preview(draft)
    if solution is None:
        return []
    shapes, columns = solution["shapes"], {column["name"]: column for column in solution["columns"]}
    chosen = [name for name in targets if name in shapes and name in columns][:3]
    return [
        {"column": columns[name], "bars": shapes[name], "most": max((count for _, count in shapes[name]), default=1)}
        for name in chosen
    ]


def part_sizes(draft: "CompetitionDraft", values: dict[str, object]) -> list[tuple[str, int]]:
    """About how many rows each part has, as the values say; nothing where they do not say it."""
    solution = solution_preview(draft)
    if solution is None:
        return []
    if values.get("how") == "column":
        bars = solution["shapes"].get(solution["usage_column"] or "", [])
        return [(str(name).capitalize(), count) for name, count in bars]
    if values.get("how") == "none":
        return [("Public", solution["rows"])]
    percent = str(values.get("percent"))
    if not percent.isdecimal() or not 0 < int(percent) < 100:
        return []
    public = round(solution["rows"] * int(percent) / 100)
    return [("Public", public), ("Private", solution["rows"] - public)]


DATA: Final = Step(
    "data",
    "Data",
    "Which file holds the answers?",
    preview="organize/guided/previews/solution.html",
    intro="Upload the solution. Teams never see it; they get the ids, and the files that you add here for them.",
    slots=(
        SOLUTION,
        FileSlot("training", "Training data", "What teams learn from. They can download it.", is_required=False),
        FileSlot(
            "test", "Test data", "The items to predict, without answers. They can download it.", is_required=False
        ),
    ),
)
COLUMNS: Final = Step(
    "columns",
    "Columns",
    "What are the columns?",
    ColumnsForm,
    preview="organize/guided/previews/columns.html",
    template="columns",
    intro="They were table_preview. Check that the id and the target are right.",
)
METRIC: Final = Step(
    "metric",
    "Metric",
    "How are predictions scored?",
    MetricForm,
    preview="organize/guided/previews/metric.html",
    template="metric",
    intro="The metrics that suit your target come first.",
    slots=(FileSlot("metric", "Your own metric", "A Python file with a function score.", (".py",), is_required=False),),
)
SPLIT: Final = Step(
    "split",
    "Public and private",
    "Which part is public?",
    SplitForm,
    preview="organize/guided/previews/split.html",
    template="split",
    intro="Scores of the public part are shown at once. Those of the private part stay sealed until the end, and decide.",
)
